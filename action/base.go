package action

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/action/github"
	"github.com/org/claude-sandbox/session/instructions"
)

// baseTexts are the project's texts for Claude as a commit of the repository's own has them:
// its CLAUDE.md and rules as one text, skills, commands, agents and output styles. folder is
// the project's in the repository, "" = all of it. A checkout has no more than its own
// commit, so GitHub is asked.
func baseTexts(ctx context.Context, client github.Client, commit, folder string) (*instructions.Set, error) {
	files, err := client.Texts(ctx, commit, folder, "CLAUDE.md", ".claude")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sbx-base-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var memory []string
	for _, name := range sortedByName(files) {
		if text := strings.TrimSpace(string(files[name])); isMemory(name) && text != "" {
			memory = append(memory, text)
			continue
		}
		if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
			return nil, err
		}
		if err := root.WriteFile(name, files[name], 0o600); err != nil {
			return nil, err
		}
	}
	if err := root.WriteFile("CLAUDE.md", []byte(strings.Join(memory, "\n\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	set, err := instructions.Project(filepath.Join(dir))
	if err == nil && len(memory) > 0 {
		var whole *instructions.Set
		if whole, err = instructions.User(dir, []string{"CLAUDE.md"}); err == nil {
			set.Add(whole)
		}
	}
	return set, err
}

// isMemory reports a file that Claude reads as the project's instructions.
func isMemory(name string) bool {
	return name == "CLAUDE.md" || name == ".claude/CLAUDE.md" || strings.HasPrefix(name, ".claude/rules/") && path.Ext(name) == ".md"
}

// sortedByName are the names of files, CLAUDE.md first.
func sortedByName(files map[string][]byte) (names []string) {
	for name := range files {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(strings.ToUpper(a), strings.ToUpper(b)) })
	if i := slices.Index(names, "CLAUDE.md"); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, "CLAUDE.md")
	}
	return names
}

// folder is a folder of the workspace as the repository has it; "" = its root.
func (s *step) folder(dir string) string {
	workspace, err := filepath.EvalSymlinks(s.Getenv("GITHUB_WORKSPACE"))
	if err != nil {
		return ""
	}
	rel, err := filepath.Rel(workspace, dir)
	if err != nil || rel == "." || strings.HasPrefix(rel, "..") {
		return ""
	}
	return filepath.ToSlash(rel)
}

// textsNote says which texts Claude has in place of the checked-out commit's.
func textsNote(set *instructions.Set) string {
	names := make([]string, 0, len(set.Files))
	for _, f := range set.Files {
		names = append(names, f.Path)
	}
	shown := names[:min(len(names), 20)]
	note := fmt.Sprintf("Claude has the instructions of the base, and none of the checked-out commit's: %s", orNone(strings.Join(shown, ", ")))
	if more := len(names) - len(shown); more > 0 {
		note += fmt.Sprintf(" and %d more", more)
	}
	return note
}
