package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestTemplateMatrix builds every template of one container with the official
// CLI, brings it up twice and looks for its tools and for its walls. It takes
// minutes and is run on purpose: SBX_TEMPLATE_MATRIX=1, or make matrix, or make
// matrix TEMPLATE=claude for one of them.
func TestTemplateMatrix(t *testing.T) {
	if os.Getenv("SBX_TEMPLATE_MATRIX") == "" {
		t.Skip("takes minutes; SBX_TEMPLATE_MATRIX=1 runs it")
	}
	for _, tt := range []struct {
		id      string
		options func(t *testing.T) []string // nil = none
		tools   string                      // a script that uses what the template promises
	}{
		{"claude", func(*testing.T) []string { return []string{"shell=zsh", "extraPackages=file,tree"} },
			"test $(getent passwd agent | cut -d: -f7) = /bin/zsh && command -v tree file rg && node --version && npx --version && python3 -m " +
				"venv /tmp/venv && dig -v && make --version && g++ --version"},
		{"claude-minimal", nil, "git --version && ! command -v curl"},
		{"claude-node", nil,
			"node --version && npm --version && python3 --version && make --version && echo 'int main() {}' >/tmp/x.cc && g++ -o " +
				"/tmp/x /tmp/x.cc && /tmp/x"},
		{"claude-python", func(t *testing.T) []string {
			return []string{"uvImage=" + standIn(t, "uv"), "ruffImage=" + standIn(t, "ruff"), "baseImage=debian:bookworm-slim",
				"extraPackages=python3-venv"}
		},
			"uv && ruff && pyright --version && python3 -m venv /tmp/venv"},
		{"claude-go", func(t *testing.T) []string { return []string{"goImage=" + goStandIn(t)} },
			"cd /tmp && go version && printf 'package main\\nimport \"C\"\\nfunc main() { println(1) }' >x.go && go run x.go"},
	} {
		t.Run(tt.id, func(t *testing.T) {
			args := []string{"--template", tt.id}
			if tt.options != nil {
				for _, o := range tt.options(t) {
					args = append(args, "--option", o)
				}
			}
			p := newDevProject(t, args...)
			for range 2 {
				if outcome, log := p.up(); outcome != "success" {
					t.Fatalf("devcontainer up: %s\n%s", outcome, log)
				}
				if out, err := p.exec(tt.tools); err != nil {
					t.Errorf("%s: %s %v", tt.tools, out, err)
				}
				if out, err := p.exec("claude --version && id -un"); err != nil || !strings.Contains(out, "(Claude Code)\nagent") {
					t.Errorf("%s %v", out, err)
				}
				// Without curl in the smallest one, bash itself connects.
				reach := func(host string, port int) (string, error) {
					return p.exec(
						fmt.Sprintf("timeout 10 bash -c 'exec 3<>/dev/tcp/%s/%d && printf \"GET / HTTP/1.0\\r\\nHost: %s:%d\\r\\n\\r\\n\" >&3 && cat <&3'",
							host, port, host, port))
				}
				if out, err := reach("allowed.example", p.world.allowed); err != nil || !strings.Contains(out, "hello from outside") {
					t.Errorf("an allowed host: %q %v", out, err)
				}
				for _, host := range []string{"other.example", p.world.addr} {
					if out, err := reach(host, p.world.other); err == nil {
						t.Errorf("%s was reached: %s", host, out)
					}
				}
				p.must(p.docker, "stop", "-t", "1", p.containers()[0])
			}
			if leaks := p.world.leaks("allowed.example"); len(leaks) > 0 {
				t.Errorf("arrived outside: %v", leaks)
			}
			// Whatever the shell, without a firewall it runs nothing.
			image := p.must(p.docker, "inspect", "--format", "{{.Config.Image}}", p.containers()[0])
			out, _ := p.try(p.docker, "run", "--rm", "--user", "agent", "--env", "SBX_WAIT_FOR=/nowhere", "--entrypoint", "sh", image, "-c",
				"shell=$(getent passwd agent | cut -d: -f7); echo 'echo ran' >~/.bashrc; echo 'echo ran' >~/.zshenv; "+
					"timeout -s KILL 3 $shell -lic 'echo ran'; echo end")
			if strings.Contains(out, "ran") || !strings.Contains(out, "end") {
				t.Errorf("a login shell without a firewall: %q", out)
			}
		})
	}
}

// standIn makes an image that holds a program of that name, for machines that
// cannot pull the real one: the template is tested, not the program.
func standIn(t *testing.T, name string) string {
	t.Helper()
	p := &devProject{t: t, docker: "docker"}
	dir, image := t.TempDir(), "sbx-matrix-"+name+":stand-in"
	for _, program := range []string{name, name + "x"} {
		if err := os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\necho stand-in\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte("FROM scratch\nCOPY . /\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.must("docker", "build", "-q", "-t", image, dir)
	t.Cleanup(func() { p.must("docker", "rmi", "-f", image) })
	return image
}

// goStandIn makes an image that holds this machine's Go where the published
// image has it.
func goStandIn(t *testing.T) string {
	t.Helper()
	p := &devProject{t: t, docker: "docker"}
	const image = "sbx-matrix-go:stand-in"
	root := p.must("go", "env", "GOROOT")
	if !strings.HasSuffix(root, "/go") {
		t.Skipf("GOROOT is %s (%s): the stand-in needs a folder named go", root, runtime.Version())
	}
	p.must("sh", "-c",
		fmt.Sprintf("tar -C %s --transform 's,^go,usr/local/go,' --exclude=go/test -c go | docker import - %s", filepath.Dir(root), image))
	t.Cleanup(func() { p.must("docker", "rmi", "-f", image) })
	return image
}
