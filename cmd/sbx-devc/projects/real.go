package projects

import "path/filepath"

// Real is the absolute path without links, as far as it exists.
func Real(path string) string {
	full, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if resolved, err := filepath.EvalSymlinks(full); err == nil {
		return resolved
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(full)); err == nil {
		return filepath.Join(dir, filepath.Base(full))
	}
	return full
}
