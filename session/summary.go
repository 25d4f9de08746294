package session

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/sandbox"
)

// SummaryFile is where --summary-file leads to when a run begins. It may be in
// the project, where the agent can put a symbolic link in the file's place, or in
// that of a folder on the way, and have any file of the user's overwritten with
// words of its own. So the folder is opened before the agent works, and the file
// is made anew in it.
type SummaryFile struct {
	folder *os.Root
	name   string
	stream *os.File // in the place of both: a terminal, a pipe; nil = there is none
}

// OpenSummary errs when there is no such folder, or something in the file's place
// that is none. project is the folder that the agent works in.
// A folder on the way that is a link in the project may be an earlier agent's, and
// is an error, too.
func OpenSummary(name, project string) (*SummaryFile, error) {
	folder, err := OpenFolder(name, project)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(name)
	rel, relErr := filepath.Rel(project, folder.Name())
	if err == nil && !info.Mode().IsRegular() && (relErr != nil || !filepath.IsLocal(rel)) {
		stream, err := os.OpenFile(name, os.O_WRONLY, 0)
		return &SummaryFile{stream: stream}, errors.Join(err, folder.Close())
	}
	return &SummaryFile{folder: folder, name: filepath.Base(name)}, nil
}

// OpenFolder opens the folder of a file that a run writes, as OpenSummary describes it.
// The Root's name has no symbolic link in it.
func OpenFolder(name, project string) (*os.Root, error) {
	if err := noLinkOnTheWay(name, project); err != nil {
		return nil, err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(name))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("there is no folder %s", filepath.Dir(name))
	}
	if err != nil {
		return nil, err
	}
	return os.OpenRoot(dir)
}

// noLinkOnTheWay errs when a folder between the project and the file is a
// symbolic link.
func noLinkOnTheWay(name, project string) error {
	rel, inside := InProject(name, project)
	if !inside {
		return nil
	}
	for at := filepath.Dir(rel); at != "."; at = filepath.Dir(at) {
		if info, err := os.Lstat(filepath.Join(project, at)); err == nil && info.Mode()&os.ModeSymlink != 0 {
			err := fmt.Errorf("%s leads over %s, which is a symbolic link in the project", name, at)
			return diag.WithHint(err,
				"an agent can make such links to folders of yours, where it would take a file's place: name the folder itself")
		}
	}
	return nil
}

// Save writes the summary and closes the file.
func (s *SummaryFile) Save(r *sandbox.Result, failure error) error {
	write := func(w io.WriteCloser) error { return errors.Join(sandbox.WriteSummary(w, r, failure), w.Close()) }
	if s.stream != nil {
		return write(s.stream)
	}
	defer s.folder.Close()
	fresh := ".new-" + rand.Text()
	f, err := s.folder.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		err = write(f)
	}
	if err == nil {
		err = s.folder.Rename(fresh, s.name)
	}
	if err != nil {
		_ = s.folder.Remove(fresh)
		return fmt.Errorf("writing the summary: %w", err)
	}
	return nil
}
