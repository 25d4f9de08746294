//go:build unix

package workspace

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Attack: a mount shows the agent a socket by which it is the user, or root, on this
// machine; a mount that can only be read does so as well.
func TestAttackAMountHoldsSocketsOfTheMachine(t *testing.T) {
	base := t.TempDir()
	home, project, database := filepath.Join(base, "home"), filepath.Join(base, "app"), filepath.Join(base, "db")
	for _, dir := range []string{project, database, filepath.Join(home, ".docker/run"), filepath.Join(home, ".colima/default"),
		filepath.Join(base, "engine")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("unix", filepath.Join(database, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	t.Setenv("HOME", home)
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(base, "engine", "e"))
	w, err := Inspect(project, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := w.Mounts("/workspace", Bind, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"~/.docker", "~/.docker/run", "~/.colima", filepath.Join(base, "engine"), "/run", "/run/lock", "/var/run"} {
		if _, err := m.AddFolder(w, name, "/mnt/x", true, nil); !errors.Is(err, ErrRefused) {
			t.Errorf("%s is mounted: %v", name, err)
		}
	}
	notes, err := m.AddFolder(w, database, "/mnt/db", true, nil)
	if err != nil || !strings.Contains(strings.Join(notes, "\n"), filepath.Join(database, "s")) {
		t.Errorf("the socket is not named: %q %v", notes, err)
	}
}
