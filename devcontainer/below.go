package devcontainer

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/filekind"
)

// Bounds of the look below a folder.
const (
	maxBelow  = 10_000 // folders
	maxDepth  = 6      // of a folder with a dev container
	skipNames = "node_modules vendor testdata"
)

// DiscoverAll is Discover with the dev containers of the folders below, as the parts of
// a monorepo have them. It does not look into hidden folders, dependencies, Features
// and Templates, and follows no link. whole is false where there was more to look at
// than its bounds allow.
func DiscoverAll(path string) (files []string, whole bool, err error) {
	files, err = Discover(path)
	if err != nil && !errors.Is(err, ErrNone) || !filekind.IsFolder(path) || unusable(path) != nil {
		return files, true, err
	}
	folders, whole := foldersBelow(path)
	for _, folder := range folders {
		if more, err := Discover(folder); err == nil {
			files = append(files, more...)
		}
	}
	if len(files) > 0 {
		err = nil
	}
	return files, whole, err
}

// foldersBelow returns the folders below dir that hold a dev container, sorted.
func foldersBelow(dir string) (found []string, whole bool) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, true // Discover says it
	}
	defer root.Close()
	seen, whole := 0, true
	_ = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error { // a folder that cannot be read holds none
		switch {
		case err != nil || !d.IsDir() || name == ".":
			return nil
		case strings.HasPrefix(d.Name(), "."), slices.Contains(strings.Fields(skipNames), d.Name()):
			return fs.SkipDir
		}
		if seen++; seen > maxBelow {
			whole = false
			return fs.SkipAll
		}
		for _, own := range []string{FeatureName, TemplateName} {
			if _, err := root.Lstat(path.Join(name, own)); err == nil {
				return fs.SkipDir
			}
		}
		if len(Places(disk{root: root}, name)) > 0 {
			found = append(found, filepath.Join(dir, filepath.FromSlash(name)))
		}
		if strings.Count(name, "/")+1 >= maxDepth {
			return fs.SkipDir
		}
		return nil
	})
	return found, whole
}
