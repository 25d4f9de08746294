package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/sandbox/kept"
	"github.com/org/claude-sandbox/settings"
)

// OwnSettingsName is the user's file of settings for all projects, in his folder. It
// has the form of a project's sandbox.jsonc.
const OwnSettingsName = "settings.jsonc"

// OwnSettings reads the user's file for a run on the project in the folder dir, "" =
// for none; nil when there is no file. The folder and the file must be the user's
// alone, and not in the project: see package userdir. Relative mounts are the folder's.
// Errors carry an exit code; *SettingsError is one of them.
func OwnSettings(own userdir.Dir, project string) (*settings.File, error) {
	return ownFile(own, OwnSettingsName, project, settings.ReadOwnFile, "your own settings", "'sbx-devc settings check' checks it")
}

// ProfilesFolder holds the settings of profiles, in the user's folder.
const ProfilesFolder = "profiles"

// ProfileFile is the path of a profile's settings in the user's folder.
func ProfileFile(profile string) string { return filepath.Join(ProfilesFolder, profile+".jsonc") }

// ProfileSettings reads the file of a profile, as OwnSettings reads that for all runs; nil
// when there is none. The name of the profile must be one.
func ProfileSettings(own userdir.Dir, profile, project string) (*settings.File, error) {
	if err := kept.CheckName(profile); err != nil {
		return nil, exitcode.With(exitcode.Usage, err)
	}
	folder := own.File(ProfilesFolder)
	if info, err := os.Stat(folder); err == nil {
		if err := userdir.CheckOwner(folder, info); err != nil {
			return nil, exitcode.With(exitcode.Config, err)
		}
	}
	check := "'sbx-devc profile validate " + profile + "' checks it"
	return ownFile(own, ProfileFile(profile), project, settings.ReadFile, "the profile "+profile, check)
}

// ownFile reads a file of settings in the user's folder. what it is, and how it is
// checked, is for errors.
func ownFile(own userdir.Dir, rel, project string, read func(string) (*settings.File, error), what, check string) (*settings.File, error) {
	name := own.File(rel)
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, exitcode.With(exitcode.NoInput, fmt.Errorf("reading %s: %w", what, err))
	case !info.Mode().IsRegular():
		return nil, exitcode.With(exitcode.Config, diag.WithHint(fmt.Errorf("%s is not a regular file", name), "move it away"))
	}
	if err := errors.Join(own.Check(project), userdir.CheckOwner(name, info)); err != nil {
		return nil, exitcode.With(exitcode.Config, err)
	}
	file, err := read(name)
	if err != nil {
		return nil, exitcode.With(exitcode.NoInput, fmt.Errorf("reading %s: %w", what, err))
	}
	if file.Settings == nil {
		return nil, exitcode.With(exitcode.Config,
			diag.WithHint(&SettingsError{file.Path, file.Findings}, "correct it; %s", check))
	}
	for i, m := range file.Settings.Mounts {
		if !filepath.IsAbs(m.Host) && m.Host != "~" && !strings.HasPrefix(m.Host, "~/") {
			file.Settings.Mounts[i].Host = filepath.Join(string(own), m.Host)
		}
	}
	return file, nil
}
