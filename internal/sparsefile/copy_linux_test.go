package sparsefile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Attack: a file of a terabyte that takes no room fills the disk, or is read for an hour,
// when it is copied.
func TestAttackAFileOfATerabyte(t *testing.T) {
	dir := t.TempDir()
	from, err := os.Create(filepath.Join(dir, "from"))
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	const size, at = 1 << 40, 1<<39 + 12345
	data := bytes.Repeat([]byte("data"), 5000)
	_, err = from.WriteAt(data, at)
	if err = errors.Join(err, from.Truncate(size)); err != nil {
		t.Fatal(err)
	}
	copied := func(limit int64) (*os.File, int64) {
		t.Helper()
		to, err := os.Create(filepath.Join(dir, "to"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { to.Close() })
		n, err := Copy(to, from, limit)
		if err != nil {
			t.Fatal(err)
		}
		return to, n
	}
	to, n := copied(1 << 20)
	got := make([]byte, len(data)+2)
	if _, err := to.ReadAt(got, at-1); err != nil || string(got) != "\x00"+string(data)+"\x00" {
		t.Errorf("the data is not there: %v", err)
	}
	info, err := to.Stat()
	if err != nil || info.Size() != size || info.Sys().(*syscall.Stat_t).Blocks*512 > 1<<20 || n > 1<<20 {
		t.Errorf("%d bytes were copied: %+v %v", n, info.Sys(), err)
	}
	if _, n := copied(10); n != 11 {
		t.Errorf("%d bytes were copied, beyond the limit of 10", n)
	}
}
