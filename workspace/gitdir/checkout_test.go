package gitdir

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A clone says which files are not those of the user's checkout.
func TestACheckoutSaysWhatItLacks(t *testing.T) {
	v := newVolume(t)
	for name, text := range map[string]string{".gitattributes": "*.bin filter=lfs -text\n",
		"a.bin": "version https://git-lfs\n", "b.txt": "b\n"} {
		if err := os.WriteFile(filepath.Join(v.host, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	v.command(v.host, "add", ".")
	v.command(v.host, "update-index", "--add", "--cacheinfo", "160000,"+v.command(v.host, "rev-parse", "HEAD")+",libs/sub")
	v.command(v.host, "commit", "-q", "-m", "two")
	to, work := t.TempDir(), t.TempDir()
	store := v.layout.Private[0].Stores[0].Store
	head, err := store.Head()
	if err != nil {
		t.Fatal(err)
	}
	lacking, err := store.CheckOut(t.Context(), head.Commit, filepath.Join(work, "git"), to, filepath.Join(work, "index"))
	if want := []string{"the files of submodules (1), such as libs/sub", "the files of Git LFS (1), such as a.bin"}; err != nil ||
		!slices.Equal(lacking, want) {
		t.Errorf("%q %v", lacking, err)
	}
	if text, err := os.ReadFile(filepath.Join(to, "a.bin")); err != nil || !strings.HasPrefix(string(text), "version") {
		t.Errorf("%q %v", text, err)
	}
}
