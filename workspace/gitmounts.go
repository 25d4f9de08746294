package workspace

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/workspace/obeyed"
)

// gitMounts are the mounts of the agent's own git directories outside of the
// workspace, and by its path those in it. A .git file of ours has no source
// before the run has written it. Where the workspace does not tell upper from
// lower case, each is mounted at every name of .git: the engine's kernel may know
// each name as another place.
func (m *Mounts) gitMounts(spellings map[string][]string) (outside []Mount, covers map[string]Mount) {
	covers = map[string]Mount{}
	for _, p := range m.Git.Private {
		own := Mount{Volume: p.Volume, Target: p.Place}
		if p.Place == path.Join(m.Target, p.Path) {
			covers[p.Path] = own
		} else {
			outside = append(outside, own)
		}
	}
	for _, f := range m.Git.Files {
		covers[f.Path] = Mount{Target: path.Join(m.Target, f.Path), ReadOnly: true}
	}
	for _, rel := range m.Git.Plain {
		source := filepath.Join(m.Dir, filepath.FromSlash(rel))
		covers[rel] = Mount{Source: source, Target: path.Join(m.Target, rel), ReadOnly: true}
	}
	for rel, cover := range maps.Clone(covers) {
		for _, name := range spellings[rel] {
			spelled := path.Join(path.Dir(rel), name)
			cover.Target = path.Join(m.Target, spelled)
			covers[spelled] = cover
		}
	}
	for _, host := range m.Git.Mounts {
		outside = append(outside, Mount{Source: host.Source, Target: host.Target, ReadOnly: true})
	}
	return outside, covers
}

// gitFileName begins the names of our .git files in a run's folder, and copyName those
// of Mounts.Files.
const (
	gitFileName = "gitfile-"
	copyName    = "copy-"
)

// WriteFiles writes the .git files of ours, which are mounted over those of
// the host, and the copies of Files into folder, and returns the mounts with their
// sources. RemoveCopies takes the copies away.
func (m *Mounts) WriteFiles(folder string) ([]Mount, error) {
	list := slices.Clone(m.List)
	for i, f := range m.Git.Files {
		source := filepath.Join(folder, fmt.Sprintf("%s%d", gitFileName, i))
		if err := os.WriteFile(source, []byte(f.Text), 0o644); err != nil {
			return nil, fmt.Errorf("writing a .git file for the agent: %w", err)
		}
		for at, mount := range list {
			if m.isGitFile(mount) && path.Dir(mount.Target) == path.Join(m.Target, path.Dir(f.Path)) {
				list[at].Source = source
			}
		}
	}
	for i, f := range m.Files {
		source := filepath.Join(folder, fmt.Sprintf("%s%d", copyName, i))
		if err := writeForAll(source, f.Text); err != nil {
			return nil, fmt.Errorf("writing a copy of %s for the agent: %w", f.Path, err)
		}
		list[slices.IndexFunc(list, func(mount Mount) bool { return mount.Target == path.Join(m.Target, f.Path) })].Source = source
	}
	return list, nil
}

// writeForAll writes a file that each user may write, whatever the umask says: the
// agent's user may be another one, and the folder is closed to others.
func writeForAll(name, text string) error {
	return errors.Join(os.WriteFile(name, []byte(text), 0o666), os.Chmod(name, 0o666))
}

// RemoveCopies removes the copies that WriteFiles wrote into folder, with what the agent
// wrote there.
func (m *Mounts) RemoveCopies(folder string) {
	for i := range m.Files {
		_ = os.Remove(filepath.Join(folder, fmt.Sprintf("%s%d", copyName, i)))
	}
}

// isGitFile reports whether a mount is a .git file of ours, by any spelling.
func (m *Mounts) isGitFile(mount Mount) bool {
	return mount.Source == "" && mount.Volume == "" && obeyed.IsGitName(path.Base(mount.Target))
}

// place reports where in the project a mount is that must hold: one of the
// project's own paths, or what is mounted over a .git.
func (m *Mounts) place(mount Mount) (rel string, ok bool) {
	if rel, ok := strings.CutPrefix(mount.Target, m.Target+"/"); ok && obeyed.IsGitName(path.Base(rel)) {
		return rel, true
	}
	if mount.Source == "" {
		return "", false
	}
	rel, err := filepath.Rel(m.Dir, mount.Source)
	return filepath.ToSlash(rel), err == nil && rel != "." && filepath.IsLocal(rel)
}
