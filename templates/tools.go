package templates

import (
	"bytes"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
)

//go:embed tools
var toolFiles embed.FS

// defaultTools are the images of the tools of a second language: it copies them
// from there into the image of the first one.
var defaultTools = map[string]string{
	"bun":    "oven/bun:1",
	"go":     "golang:1.26-bookworm",
	"java":   "eclipse-temurin:21-jdk",
	"node":   "node:22-bookworm-slim",
	"python": "python:3.13-slim-bookworm",
	"rust":   "rust:1-slim-bookworm",
	"uv":     "ghcr.io/astral-sh/uv:0.9",
}

// ToolNames returns the tools that AddTools knows, sorted.
func ToolNames() []string {
	var names []string
	entries, err := toolFiles.ReadDir("tools")
	if err != nil {
		panic(err) // the folder is embedded at compile time
	}
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), path.Ext(e.Name())))
	}
	return names
}

// AddTools adds the tools of further languages to the Dockerfile among files. A
// tool is "NAME" or "NAME=IMAGE", where IMAGE is an official image of that
// language. It is pure. The error wraps ErrOption.
func AddTools(files []File, tools []string) ([]File, error) {
	var stages, copies strings.Builder
	for _, tool := range tools {
		name, image, _ := strings.Cut(tool, "=")
		if defaultTools[name] == "" {
			return nil, diag.WithHint(fmt.Errorf("%w: unknown tools %q", ErrOption, name), "known: %s", strings.Join(ToolNames(), ", "))
		}
		if image == "" {
			image = defaultTools[name]
		}
		if !plain.MatchString(image) {
			return nil, diag.WithHint(fmt.Errorf("%w: tools %s: %q is not the name of an image", ErrOption, name, image),
				"letters, digits and @%%+=:,./_- are accepted")
		}
		text, err := toolFiles.ReadFile("tools/" + name + ".dockerfile")
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&stages, "# sbx:begin %s-stage\nFROM %s AS tools-%[1]s\n# sbx:end %[1]s-stage\n\n", name, image)
		fmt.Fprintf(&copies, "# sbx:begin %s-tools\n%s# sbx:end %[1]s-tools\n\n", name, text)
	}
	out := slices.Clone(files)
	for i, f := range out {
		if path.Base(f.Path) != "Dockerfile" {
			continue
		}
		for mark, text := range map[string]string{"# sbx:begin claude-stage\n": stages.String(), "# sbx:begin caches\n": copies.String()} {
			if !bytes.Contains(f.Content, []byte(mark)) {
				return nil, fmt.Errorf("%s has no line %q", f.Path, strings.TrimSpace(mark))
			}
			f.Content = bytes.Replace(f.Content, []byte(mark), []byte(text+mark), 1)
		}
		out[i] = f
	}
	return out, nil
}
