package settings

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// project makes a folder with .devcontainer in it, and a settings file outside.
func project(t *testing.T) (dir, outside string) {
	t.Helper()
	dir = t.TempDir()
	outside = filepath.Join(t.TempDir(), "sandbox.jsonc")
	if err := errors.Join(os.Mkdir(filepath.Join(dir, ".devcontainer"), 0o755),
		os.WriteFile(outside, []byte(`{"network": {"allow": ["@hosts.txt"]}}`), 0o644),
		os.WriteFile(filepath.Join(filepath.Dir(outside), "hosts.txt"), []byte("docs.example.com\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	return dir, outside
}

func link(t *testing.T, target, name string) {
	t.Helper()
	testenv.Symlink(t, target, name)
}

func TestFileIsReadWithItsLists(t *testing.T) {
	_, path := project(t)
	f, err := ReadFile(path)
	if err != nil || f.Settings == nil || len(f.Settings.Network.Allow) != 1 || f.Settings.Network.Allow[0] != "docs.example.com" {
		t.Fatalf("got %+v, %v", f, err)
	}
	if want, _ := os.ReadFile(path); string(f.Source) != string(want) || f.Path != path {
		t.Errorf("got %q of %s", f.Source, f.Path)
	}
}

func TestMistakesAreFindingsAndNoError(t *testing.T) {
	_, path := project(t)
	if err := os.WriteFile(path, []byte(`{"netwrok": {}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := ReadFile(path)
	if err != nil || f.Settings != nil || len(f.Findings) != 1 || f.Findings[0].Rule != RuleUnknown {
		t.Fatalf("got %+v, %v", f, err)
	}
}

func TestProjectsSettingsAreNoLink(t *testing.T) {
	for name, plant := range map[string]func(t *testing.T, dir, outside string){
		"file": func(t *testing.T, dir, outside string) {
			link(t, outside, filepath.Join(dir, ".devcontainer", "sandbox.jsonc"))
		},
		"broken": func(t *testing.T, dir, _ string) {
			link(t, "nowhere", filepath.Join(dir, ".devcontainer", "sandbox.jsonc"))
		},
		"folder": func(t *testing.T, dir, outside string) {
			if err := os.Remove(filepath.Join(dir, ".devcontainer")); err != nil {
				t.Fatal(err)
			}
			link(t, filepath.Dir(outside), filepath.Join(dir, ".devcontainer"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, outside := project(t)
			plant(t, dir, outside)
			t.Chdir(dir)
			for _, path := range []string{
				filepath.Join(dir, ".devcontainer", "sandbox.jsonc"),
				filepath.Join(".devcontainer", "sandbox.jsonc"),
			} {
				if f, err := ReadFile(path); !errors.Is(err, ErrLink) {
					t.Errorf("%s: read %+v, %v; want ErrLink", path, f, err)
				}
			}
		})
	}
}

func TestProjectsSettingsAreAFile(t *testing.T) {
	dir, _ := project(t)
	path := filepath.Join(dir, ".devcontainer", "sandbox.jsonc")
	if _, err := ReadFile(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if f, err := ReadFile(path); err == nil {
		t.Errorf("a folder: read %+v", f)
	}
}

// A file that the user names may be a link, as every file of a Kubernetes ConfigMap is.
func TestNamedFileMayBeALink(t *testing.T) {
	dir, outside := project(t)
	named := filepath.Join(dir, "policy.jsonc")
	link(t, outside, named)
	if err := os.WriteFile(filepath.Join(dir, "hosts.txt"), []byte("docs.example.com\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if f, err := ReadFile(named); err != nil || f.Settings == nil {
		t.Errorf("got %+v, %v", f, err)
	}
}
