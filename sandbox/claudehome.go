package sandbox

import (
	"archive/tar"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/sandbox/kept"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// HomeFile is a file that Claude's own folder, ~/.claude, begins with.
type HomeFile struct {
	Path string // relative, slash-separated, clean
	Data []byte
}

// fillHome adds Claude's own folder, which is the agent's, to an archive for the
// firewall's container, with the files that it begins with: files, and what earlier runs
// left behind them. prefer are members of Claude's settings that those files may have as
// well.
func fillHome(p *runplan.Plan, tw *tar.Writer, files []HomeFile, prefer map[string]map[string]any) error {
	all := map[string][]byte{}
	if p.Agent.TTY {
		all[agent.StateFile] = agent.State(runplan.WorkspaceTarget)
	}
	if !p.Asked.Instructions.Settings {
		all["settings.json"] = []byte(runplan.UserSettings)
	}
	for _, f := range files {
		all[f.Path] = f.Data
	}
	for name, members := range prefer {
		all[name] = kept.WithPreferences(all[name], members)
	}
	return addArchive(tw, runplan.ClaudeHomes, func(w io.Writer) error {
		return kept.Pack(w, path.Base(runplan.ClaudeHome), all, p.Place.Owner.UID, p.Place.Owner.GID)
	})
}

// fillHomes adds what the agent's home begins with: what earlier runs left, and over it
// the run's own files.
func fillHomes(p *runplan.Plan, tw *tar.Writer, h Host) error {
	var prefer map[string]map[string]any
	if h.Kept != nil {
		if err := fillKept(tw, h.Kept, p.Asked.Persist, p.Place.Owner); err != nil {
			return err
		}
		if h.Kept.KeepsClaude() {
			prefer = h.Kept.Preferences()
		}
	}
	return fillHome(p, tw, h.Home, prefer)
}

// addArchive adds what write writes, an archive for folder, to one for the root.
func addArchive(tw *tar.Writer, folder string, write func(io.Writer) error) error {
	from, to := io.Pipe()
	go func() { to.CloseWithError(write(to)) }()
	defer from.Close()
	in := tar.NewReader(from)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		h.Name = strings.TrimPrefix(folder, "/") + "/" + h.Name
		if h.Typeflag == tar.TypeLink {
			h.Linkname = strings.TrimPrefix(folder, "/") + "/" + h.Linkname
		}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		if _, err := io.Copy(tw, in); err != nil {
			return err
		}
	}
}
