package session

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/sandbox/kept"
)

// Profile is a name for settings of runs, and for what they keep.
type Profile struct {
	Name     string      `json:"name"`
	Settings string      `json:"settings,omitempty"` // the path of its file; "" = it has none
	Kept     []kept.Kept `json:"kept"`
}

// Profiles lists the profiles that have settings in the user's folder, "" = there is none,
// or keep something, by their names. Files with other names are none.
func Profiles(own userdir.Dir, store kept.Root) ([]Profile, error) {
	files := map[string]string{}
	if own != "" {
		found, _ := filepath.Glob(filepath.Join(own.File(ProfilesFolder), "*.jsonc")) // a good pattern
		for _, file := range found {
			if name := strings.TrimSuffix(filepath.Base(file), ".jsonc"); kept.CheckName(name) == nil {
				files[name] = file
			}
		}
	}
	names := store.Profiles()
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	list := []Profile{}
	for _, name := range slices.Compact(names) {
		has, err := store.List(name)
		if err != nil {
			return nil, err
		}
		list = append(list, Profile{name, files[name], has})
	}
	return list, nil
}
