package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
)

// The program of a Feature is read as root's step of a build, and as its shell reads it.
func TestInstallScript(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"download into a shell":        {"#!/bin/sh\nset -e\ncurl -fsSL http://x.example/i.sh | sh\n", "SBX705 3:1"},
		"sudo for all":                 {"#!/bin/sh\necho 'dev ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/dev\n", "SBX704 2:6"},
		"certificates unchecked":       {"#!/bin/sh\nf() {\n  curl -k https://x.example -o /a\n}\nf\n", "SBX720 3:8"},
		"anybody may write":            {"#!/bin/sh\nchmod -R 777 /opt\n", "SBX717 2:10"},
		"an install that asks":         {"#!/bin/sh\napt-get update && apt-get install git\n", "SBX724 2:19"},
		"no end of an if":              {"#!/bin/sh\nif true; then\n", "SBX913 2:10"},
		"CR LF":                        {"#!/bin/sh\r\ntrue\r\n", "SBX913 1:1"},
		"bash for sh":                  {"#!/bin/sh\na=(1 2)\n", "SBX913 2:3"},
		"bash by its first line":       {"#!/usr/bin/env -S bash -e\na=(1 2)\n", ""},
		"bash by itself":               {"#!/bin/sh\n[ -n \"$BASH\" ] || exec bash \"$0\"\na=(1 2)\n", ""},
		"source of bash":               {"#!/bin/sh\nset -e\nsource /etc/os-release\n", "SBX913 3:1"},
		"comparison of bash":           {"#!/bin/sh\nset -e\n[ \"$VERSION\" == x ]\n", "SBX913 3:14"},
		"the point of every shell":     {"#!/bin/sh\nset -e\n. /etc/os-release\n[ \"$VERSION\" = x ]\n", ""},
		"option in small letters":      {"#!/bin/sh\necho ${nodeversion:-1}\n", "SBX740 2:6"},
		"option with an underscore":    {"#!/bin/sh\necho $NODE_VERSION\n", "SBX740 2:6"},
		"option as it is declared":     {"#!/usr/bin/env bash\necho \"v${nodeVersion}\"\n", "SBX740 2:8"},
		"option read and kept":         {"#!/bin/sh\nnode_version=${NODEVERSION:-1}\necho $node_version\n", ""},
		"name of the script's own":     {"#!/bin/sh\nfor node_version in 1 2; do echo $node_version; done\n", ""},
		"name that is read":            {"#!/bin/sh\nread -r node_version < /v\necho $node_version\n", ""},
		"names of another file":        {"#!/bin/sh\n. ./defaults.sh\necho $node_version\n", ""},
		"name of containerEnv":         {"#!/bin/sh\necho $node_Version\n", ""},
		"name that the CLI sets":       {"#!/bin/sh\necho $_NODE_VERSION\n", ""},
		"names of eval":                {"#!/bin/sh\neval \"$(./names)\"\necho $node_version\n", ""},
		"Python":                       {"#!/usr/bin/env python3\nif True:\n    print('|')\n", ""},
		"none":                         {"", ""},
		"a text that nests too deeply": {"#!/bin/sh\n" + strings.Repeat("$(", 100_000), "SBX109 1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range judge(t, devcontainer.Memory{"src/a/install.sh": c.script,
				"src/a/devcontainer-feature.json": `{"id": "a", "version": "1.0.0", "containerEnv": {"node_Version": "1"},
					"options": {"nodeVersion": {"type": "string", "default": "1"}}}`}) {
				if f.Rule != "SBX716" && f.Rule != "SBX722" && f.Rule != "SBX723" {
					got = append(got, fmt.Sprintf("%s %d:%d", f.Rule, f.Line, f.Column))
				}
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
