package workspace

import (
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/org/claude-sandbox/workspace/gitdir"
)

// Carried is a folder of this machine whose content goes into a volume of the firewall's
// container, because the engine does not share this machine's files.
type Carried struct {
	Source string `json:"source"` // on this machine
	Volume string `json:"volume"` // the volume's place in the firewall's container, below Carried's folder
}

// Carry puts volumes, whose places are below folder, where the engine would mount folders
// of this machine: the copy of the project comes first, then what the agent's git
// directories have behind them. The agent's .git files are a part of the copy then, see
// CarriedFiles. Mounts of other folders stay as they are. It is for mounts of CopyMounts,
// and does nothing the second time.
func (m *Mounts) Carry(folder string) {
	if len(m.Carried) > 0 {
		return
	}
	volume := func(source string) string {
		c := Carried{Source: source, Volume: path.Join(folder, strconv.Itoa(len(m.Carried)))}
		m.Carried = append(m.Carried, c)
		return c.Volume
	}
	top := volume(m.Dir)
	isOfTree := func(mount Mount) bool {
		rel, err := filepath.Rel(m.Dir, mount.Source)
		return m.isGitFile(mount) || mount.Source != "" && mount.Source != m.Dir && err == nil && filepath.IsLocal(rel)
	}
	list := slices.DeleteFunc(slices.Clone(m.List), isOfTree)
	for i, mount := range list {
		switch {
		case mount.Source == m.Dir && mount.Target == m.Target:
			list[i].Source, list[i].Volume = "", top
		case m.isOfGit(mount):
			list[i].Source, list[i].Volume = "", volume(mount.Source)
		}
	}
	m.List = list
}

// CarriedFiles are the .git files that the carried copy holds.
func (m *Mounts) CarriedFiles() []gitdir.File {
	if len(m.Carried) == 0 {
		return nil
	}
	return m.Git.Files
}

// OwnGit lists what of the copy is not the agent's work: the places of its git
// directories and files, slash-separated.
func (m *Mounts) OwnGit() (rels []string) {
	for _, p := range m.Git.Private {
		rels = append(rels, p.Path)
	}
	for _, f := range m.Git.Files {
		rels = append(rels, f.Path)
	}
	return append(rels, m.Git.Plain...)
}
