package hostprogram

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/pathwalk"
)

// PATH belongs to the process, and so does all this.
var (
	mu      sync.Mutex
	closed  []fs.FileInfo // folders, and files, that agents write
	own     string        // PATH as the user has it
	cleaned string        // PATH as Exclude has set it
)

// Exclude takes what is relative, and what leads into the folders, out of this process's
// PATH. Find refuses programs there from now on. A missing folder is none.
func Exclude(folders ...string) {
	mu.Lock()
	defer mu.Unlock()
	for _, folder := range folders {
		info, err := os.Stat(folder)
		if err == nil && !slices.ContainsFunc(closed, func(c fs.FileInfo) bool { return os.SameFile(c, info) }) {
			closed = append(closed, info)
		}
	}
	path, set := os.LookupEnv("PATH")
	if runtime.GOOS == "windows" { // where the current folder is searched first
		_ = os.Setenv("NoDefaultCurrentDirectoryInExePath", "1")
	}
	if !set {
		return
	}
	if path != cleaned {
		own = path
	}
	var kept []string
	for _, entry := range filepath.SplitList(path) {
		if !isClosed(entry) {
			if strings.ContainsRune(entry, filepath.ListSeparator) { // only Windows has quotes for that
				entry = `"` + entry + `"`
			}
			kept = append(kept, entry)
		}
	}
	if len(kept) == 0 {
		kept = []string{os.DevNull} // an empty PATH means the current folder to some programs
	}
	cleaned = strings.Join(kept, string(filepath.ListSeparator))
	_ = os.Setenv("PATH", cleaned)
}

// Find is exec.LookPath, which refuses what an agent can write. The error for a program
// that this machine has not is exec.ErrNotFound; that of a refused one is not, and has a
// hint.
func Find(name string) (string, error) {
	mu.Lock()
	defer mu.Unlock()
	found, err := exec.LookPath(name)
	if err == nil {
		if isClosed(found) {
			return "", refused(name, found)
		}
		return found, nil
	}
	if filepath.Base(name) != name || os.Getenv("PATH") != cleaned {
		return "", err
	}
	for _, entry := range filepath.SplitList(own) {
		if there := filepath.Join(entry, name); isClosed(entry) {
			if _, err := os.Stat(there); err == nil {
				return "", refused(name, there)
			}
		}
	}
	return "", err
}

func refused(name, found string) error {
	return diag.WithHint(fmt.Errorf("the %s that PATH finds is the project's own: %s", name, found),
		"PATH leads into a folder that agents of this or other runs can write: install %s outside of the project, or put that folder's "+
			"one first in PATH", name)
}

// Environ is os.Environ with the PATH that the user has, for what he starts himself.
func Environ() []string {
	mu.Lock()
	defer mu.Unlock()
	env := os.Environ()
	if path, set := os.LookupEnv("PATH"); set && path == cleaned {
		env = slices.DeleteFunc(env, func(v string) bool { return v == "PATH="+cleaned })
		env = append(env, "PATH="+own)
	}
	return env
}

// errClosed ends a walk.
var errClosed = errors.New("an agent can write here")

// isClosed reports whether a path is relative, or passes through what an agent writes:
// whoever writes a link on the way decides where it leads.
func isClosed(path string) bool {
	if !filepath.IsAbs(path) {
		return true
	}
	_, err := pathwalk.Walk(string(filepath.Separator), path, func(_ string, info fs.FileInfo) error {
		if slices.ContainsFunc(closed, func(c fs.FileInfo) bool { return os.SameFile(c, info) }) {
			return errClosed
		}
		return nil
	})
	return errors.Is(err, errClosed)
}
