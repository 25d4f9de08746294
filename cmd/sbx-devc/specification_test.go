package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/shellword"
)

// specified is a row of docs/specification.md about a command line: what another program
// takes, and what this one takes in its place.
type specified struct {
	there, here string // here = "": there as it stands; same: the words of there after here
	same        bool
	code        int
}

func specifiedLines(t *testing.T) (lines []specified) {
	t.Helper()
	page, err := os.ReadFile("../../docs/specification.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(page), "\n## Their command lines\n")
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (?:as it stands|`([^`]+)`)( and the same words)?(?:, ([0-9]+))? \\|$")
	for _, m := range row.FindAllStringSubmatch(table, -1) {
		code, _ := strconv.Atoi(m[4])
		lines = append(lines, specified{m[1], m[2], m[3] != "", code})
	}
	if rows := strings.Count(table, "\n| `"); !ok || len(lines) != rows || rows < 30 {
		t.Fatalf("of %d rows %d have the form", rows, len(lines))
	}
	return lines
}

// specifiedHome is a home with the files that the lines name, and a project in it.
func specifiedHome(t *testing.T) (project string, env map[string]string) {
	t.Helper()
	home := t.TempDir()
	const hosts = "# Comments are supported\ndocs.example.com\n*.amazonaws.com  # Wildcards supported\n"
	const servers = `servers:
  - name: brave-search
    command: npx
    args: ["-y", "@modelcontextprotocol/server-brave-search"]
    env:
      BRAVE_API_KEY: "${BRAVE_API_KEY}"  # Env var expansion

  - name: filesystem
    command: uvx
    args: ["mcp-server-filesystem", "--allowed-paths", "/workspace"]
`
	writeFiles(t, home, map[string]string{
		".claude-sandbox/allowed-domains.txt": hosts, ".claude-sandbox/mcp-servers.yaml": servers, ".claude-sandbox/config/x": "",
		"my-project/README": "", "code/myproject/README": "", "other/README": "", "logs/x": "", ".claude/settings.json": `{"model": "opus"}`,
		"project/whitelist.txt": hosts, "project/domains.txt": hosts, "project/servers.txt": "files\n",
		"project/prefixes.txt":            "CLAUDE_\nPROJECT_\n",
		".config/sbx-devc/settings.jsonc": `{"mcp": {"servers": [{"name": "files", "command": "npx", "args": ["-y", "server"]}]}}`,
	})
	bin := acceptedFolder(t, "claude")
	if err := os.WriteFile(filepath.Join(bin, "claude"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(home, "project"), map[string]string{
		"HOME": home, "ANTHROPIC_API_KEY": "key", "BRAVE_API_KEY": "key", "EXTRA_KEY": "key", "GITHUB_TOKEN": "key",
		"DOCKER_HOST": "unix://" + filepath.Join(home, "no.sock"), "PATH": bin + ":" + os.Getenv("PATH"),
	}
}

// Every command line of the specifications is taken as it stands, or answered with the line
// that replaces it, which is taken.
func TestCommandLinesOfTheSpecifications(t *testing.T) {
	lines := specifiedLines(t)
	project, env := specifiedHome(t)
	t.Chdir(project)
	for _, name := range []string{"HOME", "DOCKER_HOST", "PATH"} { // the engine's client and hosts' programs see these alone
		t.Setenv(name, env[name])
	}
	t.Setenv(engine.RuntimeVariable, "")    // a line sets it for its process, which goes on with other tests here
	asTyped := func(line string) []string { // a shell has a tilde at the beginning of a word for the home
		return callsOf(t, "sbx-devc "+strings.ReplaceAll(" "+line, " ~/", " "+env["HOME"]+"/"))[0]
	}
	run := func(args []string, variable, value string) (code int, said string) {
		args = append([]string{}, args...) // none are not those of this test's process
		if len(args) > 0 && args[0] == "run" {
			args = append([]string{"run", "--dry-run"}, args[1:]...)
		}
		var out bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &out, getenv: func(name string) string {
			if name == variable {
				return value
			}
			return env[name]
		}}
		return a.main(t.Context(), args), out.String()
	}
	for _, l := range lines {
		typed, variable, value := l.there, "", ""
		if m := regexp.MustCompile(`^DEBUSSY_([A-Z_]+)=(\S+) (.*)`).FindStringSubmatch(typed); m != nil {
			variable, value, typed = "SBX_DEVC_"+m[1], m[2], m[3]
		}
		_, words, _ := strings.Cut(typed, " ")
		args := asTyped(words)
		code, said := run(args, variable, value)
		if l.here == "" {
			if code != l.code {
				t.Errorf("%s ends with %d: %s", l.there, code, said)
			}
			continue
		}
		line := strings.ReplaceAll(l.here, " ~/", " "+env["HOME"]+"/")
		if l.same {
			for _, word := range args {
				line += " " + shellword.Quote(word)
			}
		}
		if help := len(args) == 0 || len(args) == 1 && args[0] == "sandbox"; code != exitUsage && !help || !strings.Contains(said, line) {
			t.Errorf("%s ends with %d and does not name %s: %s", l.there, code, line, said)
		}
		if code, said := run(asTyped(strings.TrimPrefix(line, "sbx-devc ")), "", ""); code != l.code {
			t.Errorf("%s, which replaces %s, ends with %d: %s", line, l.there, code, said)
		}
	}
}
