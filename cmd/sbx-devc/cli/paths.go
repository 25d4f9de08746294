package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// hintForPath says what to do about a path that cannot be used, which the
// operating system's own words leave open; "" for any other error.
func hintForPath(err error) string {
	var path *fs.PathError
	if link := (*os.LinkError)(nil); errors.As(err, &link) {
		path = &fs.PathError{Path: link.New, Err: link.Err}
	} else if !errors.As(err, &path) {
		return ""
	}
	switch {
	case errors.Is(path.Err, syscall.ENOSPC), errors.Is(path.Err, syscall.EDQUOT):
		return "the disk, or this user's part of it, is full"
	case errors.Is(path.Err, syscall.EROFS):
		return "the file system is mounted read-only"
	case path.Path == "":
		return "the path is empty; is a variable in the command line not set?"
	case errors.Is(path.Err, fs.ErrNotExist):
		return missingPath(path.Path)
	case errors.Is(path.Err, fs.ErrPermission):
		return "look at the owner and the mode of the file and of every folder above it: the user who runs this may not use it"
	case errors.Is(path.Err, syscall.ELOOP):
		return "a symbolic link in it leads to itself"
	case errors.Is(path.Err, syscall.EISDIR):
		return "that is a folder; name a file in it"
	case errors.Is(path.Err, atomicfile.ErrNotRegular):
		return "name a file: it is replaced whole, and so it cannot be a device or a pipe"
	case errors.Is(path.Err, syscall.ENOTDIR):
		return "a part of it is a file, not a folder"
	}
	return ""
}

// inWords is err with the name of a missing path in plain words, and not in those of
// the system call that found it missing. Any other error stays as it is.
func inWords(err error) error {
	var path *fs.PathError
	if !errors.As(err, &path) || !errors.Is(path.Err, fs.ErrNotExist) {
		return err
	}
	missing := "there is no file or folder " + path.Path
	if path.Path == "" {
		missing += `""`
	} else if above := filepath.Dir(filepath.Clean(path.Path)); !exists(above) {
		missing = "there is no folder " + above
	} else if path.Op == "open" {
		missing = "there is no file " + path.Path
	}
	return said{err, strings.Replace(err.Error(), path.Error(), missing, 1)}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// errGone is a current folder that is removed, as another one in a folder of the same name is.
var errGone = diag.WithHint(errors.New("the current folder was removed"),
	"'cd' to a folder that is there; one of the same name is another: cd \"$PWD\"")

// isOfGoneFolder reports whether err came of a removed current folder: the system says "getwd".
func isOfGoneFolder(err error) bool {
	call := (*os.SyscallError)(nil)
	return errors.As(err, &call) && call.Syscall == "getwd" && errors.Is(call, fs.ErrNotExist)
}

// ofGoneFolder is err in plain words where it came of a current folder that is removed. It ends
// a check with the code of one that cannot begin, code, and all else as a missing folder does.
func ofGoneFolder(err error, code int) error {
	if !isOfGoneFolder(err) {
		return err
	}
	if code != exitcode.CheckUsage {
		code = exitcode.NoInput
	}
	return exitcode.With(code, errGone)
}

// said is an error in other words.
type said struct {
	error
	words string
}

func (s said) Error() string { return s.words }
func (s said) Unwrap() error { return s.error }

// missingPath finds the first part of path that is not there, and a name next to
// it that was most likely meant.
func missingPath(path string) string {
	dir, name := filepath.Split(filepath.Clean(path))
	for {
		if dir == "" {
			dir = "."
		}
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) && filepath.Dir(filepath.Clean(dir)) != filepath.Clean(dir) {
			dir, name = filepath.Split(filepath.Clean(dir))
			continue
		}
		var known []string
		for _, e := range entries {
			known = append(known, e.Name())
		}
		if best := diag.Suggest(name, known); best != "" && best != name {
			return fmt.Sprintf("did you mean %s?", filepath.Join(dir, best))
		}
		break
	}
	if filepath.IsAbs(path) {
		return fmt.Sprintf("there is no %s in %s", name, filepath.Clean(dir))
	}
	here, err := os.Getwd()
	if err != nil {
		return fmt.Sprintf("there is no %s", name)
	}
	return fmt.Sprintf("there is no %s in %s", name, filepath.Join(here, dir))
}
