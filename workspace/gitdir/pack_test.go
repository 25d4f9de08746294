package gitdir

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// Attack: objects that end too early between whole ones, so that the pack would end with
// them or take the next one for a part of them.
func TestAttackAnObjectThatIsCutShort(t *testing.T) {
	testenv.Program(t, "git")
	noise := make([]byte, 1<<20)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(noise)
	object := func(size int, content []byte) *bytes.Reader {
		var out bytes.Buffer
		z := zlib.NewWriter(&out)
		fmt.Fprintf(z, "blob %d\x00", size)
		_, _ = z.Write(content)
		_ = z.Close()
		return bytes.NewReader(out.Bytes())
	}
	repository := filepath.Join(t.TempDir(), "repository")
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", repository}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v: %s", args[0], err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if out, err := exec.Command("git", "init", "-q", "--bare", repository).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w, err := newPackWriter(filepath.Join(t.TempDir(), "pack"), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{5, len(noise), 0} {
		if err := w.add(object(size, noise[:size])); err != nil {
			t.Fatal(err)
		}
		if err := w.add(object(len(noise)+1, noise)); err == nil || w.failed != nil {
			t.Fatalf("cut short: %v, %v", err, w.failed)
		}
	}
	pack, err := w.close()
	if err != nil {
		t.Fatal(err)
	}
	defer pack.Close()
	cmd := exec.Command("git", "-C", repository, "index-pack", "--stdin", "--strict")
	cmd.Stdin = pack
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if n := len(strings.Split(git("cat-file", "--batch-all-objects", "--batch-check"), "\n")); n != 3 {
		t.Errorf("%d objects", n)
	}
}
