package changes

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// Attack: the project is in memory (tmpfs), and the agent writes to a file through
// a mapping that it has read before: the kernel sets no time.
func TestAttackWritesThatSetNoTime(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "sbx-changes-")
	if err != nil {
		testenv.Missing(t, "a file system in memory", err.Error())
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, name := range []string{"Makefile", "README.md"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("all:\n\techo built\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	huge := filepath.Join(dir, "sparse")
	if err := os.WriteFile(huge, nil, 0o644); err != nil || os.Truncate(huge, maxSummed+1) != nil {
		t.Fatal(err)
	}
	b, err := Take(t.Context(), dir, Options{Keep: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	f, err := os.OpenFile(filepath.Join(dir, "Makefile"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	memory, err := syscall.Mmap(int(f.Fd()), 0, 17, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(memory, []byte("built")) // reads first
	copy(memory[at:], "BUILT")
	if err := syscall.Munmap(memory); err != nil {
		t.Fatal(err)
	}
	set := b.Compare(t.Context())
	if len(set.Changes) != 1 || !bytes.Contains(set.Changes[0].patch, []byte("-\techo built\n+\techo BUILT\n")) {
		t.Errorf("shown: %+v", set.Changes)
	}
	if len(set.Unseen) != 1 || set.Unseen[0] != "1 file in memory, on a file system that does not tell of all changes" {
		t.Errorf("not looked at: %q", set.Unseen)
	}
}
