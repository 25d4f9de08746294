package diskwatch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// watched is a watch of one folder on a disk.
func watched(t *testing.T, limit int64) (*Watch, string) {
	t.Helper()
	dir, err := os.MkdirTemp(".", "watched") // the folder of temporary files may be in memory
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = os.Chmod(filepath.Join(dir, "hidden"), 0o700)
		_ = os.RemoveAll(dir)
	})
	write(t, filepath.Join(dir, "before"), 4<<20)
	time.Sleep(30 * time.Millisecond) // of which a Watch cannot know the order of what happens
	w, err := Start(limit)
	if err != nil {
		t.Fatal(err)
	}
	w.folders, w.disks, w.programs = nil, map[uint64]*disk{}, "/proc/self/fd" // of all that go on here, this program alone
	w.add(dir)
	if len(w.folders) == 0 {
		testenv.Missing(t, "a disk", "the repository lies in memory")
	}
	return w, dir
}

func write(t *testing.T, file string, bytes int) {
	t.Helper()
	text := make([]byte, bytes)
	text[0] = 1 // a file system may leave blocks of zeros out
	for i := range text {
		text[i] = byte(i>>8 ^ i)
	}
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil { // blocks are taken late
		t.Fatal(err)
	}
	f.Close()
}

// others makes the disk look fuller, as by other programs of the host.
func (w *Watch) others(bytes int64) {
	for _, d := range w.disks {
		d.used -= bytes
	}
}

func TestWhatOthersWriteIsNotCounted(t *testing.T) {
	w, dir := watched(t, 8<<20)
	w.others(100 << 20)
	if w.full() {
		t.Fatal("the limit is reached by what others wrote")
	}
	write(t, filepath.Join(dir, "a"), 6<<20)
	w.others(100 << 20)
	if w.full() || w.spare > 2<<20 {
		t.Fatalf("with 6 of 8 MiB, %d are left", w.spare)
	}
	write(t, filepath.Join(dir, "b"), 4<<20)
	w.others(100 << 20) // more than others can free meanwhile
	if !w.full() {
		t.Error("10 of 8 MiB are not too much")
	}
}

func TestALinkedFileCountsOnce(t *testing.T) {
	w, dir := watched(t, 8<<20)
	write(t, filepath.Join(dir, "a"), 5<<20)
	if err := os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	if n, hidden := w.count(); n < 5<<20 || n > 6<<20 || hidden {
		t.Errorf("5 MiB with two names count as %d, %v", n, hidden)
	}
}

// Attack: files lie where the path is longer than the kernel takes, or in a folder that can
// be listed and not entered.
func TestAttackFilesThatCannotBeLookedAt(t *testing.T) {
	for what, hide := range map[string]func(dir string) error{
		"a long path": func(dir string) error {
			root, err := os.OpenRoot(dir)
			for range 20 {
				if err != nil {
					return err
				}
				name := strings.Repeat("d", 250)
				below := (*os.Root)(nil)
				if err = root.Mkdir(name, 0o700); err == nil {
					below, err = root.OpenRoot(name)
				}
				_ = root.Close()
				root = below
			}
			if err == nil {
				err = errors.Join(root.WriteFile("f", make([]byte, 1<<20), 0o600), root.Close())
			}
			return err
		},
		"a folder that cannot be entered": func(dir string) error {
			if os.Geteuid() == 0 {
				t.Log("root enters every folder")
				return os.Mkdir(filepath.Join(dir, "hidden"), 0)
			}
			hidden := filepath.Join(dir, "hidden")
			return errors.Join(os.Mkdir(hidden, 0o700), os.WriteFile(filepath.Join(hidden, "f"), make([]byte, 1<<20), 0o600),
				os.Chmod(hidden, 0o400))
		},
	} {
		w, dir := watched(t, 8<<20)
		if err := hide(dir); err != nil {
			t.Fatal(err)
		}
		_, hidden := w.count()
		if asRoot := os.Geteuid() == 0 && what != "a long path"; hidden == asRoot {
			t.Errorf("%s: hidden is %v", what, hidden)
		}
	}
}

// Attack: a file is removed while a program holds it open.
func TestAttackAFileThatIsRemovedAndHeldOpen(t *testing.T) {
	w, dir := watched(t, 8<<20)
	name := filepath.Join(dir, "held")
	write(t, name, 10<<20)
	held, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if n, _ := w.count(); n < 10<<20 || n > 11<<20 {
		t.Errorf("10 MiB without a name count as %d", n)
	}
	w.others(100 << 20)
	if !w.full() {
		t.Error("10 of 8 MiB are not too much")
	}
	held.Close()
	if n, _ := w.count(); n > 1<<20 {
		t.Errorf("a file that is gone counts as %d", n)
	}
}
