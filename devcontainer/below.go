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
// a monorepo have them. It does not look into hidden folders, dependencies and below Templates, and
// follows no link to a folder. left says what was not searched: more than its bounds allow, and folders
// that are closed to this user. The error names each dev container that cannot be read, beside the files.
func DiscoverAll(path string) (files, left []string, err error) {
	files, err = Discover(path)
	if !filekind.IsFolder(path) {
		return files, nil, err
	}
	root, openErr := os.OpenRoot(path)
	if openErr != nil {
		return files, nil, err // Discover says it
	}
	defer root.Close()
	why := unusable(path)
	if len(files) > 0 || why == nil {
		why = unread(root, ".", path)
	}
	more, left, failed := below(root, path)
	for _, file := range more {
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	if why = errors.Join(why, failed); why != nil || len(files) > 0 {
		err = why
	}
	return files, left, err
}

// below returns the dev containers of the folders below root, whose name is dir, in the order of their names.
func below(root *os.Root, dir string) (files, left []string, failed error) {
	seen := 0
	_ = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		full := filepath.Join(dir, filepath.FromSlash(name))
		switch {
		case name == ".":
			return nil
		case err != nil:
			left = append(left, full+" cannot be read: it was not searched for dev containers")
			return nil
		case !d.IsDir():
			return nil
		case strings.HasPrefix(d.Name(), "."), slices.Contains(strings.Fields(skipNames), d.Name()):
			return fs.SkipDir
		}
		if seen++; seen > maxBelow {
			left = append(left, dir+" is large: only a part of its folders was searched for dev containers; name the others")
			return fs.SkipAll
		}
		if info, err := root.Lstat(path.Join(name, TemplateName)); err == nil && info.Mode().IsRegular() {
			if len(Places(disk{root: root}, name)) > 0 {
				files = append(files, filepath.Join(full, TemplateName))
			}
			return fs.SkipDir
		}
		places := Places(disk{root: root}, name)
		if len(places) > 0 {
			places = append(places, collection(disk{root: root}, name)...)
		}
		for _, place := range places {
			files = append(files, filepath.Join(dir, filepath.FromSlash(place)))
		}
		failed = errors.Join(failed, unread(root, name, full))
		if _, err := root.Lstat(path.Join(name, FeatureName)); err == nil || strings.Count(name, "/")+1 >= maxDepth {
			return fs.SkipDir
		}
		return nil
	})
	return files, left, failed
}
