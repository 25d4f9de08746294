//go:build unix

package filekind

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

func TestReadsRegularFilesAlone(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	// Attack: something without an end is in the place of a file.
	testenv.Endless(t, name, func() {
		_, err := Read(name, 5)
		_, inErr := ReadIn(root, "file", 5)
		_, listErr := ListIn(root, "file")
		if err == nil || inErr == nil || listErr == nil {
			t.Errorf("it is read: %v, %v, %v", err, inErr, listErr)
		}
	})
	if err := os.WriteFile(name, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := ReadIn(root, "file", 5); err != nil || len(text) != 5 {
		t.Errorf("as much as the limit: %d bytes, %v", len(text), err)
	}
	if _, err := Read(name, 4); err == nil || !strings.Contains(err.Error(), "larger than 4 bytes") {
		t.Errorf("more than the limit: %v", err)
	}
	for what, to := range map[string]string{"a device": "/dev/zero", "a folder": dir, "a link out of the root": "/etc/passwd"} {
		link := filepath.Join(dir, "link")
		_ = os.Remove(link)
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		_, err := Read(link, 1<<20)
		if _, inErr := ReadIn(root, "link", 1<<20); inErr == nil || err == nil && what != "a link out of the root" {
			t.Errorf("%s is read: %v, %v", what, err, inErr)
		} else if !errors.Is(inErr, ErrOutside) {
			t.Errorf("%s: %v", what, inErr)
		}
	}
	t.Chdir(dir) // a socket's name may not be long
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := ReadIn(root, "socket", 1); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a socket: %v", err)
	}
	if _, err := Read(filepath.Join(dir, "none"), 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
