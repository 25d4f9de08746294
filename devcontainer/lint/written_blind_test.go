package lint_test

import (
	"strings"
	"testing"
)

// Mistakes of a sample that was written without a look at the rules, and found by none of them.
var writtenBlind = []written{
	{"variable of a shell in a volume", `SBX321 "-v"`, `{"image": "a:1", "runArgs": ["-v", "$HOME/data:/data"]}`},
	{"option of docker compose up", `SBX321 "--renew-anon-volumes"`, `{"image": "a:1", "runArgs": ["--renew-anon-volumes"]}`},
	{"option of docker build", `SBX321 "--no-cache"`, `{"image": "a:1", "runArgs": ["--no-cache"]}`},
	{"removed and started again", `SBX321 "--restart=always"`, `{"image": "a:1", "runArgs": ["--rm", "--restart=always"]}`},
	{"user that a longer name hides", `SBX703 "develop"`, `{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "develop"}` +
		"\n-- .devcontainer/Dockerfile --\nFROM debian:12\nRUN useradd -m developer\n"},
	{"word of a shell in an array", `SBX314 "cd"`, `{"image": "a:1", "postCreateCommand": ["cd", "app"]}`},
	{"shell and its line in one element", `SBX314 ["bash`, `{"image": "a:1", "postCreateCommand": ["bash -c './x'", "bash", "-c", "./y"]}`},
	{"added script with CRLF", `SBX753 /opt/setup.sh`, builtHere +
		"FROM debian:12\nADD setup.sh /opt/setup.sh\nRUN chmod +x /opt/setup.sh && /opt/setup.sh\n" +
		"-- .devcontainer/setup.sh --\n#!/bin/sh\r\ntrue\r\n"},
	{"command of the Dockerfile that ends", `SBX326 false`,
		`{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "root", "overrideCommand": false}` +
			"\n-- .devcontainer/Dockerfile --\nFROM debian:12\nCMD [\"echo\", \"ready\"]\n"},
}

// What is written in nearly the same way and works has no finding of the rule.
func TestWhatIsNearAMistakeIsNone(t *testing.T) {
	for _, w := range []written{
		{"variable of the CLI in a volume", `SBX321`, `{"image": "a:1", "runArgs": ["-v", "${localEnv:HOME}/data:/data"]}`},
		{"removed, and not started again", `SBX321`, `{"image": "a:1", "runArgs": ["--rm", "--restart=no"]}`},
		{"not removed", `SBX321`, `{"image": "a:1", "runArgs": ["--rm=false", "--restart=always"]}`},
		{"hosts that are only read", `SBX407`, `{"image": "a:1", "mounts": ["type=bind,source=/etc/hosts,target=/etc/hosts.host,readonly"]}`},
		{"user in a path", `SBX703`, `{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "develop"}` +
			"\n-- .devcontainer/Dockerfile --\nFROM debian:12\nRUN adduser --home /home/develop develop\n"},
		{"added script with a mode", `SBX753`, builtHere +
			"FROM debian:12\nADD --chmod=755 setup.sh /opt/setup.sh\nRUN /opt/setup.sh\n-- .devcontainer/setup.sh --\n#!/bin/sh\ntrue\n"},
		{"command of the Dockerfile that stays", `SBX326`,
			`{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "root", "overrideCommand": false}` +
				"\n-- .devcontainer/Dockerfile --\nFROM debian:12\nCMD [\"sleep\", \"infinity\"]\n"},
		{"program of several words in its path", `SBX314`,
			`{"image": "a:1", "postCreateCommand": ["/opt/my tools/bash", "-c", "cd app && make"]}`},
		{"variable of a mount", `SBX321`, `{"image": "a:1", "mounts": ["type=bind,source=${localEnv:HOME}/x,target=/x"]}`},
	} {
		for _, f := range judge(t, w.tree()) {
			if f.Rule == w.want {
				t.Errorf("%s: %s %s", w.name, f.Rule, f.Message)
			}
		}
	}
	// A mount that shows no shell's variable is judged as before; one that the engine may write is not harmless.
	for _, w := range []written{
		{"a key", `SBX407`, `{"image": "a:1", "runArgs": ["-v", "${localEnv:HOME}/.aws:/aws"]}`},
		{"hosts that can be written", `SBX407`, `{"image": "a:1", "mounts": ["type=bind,source=/etc/hosts,target=/etc/hosts.host"]}`},
	} {
		var said []string
		for _, f := range judge(t, w.tree()) {
			said = append(said, f.Rule)
		}
		if !strings.Contains(strings.Join(said, " "), w.want) {
			t.Errorf("%s: %q", w.name, said)
		}
	}
}
