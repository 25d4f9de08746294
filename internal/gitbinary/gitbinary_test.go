package gitbinary

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// Git itself applies what is written here.
func TestGitReadsIt(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		testenv.Missing(t, "git", err.Error())
	}
	random := rand.New(rand.NewPCG(3, 4))
	for _, size := range []int{1, 2, 3, 4, 5, 51, 52, 53, 4096, 70_000} {
		content := make([]byte, size)
		for i := range content {
			content[i] = byte(random.IntN(256))
		}
		var patch bytes.Buffer
		patch.WriteString("diff --git a/x b/x\nnew file mode 100644\nindex " + None + ".." + Name(content) + "\nGIT binary patch\n")
		fmt.Fprintf(&patch, "literal %d\n", size)
		Append(&patch, content)
		patch.WriteByte('\n')
		dir := t.TempDir()
		for _, args := range [][]string{{"init", "-q"}, {"apply", "-"}} {
			cmd := exec.CommandContext(t.Context(), git, args...)
			cmd.Dir, cmd.Stdin = dir, bytes.NewReader(patch.Bytes())
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%d bytes: git %v: %v: %s\n%s", size, args, err, out, patch.String())
			}
		}
		if got, err := os.ReadFile(filepath.Join(dir, "x")); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func FuzzContent(f *testing.F) {
	var seed bytes.Buffer
	Append(&seed, []byte("abc"))
	f.Add(seed.Bytes(), int64(3))
	f.Fuzz(func(t *testing.T, text []byte, size int64) {
		var r Reader
		for line := range bytes.Lines(text) {
			if err := r.Line(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
				return
			}
		}
		size &= 1<<16 - 1
		content, err := r.Content(size)
		if err != nil && !errors.Is(err, ErrForm) || err == nil && int64(len(content)) != size {
			t.Errorf("%d bytes of %d: %v", len(content), size, err)
		}
	})
}
