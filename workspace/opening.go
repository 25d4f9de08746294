package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/org/claude-sandbox/workspace/obeyed"
)

// openingFiles lists what a project's devcontainer.json makes this machine run or
// obey when somebody opens the dev container, in addition to the protected folder: files
// of Compose, which can mount the whole machine, and scripts of
// initializeCommand. Further files that such a script or program reads, such as a
// Makefile, are not known, so the notes say that there is a command.
func openingFiles(dir string) (protect, notes []string) {
	var configs []string
	folders, _ := os.ReadDir(filepath.Join(dir, ".devcontainer"))
	for _, f := range folders {
		configs = append(configs, filepath.Join(dir, ".devcontainer", f.Name(), "devcontainer.json"))
	}
	configs = append(configs, filepath.Join(dir, ".devcontainer", "devcontainer.json"), filepath.Join(dir, ".devcontainer.json"))
	for _, config := range configs {
		rel, err := filepath.Rel(dir, config)
		if kind, kindErr := KindOf(config); err != nil || kindErr != nil || kind != File {
			continue
		}
		text, err := readStart(config, obeyed.MaxDevContainer+1)
		if err != nil {
			continue
		}
		rel = filepath.ToSlash(rel)
		paths, command := obeyed.Opening(rel, text)
		for _, p := range paths {
			switch plainKind(dir, p) {
			case File:
				protect = append(protect, p)
			case Symlink:
				notes = append(notes, fmt.Sprintf("%s names %s, which leads over a symbolic link: files that the agent puts there are obeyed on "+
					"this machine", rel, p))
			}
		}
		if command {
			notes = append(notes, rel+" has an initializeCommand, which runs on this machine each time the dev container is opened: before "+
				"that, look at the agent's changes to the files that it reads")
		}
	}
	slices.Sort(protect)
	return slices.Compact(protect), notes
}

// plainKind is what is at rel below dir, Symlink also if one is on the way, and
// Missing if it cannot be told.
func plainKind(dir, rel string) Kind {
	for _, step := range Steps(rel) {
		kind, err := KindOf(filepath.Join(dir, filepath.FromSlash(step)))
		switch {
		case err != nil:
			return Missing
		case kind != Folder:
			if step != rel && kind == File {
				return Missing
			}
			return kind
		}
	}
	return Folder
}
