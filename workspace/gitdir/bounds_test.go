package gitdir

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1" //nolint:gosec // git's own names of objects
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// repeated makes a tree of 2^levels paths that all lead to one entry.
func (v *volume) repeated(mode, entry string, levels int) string {
	tree := v.object("tree", mode+" a\x00"+v.raw(entry))
	for range levels {
		tree = v.object("tree", "40000 a\x00"+v.raw(tree)+"40000 b\x00"+v.raw(tree))
	}
	return tree
}

// nested makes a tree of one path of so many names.
func (v *volume) nested(name string, levels int) string {
	tree := v.object("tree", "100644 a\x00"+v.raw(v.object("blob", "x")))
	for range levels {
		tree = v.object("tree", "40000 "+name+"\x00"+v.raw(tree))
	}
	return tree
}

// Attack: some kilobytes of trees have paths without end, or paths of gigabytes. Whoever lists
// them takes the machine's memory, or never ends.
func TestAttackPathsWithoutEnd(t *testing.T) {
	for _, c := range []struct {
		name string
		tree func(v *volume) string
		want error
	}{
		{"files", func(v *volume) string { return v.repeated("100644", v.object("blob", "x"), 60) }, errOutput},
		{"folders without a file", func(v *volume) string { return v.repeated("40000", v.object("tree", ""), 60) }, errOutput},
		{"long names", func(v *volume) string { return v.nested(strings.Repeat("n", 1000), 5) }, errPath},
		{"longer names, and more of them", func(v *volume) string { return v.nested(strings.Repeat("n", 50_000), 80) }, errOutput},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newVolume(t)
			v.secrets = redact.NewFinder([]redact.Named{{Name: "KEY", Value: "c4nary-Value-7f3a9c"}})
			v.commit("40000", "a", c.tree(v))
			commits, notes, folder, err := v.take()
			if err != nil || len(commits) != 1 {
				t.Fatal(commits, notes, err)
			}
			if long := strings.HasPrefix(c.name, "long"); long != commits[0].Unsearched {
				t.Errorf("unsearched is %v: %q", commits[0].Unsearched, notes)
			}
			if _, _, err := Diff(t.Context(), folder, commits[0], commits); !errors.Is(err, c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Attack: names below a path so long that to search them takes minutes. The search ends with the
// time that there is for it, and says so.
func TestAttackASearchWithoutEnd(t *testing.T) {
	tree := strings.Repeat("100644 f\x00"+strings.Repeat("\x01", 20), 1000)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, finder := &Commits{}, redact.NewFinder([]redact.Named{{Name: "KEY", Value: "c4nary-Value-7f3a9c"}})
	if err := c.searchTree(ctx, strings.Repeat("n/", 2000), []byte(tree), 20, finder); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Attack: so many branches that git is started without end, or that a name is sought for each by
// trying all numbers.
func TestAttackBranchesWithoutEnd(t *testing.T) {
	v := newVolume(t)
	tree := v.command(v.host, "rev-parse", "HEAD^{tree}")
	v.agent("update-ref", "HEAD", v.agent("commit-tree", "-p", "HEAD", "-m", "one", tree))
	history := v.history(maxTried)
	var packed strings.Builder
	for i := range 200_000 {
		commit := fmt.Sprintf("%040x", i)
		if i < len(history) {
			commit = history[i]
		}
		digits := strings.Map(func(digit rune) rune { return digit - '0' + 'à' }, fmt.Sprintf("%06d", i))
		fmt.Fprintf(&packed, "%s refs/heads/à%s\n", commit, digits)
	}
	fmt.Fprintf(&packed, "%s refs/heads/%s\n", tree, strings.Repeat("x", 1<<20))
	v.write("packed-refs", packed.String())
	commits, notes, _, err := v.take()
	if err != nil || len(commits) != 1 || len(notes) != 1 || !strings.HasPrefix(notes[0], fmt.Sprint(200_001-maxTried)+" more branches") {
		t.Error(len(commits), notes, err)
	}
}

// history makes commits in the host's repository, and returns all but the last one.
func (v *volume) history(n int) []string {
	v.t.Helper()
	var in strings.Builder
	for i := range n + 1 {
		fmt.Fprintf(&in, "commit refs/heads/long\nmark :%d\ncommitter a <a@b.example> %d +0000\ndata 0\n\n", i+1, i+1)
	}
	cmd := exec.Command("git", "fast-import", "--quiet")
	cmd.Dir, cmd.Env, cmd.Stdin = v.host, environment(), strings.NewReader(in.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		v.t.Fatal(err, string(out))
	}
	return strings.Fields(v.command(v.host, "rev-list", "--reverse", "long~"))
}

// Attack: few bytes that become a file of gigabytes, which git would hold in memory, once or
// for each of its neighbours, to look for differences.
func TestAttackLargeFilesTakeTheMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems limit no memory of a program")
	}
	t.Run("held", func(t *testing.T) {
		v := newVolume(t)
		zeros := string(make([]byte, 80<<20))
		v.tree([3]string{"100644", "a", v.object("blob", zeros+"a")}, [3]string{"100644", "b", v.object("blob", zeros+"b")})
		script := fmt.Sprintf("#!/bin/sh\nulimit -v %d\nexec %s \"$@\"\n", 80<<10, testenv.Program(t, "git"))
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
		if commits, notes, _, err := v.take(); err != nil || len(commits) != 1 {
			t.Errorf("%d %q %v", len(commits), notes, err)
		}
	})
	t.Run("as differences", func(t *testing.T) {
		v := newVolume(t)
		v.write("objects/pack/pack-1.pack", packOfDifference(t, 900<<20))
		if _, notes, _, err := v.take(); err != nil || len(notes) != 1 || !strings.Contains(notes[0], "over limit") {
			t.Errorf("%q %v", notes, err)
		}
	})
}

// packOfDifference is a pack (gitformat-pack(5)) with a file of 64 KiB, and one of so many bytes
// that repeats it.
func packOfDifference(t *testing.T, size uint64) string {
	const blob, difference = 3, 7
	base := strings.Repeat("x", 1<<16)
	number := func(n uint64) []byte { return binary.AppendUvarint(nil, n) }
	var pack bytes.Buffer
	add := func(kind byte, name []byte, content string) {
		n := uint64(len(content))
		pack.WriteByte(kind<<4 | byte(n&15) | 0x80)
		pack.Write(number(n >> 4))
		pack.Write(name)
		w := zlib.NewWriter(&pack)
		if _, err := io.WriteString(w, content); errors.Join(err, w.Close()) != nil {
			t.Fatal(err)
		}
	}
	pack.WriteString("PACK\x00\x00\x00\x02\x00\x00\x00\x02")
	add(blob, nil, base)
	name := sha1.Sum([]byte(fmt.Sprintf("blob %d\x00%s", len(base), base)))
	copyAll := "\x80" // 64 KiB from the first byte on
	add(difference, name[:], string(number(uint64(len(base))))+string(number(size))+strings.Repeat(copyAll, int(size>>16)))
	sum := sha1.Sum(pack.Bytes())
	return pack.String() + string(sum[:])
}

// Attack: files that are alike but for a byte, whose differences git would look for, with time
// and memory without end for large ones. They are put into the bundle as they are.
func TestAttackFilesThatAreAlike(t *testing.T) {
	v := newVolume(t)
	alike := make([]byte, 200<<10)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(alike) // which no compression makes smaller
	one := v.object("blob", string(alike))
	alike[100] ^= 1
	two := v.object("blob", string(alike))
	v.tree([3]string{"100644", "a", one})
	v.agent("repack", "-a", "-d", "-q") // git does not look within one pack
	v.tree([3]string{"100644", "a", one}, [3]string{"100644", "b", two})
	commits, notes, folder, err := v.take()
	if err != nil || len(commits) != 1 {
		t.Fatal(commits, notes, err)
	}
	info, err := os.Stat(filepath.Join(folder, commits[0].Bundle))
	if err != nil || info.Size() < 2*int64(len(alike)) {
		t.Errorf("the bundle of two files of %d bytes: %v, %v", len(alike), info.Size(), err)
	}
}

// Attack: git works on the agent's objects without end. It is ended with its time, also while
// it waits for input, and the reason is the error.
func TestAttackGitWithoutEnd(t *testing.T) {
	v := newVolume(t)
	r := &scratch{dir: filepath.Join(v.host, ".git")}
	late := errors.New("too late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, late)
	defer cancel()
	never, end, err := os.Pipe() // a file: whoever gives another reader must end that, as engine.OpenTar does
	if err != nil {
		t.Fatal(err)
	}
	defer never.Close()
	defer end.Close()
	if _, err := r.git(ctx, never, "cat-file", "--batch"); !errors.Is(err, late) {
		t.Error(err)
	}
}
