package instructions

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/sandbox"
)

// Bounds of what is taken: a project decides how much it holds.
const (
	maxFiles = 2000
	maxFile  = 1 << 20  // bytes
	maxAll   = 16 << 20 // bytes
	maxDepth = 8
)

// kinds are the folders of Claude's that hold texts.
var kinds = []string{"skills", "commands", "agents", "output-styles"}

// Set is what Claude's own folder gets.
type Set struct {
	Files   []sandbox.HomeFile
	LeftOut []string // paths, each with the reason
	bytes   int
}

// Project takes the texts of the project in the folder dir, which the user trusts.
func Project(dir string) (*Set, error) {
	s := &Set{}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the project's instructions: %w", err)
	}
	defer root.Close()
	for _, kind := range kinds {
		s.walk(noLinks{root}, ".claude", kind, 0)
	}
	return s, nil
}

// User takes the entries that the user lists of Claude's folder dir, such as
// CLAUDE.md, skills or agents/reviewer.md. It errs on an entry that is not there or
// holds no text for Claude.
func User(dir string, entries []string) (*Set, error) {
	s := &Set{}
	for _, entry := range entries {
		clean := path.Clean(entry)
		kind, _, _ := strings.Cut(clean, "/")
		if !fs.ValidPath(clean) || clean != "CLAUDE.md" && !slices.Contains(kinds, kind) {
			return nil, diag.WithHint(fmt.Errorf("%q is no instruction of yours", entry),
				"name CLAUDE.md, or what is below skills, commands, agents or output-styles in %s", dir)
		}
		if _, err := fs.Stat(os.DirFS(dir), clean); err != nil {
			return nil, fmt.Errorf("reading your instructions: %w", err)
		}
		s.walk(os.DirFS(dir), ".", clean, 0)
	}
	return s, nil
}

// Add takes what is in other and not in s.
func (s *Set) Add(other *Set) {
	have := map[string]bool{}
	for _, f := range s.Files {
		have[f.Path] = true
	}
	for _, f := range other.Files {
		if have[f.Path] {
			s.leave(".claude/"+f.Path, "you have one of this name")
		} else {
			s.Files = append(s.Files, f)
		}
	}
	s.LeftOut = append(s.LeftOut, other.LeftOut...)
}

// noLinks is a folder in which no symbolic link is followed.
type noLinks struct{ root *os.Root }

var errLink = errors.New("a symbolic link")

func (n noLinks) Open(name string) (fs.File, error) {
	for at := name; at != "."; at = path.Dir(at) {
		if info, err := n.root.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, errLink
		}
	}
	// A link that was put there since leads nowhere outside: it is a Root.
	return n.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe is not waited for
}

// walk takes what is at rel below base.
func (s *Set) walk(from fs.FS, base, rel string, depth int) {
	name := path.Join(base, rel)
	if strings.HasPrefix(path.Base(rel), ".") {
		s.leave(name, "hidden")
		return
	}
	f, err := from.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		s.leave(name, diag.WithoutPath(err).Error())
		return
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		s.leave(name, diag.WithoutPath(err).Error())
	case info.IsDir() && depth < maxDepth:
		entries, err := fs.ReadDir(from, name)
		if err != nil {
			s.leave(name, diag.WithoutPath(err).Error())
		}
		for _, e := range entries {
			s.walk(from, base, path.Join(rel, e.Name()), depth+1)
		}
	case !info.Mode().IsRegular():
		s.leave(name, "no file")
	default:
		s.take(name, rel, f)
	}
}

// take takes one file.
func (s *Set) take(name, rel string, f io.Reader) {
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		s.leave(name, diag.WithoutPath(err).Error())
		return
	case len(text) > maxFile || s.bytes+len(text) > maxAll || len(s.Files) >= maxFiles:
		s.leave(name, "too large")
		return
	}
	acting, err := isActing(rel)
	if err == nil && acting {
		text, err = textOnly(text)
	}
	if err != nil {
		s.leave(name, err.Error())
		return
	}
	s.bytes += len(text)
	s.Files = append(s.Files, sandbox.HomeFile{Path: rel, Data: text})
}

// isActing reports whether Claude reads the front matter of a file; an error says
// that it has no business there.
func isActing(rel string) (bool, error) {
	kind, _, _ := strings.Cut(rel, "/")
	if kind == "skills" {
		return strings.EqualFold(path.Base(rel), "SKILL.md"), nil
	}
	if kind == "CLAUDE.md" {
		return false, nil
	}
	if !strings.EqualFold(path.Ext(rel), ".md") {
		return false, errors.New("no text for Claude")
	}
	return true, nil
}

func (s *Set) leave(name, why string) { s.LeftOut = append(s.LeftOut, name+" ("+why+")") }

// Texts returns the texts by their paths.
func (s *Set) Texts() map[string][]byte {
	texts := map[string][]byte{}
	for _, f := range s.Files {
		texts[f.Path] = f.Data
	}
	return texts
}

// Other lists the texts that are not in accepted in just this form, by their paths.
func (s *Set) Other(accepted map[string][]byte) (names []string) {
	for _, f := range s.Files {
		if text, ok := accepted[f.Path]; !ok || !bytes.Equal(text, f.Data) {
			names = append(names, f.Path)
		}
	}
	return names
}

// Only leaves out the texts that are not in accepted in just this form.
func (s *Set) Only(accepted map[string][]byte, why string) {
	other := s.Other(accepted)
	for _, name := range other {
		s.leave(".claude/"+name, why)
	}
	s.Files = slices.DeleteFunc(s.Files, func(f sandbox.HomeFile) bool { return slices.Contains(other, f.Path) })
}
