package imagebuild

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"

	"github.com/org/claude-sandbox/internal/filekind"
)

// packContext writes the folder dir as a tar, without what ignore excludes and
// without sockets, devices and pipes. Owners become root, as the docker
// command does it.
func packContext(w io.Writer, dir string, ignore Ignore) error {
	tw := tar.NewWriter(w)
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil || rel == "." {
			return err
		}
		rel = filepath.ToSlash(rel)
		if out, below := ignore.LeavesOut(rel); out {
			if entry.IsDir() && below {
				return fs.SkipDir
			}
			return nil
		}
		return packFile(tw, file, rel, entry)
	})
	if err != nil {
		return fmt.Errorf("packing the build context: %w", err)
	}
	return tw.Close()
}

func packFile(tw *tar.Writer, file, rel string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	var link string
	switch info.Mode().Type() {
	case 0, fs.ModeDir:
	case fs.ModeSymlink:
		if link, err = os.Readlink(file); err != nil {
			return err
		}
	default:
		return nil
	}
	h, err := tar.FileInfoHeader(info, filepath.ToSlash(link))
	if err != nil {
		return err
	}
	h.Name, h.Uid, h.Gid, h.Uname, h.Gname = rel, 0, 0, "", ""
	if entry.IsDir() {
		h.Name += "/"
	}
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	f, err := filekind.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(tw, f)
	return err
}

// Ignore is a .dockerignore, as the builder reads it; the zero value leaves nothing out. It is
// not safe for concurrent use.
type Ignore struct {
	matcher *patternmatcher.PatternMatcher
}

// ParseIgnore reads a .dockerignore. The paths in kept are never left out.
func ParseIgnore(text []byte, kept ...string) (Ignore, error) {
	patterns, err := ignorefile.ReadAll(bytes.NewReader(text))
	if err != nil {
		return Ignore{}, err
	}
	for _, name := range kept {
		patterns = append(patterns, "!"+name)
	}
	matcher, err := patternmatcher.New(patterns)
	return Ignore{matcher}, err
}

// LeavesOut reports whether a path is left out, slash-separated and relative to the build's
// context, and whether all that is below it is, too.
func (i Ignore) LeavesOut(rel string) (it, below bool) {
	if i.matcher == nil {
		return false, false
	}
	it, err := i.matcher.MatchesOrParentMatches(rel)
	return it && err == nil, it && err == nil && !i.matcher.Exclusions()
}

// maxIgnore bounds a .dockerignore, in bytes.
const maxIgnore = 1 << 20

// readIgnore reads DOCKERFILE.dockerignore or .dockerignore of a context. The
// Dockerfile and the ignore file themselves are always kept: the builder reads
// them.
func readIgnore(dir, dockerfile string) (Ignore, error) {
	for _, file := range []string{dockerfile + ".dockerignore", ".dockerignore"} {
		name := filepath.Join(dir, filepath.FromSlash(file))
		text, err := filekind.Read(name, maxIgnore)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Ignore{}, fmt.Errorf("reading the build context: %w", err)
		}
		ignore, err := ParseIgnore(text, dockerfile, file)
		if err != nil {
			return Ignore{}, fmt.Errorf("reading %s: %w", name, err)
		}
		return ignore, nil
	}
	return Ignore{}, nil
}

// File is a file of a build context.
type File struct {
	Name       string // slash-separated, relative to the context
	Executable bool
	Data       []byte
}

// InFolder writes files into a folder of their own for as long as use works.
func InFolder(files []File, use func(folder string) error) error {
	dir, err := os.MkdirTemp("", "claude-sandbox-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, f := range files {
		mode := fs.FileMode(0o644)
		if f.Executable {
			mode = 0o755
		}
		if !filepath.IsLocal(filepath.FromSlash(f.Name)) {
			return fmt.Errorf("%s leads out of its folder", f.Name)
		}
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, f.Data, mode); err != nil {
			return err
		}
	}
	return use(dir)
}
