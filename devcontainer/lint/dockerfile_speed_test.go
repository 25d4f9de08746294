package lint_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"mvdan.cc/sh/v3/syntax"

	"github.com/org/claude-sandbox/devcontainer/lint"
)

// BenchmarkDockerfiles reads Dockerfiles from the disk and runs all rules, on one core with the memory that validate takes:
// each alone, and each with a configuration that builds it, which are two files. They are the repository's own, or those of
// a folder, SBX_DOCKERFILES=DIR. parsers/op is the part of the time that the parsers of BuildKit and of the shell need for
// the same texts, as they come.
func BenchmarkDockerfiles(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(lint.GCPercent))
	var texts [][]byte
	for _, dir := range dockerfileFolders() {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			base := strings.ToLower(d.Name())
			if err != nil || !d.Type().IsRegular() || !isDockerfile(base) {
				return err
			}
			src, err := os.ReadFile(name)
			texts = append(texts, src)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	root := b.TempDir()
	var alone, built []string
	for n, src := range texts {
		for name, text := range map[string]string{
			"alone/Dockerfile":                      string(src),
			"built/.devcontainer/Dockerfile":        string(src),
			"built/.devcontainer/devcontainer.json": `{"name": "a", "build": {"dockerfile": "Dockerfile"}, "postCreateCommand": "make"}`,
		} {
			full := filepath.Join(root, fmt.Sprint(n), name)
			if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
				b.Fatal(err)
			}
		}
		alone = append(alone, filepath.Join(root, fmt.Sprint(n), "alone", "Dockerfile"))
		built = append(built, filepath.Join(root, fmt.Sprint(n), "built", ".devcontainer", "devcontainer.json"))
	}
	for name, files := range map[string][]string{"alone": alone, "built": built} {
		b.Run(name, func(b *testing.B) {
			// Here, since the testing package sets it anew before each benchmark but the first.
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			var ours, parsers time.Duration
			checked := 0
			for b.Loop() {
				began := time.Now()
				var all lint.Files
				if err := all.Open(b.Context(), files); err != nil {
					b.Fatal(err)
				}
				ours, checked = ours+time.Since(began), checked+all.Checked
				b.StopTimer()
				began = time.Now()
				for _, src := range texts {
					parseAlone(src)
				}
				parsers += time.Since(began)
				b.StartTimer()
			}
			b.ReportMetric(float64(checked)/ours.Seconds(), "files/s")
			b.ReportMetric(float64(parsers)/float64(ours), "parsers/op")
		})
	}
}

func dockerfileFolders() []string {
	if dir := os.Getenv("SBX_DOCKERFILES"); dir != "" {
		return []string{dir}
	}
	return []string{filepath.Join("..", "..", "templates"), filepath.Join("..", "..", "images"), filepath.Join("..", "..", "session")}
}

// parseAlone reads a Dockerfile and the texts of its steps with the parsers that the linter is built on, and does nothing with them.
func parseAlone(src []byte) {
	result, err := parser.Parse(bytes.NewReader(src))
	if err != nil {
		return
	}
	checks := linter.New(&linter.Config{Warn: func(string, string, string, string, []parser.Range) {}})
	text := syntax.NewParser()
	for _, node := range result.AST.Children {
		command, err := instructions.ParseInstructionWithLinter(node, checks)
		if run, ok := command.(*instructions.RunCommand); err == nil && ok && run.PrependShell {
			_, _ = text.Parse(strings.NewReader(strings.Join(run.CmdLine, " ")), "")
		}
	}
}
