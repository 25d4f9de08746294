package session

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/sandbox/kept"
)

func TestProfilesAreThoseWithSettingsOrSomethingKept(t *testing.T) {
	own, store := userdir.Dir(t.TempDir()), kept.Root(t.TempDir())
	if list, err := Profiles("", store); err != nil || list == nil || len(list) != 0 {
		t.Errorf("%v, %v: want an empty list, which JSON shows as one", list, err)
	}
	folder := own.File(ProfilesFolder)
	err := os.Mkdir(folder, 0o700)
	for _, name := range []string{"work.jsonc", "both.jsonc", "-x.jsonc", "notes.txt"} {
		err = errors.Join(err, os.WriteFile(filepath.Join(folder, name), nil, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"both", "kept"} {
		s, err := store.Open(name, t.TempDir(), "run")
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	list, err := Profiles(own, store)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range list {
		has := p.Name
		if p.Settings != "" {
			has += " settings"
		}
		if len(p.Kept) > 0 {
			has += " kept"
		}
		got = append(got, has)
	}
	if want := []string{"both settings kept", "kept kept", "work settings"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
