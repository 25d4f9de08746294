package userdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
)

// Dir is the folder's absolute path. The folder may be missing.
type Dir string

// Find returns the folder by the environment: sbx-devc in $XDG_CONFIG_HOME, or in
// the folder that the system has for settings. A relative $XDG_CONFIG_HOME counts
// as not set, as the XDG Base Directory Specification says.
func Find(getenv func(string) string) (Dir, error) {
	if base := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(base) {
		return Dir(filepath.Join(base, "sbx-devc")), nil
	}
	base, err := systemDir(getenv)
	if err != nil {
		return "", diag.WithHint(fmt.Errorf("looking for your own settings: %w", err), "set HOME, or XDG_CONFIG_HOME to an absolute path")
	}
	return Dir(filepath.Join(base, "sbx-devc")), nil
}

// File is the path of a file in the folder.
func (d Dir) File(name string) string { return filepath.Join(string(d), name) }

// Make makes the folder, for its user alone.
func (d Dir) Make() error { return os.MkdirAll(string(d), 0o700) }

// Check refuses a folder that is not the user's alone, or that project or its
// repository holds; "" = there is no project. A missing folder passes if it would
// stand in a good place.
func (d Dir) Check(project string) error {
	if project != "" {
		if err := Outside("your own settings", string(d), project, "XDG_CONFIG_HOME"); err != nil {
			return err
		}
	}
	info, err := os.Stat(string(d))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return diag.WithHint(fmt.Errorf("%s is not a folder", d), "your own settings stand in it: move the file away")
	}
	return CheckOwner(string(d), info)
}

// Outside refuses a folder of the user's in the project or its repository: the agent
// could change what a later run believes. The home folder may be a repository: people
// keep their dot files so. what names what the folder holds, and variable is what
// chooses the folder, both for people.
func Outside(what, folder, project, variable string) error {
	project, own := resolved(project), resolved(folder)
	for _, tree := range []string{project, repositoryOf(project)} {
		if tree != "" && within(own, tree) && (tree == project || tree != homeDir()) {
			return diag.WithHint(fmt.Errorf("the folder of %s, %s, is inside the project %s, which must not decide about itself",
				what, folder, tree),
				"set %s to a folder of yours elsewhere, or unset it; does a .env file of the project set it?", variable)
		}
	}
	return nil
}

// resolved is the real path of name, as far as it exists.
func resolved(name string) string {
	abs, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	for dir, rest := abs, ""; ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return abs
		}
	}
}

func homeDir() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return "/"
	}
	return resolved(home)
}

func repositoryOf(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

func within(name, dir string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
