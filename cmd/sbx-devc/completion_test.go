package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// What the shells' scripts ask for; cobra writes the scripts.
func TestCompletionKnowsTheWords(t *testing.T) {
	for line, want := range map[string]string{
		"ima":                     "image",
		"help ima":                "image",
		"help image ":             "build",
		"init --template ":        "claude-node",
		"init --preset ":          "anthropic",
		"init --topology ":        "sidecar",
		"validate --format ":      "sarif",
		"validate --fail-on ":     "warning",
		"explain ":                "SBX101",
		"fix --rule ":             "trailing-comma",
		"templates show ":         "claude-go",
		"policy presets ":         "npm",
		"policy learn --include ": "denied",
		"run --network ":          "audit",
		"image build --platform ": "linux/arm64",
		"update --prefer ":        "template",
		"report --format ":        "html",
		"effective --format ":     "json",
		"completion ":             "fish",
	} {
		var out bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &bytes.Buffer{}, getenv: func(string) string { return "" }}
		if code := a.main(t.Context(), append([]string{"__complete"}, strings.Split(line, " ")...)); code != 0 {
			t.Errorf("%s: exit code %d", line, code)
		}
		var words []string
		for l := range strings.Lines(out.String()) {
			word, _, _ := strings.Cut(strings.TrimSpace(l), "\t")
			words = append(words, word)
		}
		if !slices.Contains(words, want) {
			t.Errorf("%s offers %q, want %s among them", line, words, want)
		}
	}
}
