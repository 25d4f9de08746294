package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// look looks at this machine without an engine, through variables and folders.
func look(t *testing.T, root string, variables map[string]string, folders ...Folder) Facts {
	t.Helper()
	return Look(t.Context(), Places{
		Root: root, Getenv: func(name string) string { return variables[name] }, Folders: folders,
		Connect: func(context.Context) (*engine.Engine, error) { return nil, errors.New("none") },
		Key:     func() (string, error) { return "a test", nil },
	})
}

// find returns the finding of a check.
func find(t *testing.T, f Facts, check string) Finding {
	t.Helper()
	for _, found := range Judge(f) {
		if found.Check == check {
			return found
		}
	}
	t.Fatalf("nothing about %s", check)
	return Finding{}
}

func TestAFullDiskIsSeen(t *testing.T) {
	testenv.Root(t)
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	if err := os.WriteFile(dir+"/fill", make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	f := look(t, "", nil, Folder{Holds: "runs", Path: dir + "/not/there/yet"})
	if got := find(t, f, "disk"); got.Status != Missing || !strings.HasPrefix(got.Found, "0 MiB free") {
		t.Errorf("%+v", got)
	}
}

func TestAFolderOfOthersIsSeen(t *testing.T) {
	testenv.Root(t)
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_RDONLY, ""); err != nil { // root may write to all that is not read-only
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	if got := find(t, look(t, "", nil, Folder{Holds: "runs", Path: dir}), "folders"); got.Status != Missing ||
		!strings.Contains(got.Found, "read-only") {
		t.Errorf("%+v", got)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := find(t, look(t, "", nil, Folder{Holds: "runs", Path: file}), "folders"); got.Status != Missing {
		t.Errorf("%+v", got)
	}
}

func TestABundleWithoutCertificatesIsSeen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, file + ".missing", t.TempDir()} {
		f := look(t, "", map[string]string{"NODE_EXTRA_CA_CERTS": name})
		if got := find(t, f, "certificates"); got.Status != Missing || !strings.Contains(got.Found, "NODE_EXTRA_CA_CERTS") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// The marks of a container, and the one that stays behind in a machine made of an image.
func TestContainersAreKnown(t *testing.T) {
	for name, c := range map[string]struct {
		files     map[string]string
		variables map[string]string
		want      string
	}{
		"a machine": {nil, nil, ""},
		"Docker": {map[string]string{".dockerenv": "", "proc/self/mountinfo": "1 0 0:53 / / rw - overlay overlay rw\n"}, nil,
			"Docker"},
		"a machine of an image": {map[string]string{".dockerenv": "", "proc/self/mountinfo": "1 0 254:0 / / rw - ext4 /dev/vda rw\n"}, nil, ""},
		"Podman":                {map[string]string{"run/.containerenv": ""}, nil, "Podman"},
		"Kubernetes":            {nil, map[string]string{"KUBERNETES_SERVICE_HOST": "192.0.2.1"}, "Kubernetes"},
		"LXC":                   {nil, map[string]string{"container": "lxc"}, "lxc"},
	} {
		root := t.TempDir()
		for file, text := range c.files {
			file = filepath.Join(root, file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		if got := look(t, root, c.variables).Container; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The real engine's description of itself.
func TestTheEngineIsDescribed(t *testing.T) {
	address := enginetest.Connect(t).Host()
	tried := false
	f := Look(t.Context(), Places{
		Getenv: func(string) string { return "" }, Connect: engine.Connect, Key: func() (string, error) { return "", nil },
		TryFirewall: func(context.Context, *engine.Engine) (bool, error) { tried = true; return true, nil },
	})
	if e := f.Engine; e == nil || !tried || e.Address != address || e.Version == "" || e.OS != "linux" || e.Memory == 0 ||
		e.CPUs == 0 || len(e.Runtimes) == 0 {
		t.Errorf("tried %v, %+v, %v", tried, e, f.EngineErr)
	}
}
