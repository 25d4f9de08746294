package projects

import (
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/internal/shellword"
)

// DefaultSettings is where a project keeps its settings.
var DefaultSettings = filepath.Join(".devcontainer", devcontainer.SettingsName)

// IsDefaultSettings reports whether file is where a project keeps its settings.
func IsDefaultSettings(file string) bool {
	return filepath.Base(file) == devcontainer.SettingsName && filepath.Base(filepath.Dir(file)) == ".devcontainer"
}

// Of is the folder of the project that settings belong to, as runs name
// it: what another project's run reached for is none of this one's.
func Of(file string) (string, error) {
	folder, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return "", err
	}
	if filepath.Base(folder) == filepath.Dir(DefaultSettings) {
		folder = filepath.Dir(folder)
	}
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		return real, nil
	}
	return folder, nil // a folder that is missing has no runs
}

// Flag is the flag with which allow is about a project that the current folder
// is not.
func Flag(folder string) string {
	if here, err := os.Getwd(); err == nil && Real(here) == folder {
		return ""
	}
	return " --project " + shellword.Quote(folder)
}
