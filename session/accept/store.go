package accept

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/recipe"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/settings/trust"
)

// Written accepts files that a command of ours wrote in the project in dir, in the
// place of whatever was accepted before: what they open was the user's word. files are
// the texts by their paths in the project, slash-separated. A file that is another one
// by now is an error, and nothing is accepted.
func Written(own userdir.Dir, dir string, files map[string][]byte, by string) error {
	e, err := entryOf(own, dir)
	if err != nil {
		return err
	}
	p, err := session.ReadProject(dir)
	if err != nil {
		return err
	}
	content := p.Content()
	for name, text := range content {
		ours := files[strings.TrimSuffix(strings.TrimPrefix(name, recipe.ImagePrefix), recipe.Executable)]
		if p.Settings != nil && name == filepath.Base(p.Settings.Path) {
			ours = files[path.Join(".devcontainer", name)]
		}
		if !bytes.Equal(ours, text) {
			return fmt.Errorf("%s is not the file that was written", name)
		}
	}
	err = e.store.Accept(e.name, content, by)
	if err == nil {
		var t texts
		if t, err = e.texts(dir); err == nil && t.accepted == nil {
			err = e.acceptTexts(t, by)
		}
	}
	return exitError(err)
}

// Keep follows a change of the settings of the project in dir by the user's word:
// before became now, and stays trusted if it was. It reports whether it was.
func Keep(own userdir.Dir, dir string, before *settings.File, now []byte, by string) (kept bool, err error) {
	e, err := entryOf(own, dir)
	if err != nil {
		return false, err
	}
	old := recipe.Accepted(before, recipe.Read(dir), now)
	return e.store.Keep(e.name, old, old.With(filepath.Base(before.Path), now), by)
}

// Project is a project of which something was accepted.
type Project struct {
	trust.Entry
	State string `json:"state"` // of its files: "trusted", "changed" or "gone"
}

// List returns every project of which the user accepted something, sorted by name.
func List(own userdir.Dir) ([]Project, error) {
	store, err := trust.Open(own, "")
	if err != nil {
		return nil, exitError(err)
	}
	entries, err := store.List()
	projects := []Project{}
	for _, e := range entries {
		if strings.HasSuffix(e.Project, textsName("")) || strings.HasSuffix(e.Project, declinedName("")) {
			continue
		}
		projects = append(projects, Project{e, stateOf(e)})
	}
	return projects, exitError(err)
}

// stateOf says how a project's files stand to what was accepted of it. They may be in a
// linked worktree alone, or in the branch that is there.
func stateOf(e trust.Entry) string {
	state := stateIn(e.Project, e.Digest)
	if state == "trusted" {
		return state
	}
	for _, dir := range trust.Linked(e.Project) {
		switch stateIn(dir, e.Digest) {
		case "trusted":
			return "trusted"
		case "changed":
			state = "changed"
		}
	}
	return state
}

// stateIn is stateOf for the files in one folder.
func stateIn(dir, digest string) string {
	p, err := session.ReadProject(dir)
	switch {
	case err == nil && len(p.Content()) == 0:
		return "gone"
	case err == nil && p.Content().Digest() == digest:
		return "trusted"
	}
	return "changed"
}

// Remove forgets what was accepted of the project in dir, which may be gone, and
// returns its name in the list.
func Remove(own userdir.Dir, dir string) (name string, err error) {
	name, err = trust.Project(dir)
	if errors.Is(err, fs.ErrNotExist) { // a project that is gone has a name still
		name, err = filepath.Abs(dir)
	}
	if err != nil {
		return "", exitcode.With(exitcode.NoInput, err)
	}
	store, err := trust.Open(own, "")
	if err != nil {
		return "", exitError(err)
	}
	removed := false
	for _, part := range []string{textsName(name), declinedName(name), name} {
		if removed, err = store.Remove(part); err != nil {
			return "", exitError(err)
		}
	}
	if !removed {
		return "", exitcode.With(exitcode.NoInput, diag.WithHint(fmt.Errorf("%s is not trusted", name),
			"'sbx-devc trust --list' shows the names"))
	}
	return name, nil
}
