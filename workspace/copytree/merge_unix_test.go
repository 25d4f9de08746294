//go:build unix

package copytree

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fresh is a tree for a run with some files, next to which nothing is.
func fresh(t *testing.T) string {
	t.Helper()
	tree := filepath.Join(t.TempDir(), "tree")
	for name, text := range map[string]string{"a": "one", "b": "two", "d/c": "three", "d/e/f": "four", ".git/config": "ours"} {
		write(t, filepath.Join(tree, name), text)
	}
	if err := os.Symlink("a", filepath.Join(tree, "link")); err != nil {
		t.Fatal(err)
	}
	return tree
}

// listing is a tree as text: types, permissions and contents.
func listing(t *testing.T, tree string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(tree, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(tree, name)
		text, _ := os.ReadFile(name)
		if info.Mode()&fs.ModeSymlink != 0 {
			leads, _ := os.Readlink(name)
			text = []byte("-> " + leads)
		}
		fmt.Fprintf(&out, "%v %s %s\n", info.Mode(), rel, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func packed(t *testing.T, tree string) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	tw := tar.NewWriter(&out)
	if err := errors.Join(Pack(t.Context(), tw, tree, "0", 1000, 1000), tw.Close()); err != nil {
		t.Fatal(err)
	}
	return &out
}

// archiveOf is an archive as an engine makes one of a volume.
func archiveOf(t *testing.T, entries ...tar.Header) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	tw := tar.NewWriter(&out)
	for _, h := range append([]tar.Header{{Name: "0/", Typeflag: tar.TypeDir, Mode: 0o755}}, entries...) {
		text := h.Uname // the content
		h.Uname, h.Size, h.Format = "", int64(len(text)), tar.FormatPAX
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		if err := tw.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

func file(name, text string) tar.Header {
	return tar.Header{Name: "0/" + name, Typeflag: tar.TypeReg, Uname: text}
}
func folder(name string) tar.Header {
	return tar.Header{Name: "0/" + name + "/", Typeflag: tar.TypeDir, Mode: 0o755}
}
func link(name, leads string) tar.Header {
	return tar.Header{Name: "0/" + name, Typeflag: tar.TypeSymlink, Linkname: leads}
}

var own = Back{UID: -1, GID: -1}

// A tree that comes back as it went is not written to, and one that changed is what it
// became, whatever the types were.
func TestATreeComesBack(t *testing.T) {
	tree := fresh(t)
	before, err := os.Stat(filepath.Join(tree, "d/e/f"))
	if err != nil {
		t.Fatal(err)
	}
	was := listing(t, tree)
	if notes, err := Merge(t.Context(), tree, packed(t, tree), own); err != nil || len(notes) > 0 || listing(t, tree) != was {
		t.Fatalf("%v, %q:\n%s", err, notes, listing(t, tree))
	}
	other := fresh(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Remove(filepath.Join(other, "b")))
	must(os.RemoveAll(filepath.Join(other, "a")))
	write(t, filepath.Join(other, "a/in"), "a folder now")
	must(os.RemoveAll(filepath.Join(other, "d/c")))
	must(os.Symlink("../a", filepath.Join(other, "d/c")))
	must(os.Remove(filepath.Join(other, "link")))
	write(t, filepath.Join(other, "link"), "a file now")
	must(os.Chmod(filepath.Join(other, "link"), 0o755))
	for _, dir := range []string{tree, other} {
		write(t, filepath.Join(dir, "n"), "n") // as long as its name
		write(t, filepath.Join(dir, "kept/c"), "three")
	}
	must(os.Symlink("n", filepath.Join(tree, "was-link")))
	write(t, filepath.Join(other, "was-link"), "n")
	must(os.Symlink("kept", filepath.Join(tree, "was-way")))
	write(t, filepath.Join(other, "was-way/c"), "three")
	long := strings.Repeat("x", 100<<10)
	write(t, filepath.Join(tree, "long"), long+"a")
	write(t, filepath.Join(other, "long"), long+"b")
	write(t, filepath.Join(other, ".git/config"), "the agent's")
	want := strings.Replace(listing(t, other), "the agent's", "ours", 1)
	notes, err := Merge(t.Context(), tree, packed(t, other), Back{UID: -1, Keep: []string{".git"}})
	if err != nil || len(notes) > 0 || listing(t, tree) != want {
		t.Errorf("%v, %q:\n%s\nwant\n%s", err, notes, listing(t, tree), want)
	}
	if now, err := os.Stat(filepath.Join(tree, "d/e/f")); err != nil || !os.SameFile(now, before) || !now.ModTime().Equal(before.ModTime()) {
		t.Errorf("what did not change was written: %v", err)
	}
	if _, err := os.Lstat(tree + stagedSuffix); err == nil {
		t.Error("the folder of what is new stays")
	}
}

// Attack: the archive leads out of the tree, by links, names and hard links, in any order.
func TestAttackAnArchiveWritesElsewhere(t *testing.T) {
	for name, entries := range map[string][]tar.Header{
		"through a link":          {link("way", "../../outside"), file("way/canary", "evil")},
		"through a link it had":   {link("link", "../outside"), folder("link"), file("link/canary", "evil")},
		"through a link in a way": {folder("d"), link("d/e", "../../outside"), file("d/e/canary", "evil")},
		"a file, then through it": {file("x", "y"), file("x/canary", "evil")},
		"dots": {file("../outside/canary", "evil"), file("../../outside/canary", "evil"),
			file("d/../../../outside/canary", "evil")},
		"absolute": {{Name: "/outside/canary", Typeflag: tar.TypeReg, Uname: "evil"}},
		"a hard link to a neighbor": {{Name: "0/canary", Typeflag: tar.TypeLink, Linkname: "0/../outside/canary"},
			{Name: "0/c2", Typeflag: tar.TypeLink, Linkname: "../outside/canary"}},
		"a hard link to a link":  {link("l", "../outside/canary"), {Name: "0/canary", Typeflag: tar.TypeLink, Linkname: "0/l"}},
		"a hard link it has not": {{Name: "0/h", Typeflag: tar.TypeLink, Linkname: "0/.git/config"}},
		"a device": {{Name: "0/dev", Typeflag: tar.TypeBlock, Devmajor: 8},
			{Name: "0/char", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}, {Name: "0/pipe", Typeflag: tar.TypeFifo}},
		"the top is a link": {link(".", "../outside")},
		"the top is a file": {file(".", "x")},
	} {
		t.Run(name, func(t *testing.T) {
			tree := fresh(t)
			outside := filepath.Join(filepath.Dir(tree), "outside")
			write(t, filepath.Join(outside, "canary"), "canary")
			_, err := Merge(t.Context(), tree, archiveOf(t, entries...), Back{UID: -1, Keep: []string{".git"}})
			if err != nil {
				t.Errorf("%v", err)
			}
			if text, _ := os.ReadFile(filepath.Join(outside, "canary")); string(text) != "canary" {
				t.Errorf("the canary is %q", text)
			}
			entries, _ := os.ReadDir(outside)
			around, _ := os.ReadDir(filepath.Dir(tree))
			if len(entries) != 1 || len(around) != 2 {
				t.Errorf("around the tree are %v and %v", around, entries)
			}
			err = filepath.WalkDir(tree, func(name string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				info, err := d.Info()
				if special := fs.ModeDevice | fs.ModeNamedPipe | fs.ModeSocket | fs.ModeSetuid; err == nil && info.Mode()&special != 0 {
					t.Errorf("%s is %v", name, info.Mode())
				}
				if text, _ := os.ReadFile(name); info.Mode().IsRegular() && string(text) == "canary" {
					t.Errorf("%s is the canary", name)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
			if text, _ := os.ReadFile(filepath.Join(tree, ".git/config")); string(text) != "ours" {
				t.Errorf(".git/config is %q", text)
			}
		})
	}
}

// Attack: one name twice, and folders in folders without end. The first counts, and the rest
// is left out with a note.
func TestAttackAnArchiveNamesTwice(t *testing.T) {
	tree := fresh(t)
	entries := []tar.Header{file("twice", "first"), file("twice", "second")}
	for deep := range maxDepth + 1 {
		entries = append(entries, folder("x"+strings.Repeat("/x", deep)))
	}
	notes, err := Merge(t.Context(), tree, archiveOf(t, entries...), own)
	if text, _ := os.ReadFile(filepath.Join(tree, "twice")); err != nil || string(text) != "first" || len(notes) != 1 ||
		!strings.Contains(notes[0], "2 pipes") {
		t.Errorf("%v, %q: %q", err, text, notes)
	}
}

// Attack: rights that would act here, and permissions that hide a file from its reader.
func TestAttackAnArchiveSetsRights(t *testing.T) {
	tree := fresh(t)
	up, shut, dir := file("up", "x"), file("shut", "x"), folder("closed")
	up.Mode, shut.Mode, dir.Mode = 0o6755, 0o200, 0o1000
	shut.Name = "0/closed/shut"
	if _, err := Merge(t.Context(), tree, archiveOf(t, up, dir, shut), own); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"up": 0o755, "closed": fs.ModeDir | 0o700, "closed/shut": 0o600} {
		if info, err := os.Lstat(filepath.Join(tree, name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// Attack: an archive of more than a tree may hold, and one that ends in the middle, change
// nothing.
func TestAttackAnArchiveIsTooMuchOrNotWhole(t *testing.T) {
	whole := packed(t, fresh(t)).Bytes()
	huge := archiveOf(t, file("b", "evil")).Bytes()
	huge = huge[:len(huge)-1024] // without its end
	var header bytes.Buffer
	if err := tar.NewWriter(&header).WriteHeader(&tar.Header{Name: "0/bomb", Typeflag: tar.TypeReg, Size: 1 << 40, Mode: 0o644,
		Format: tar.FormatPAX}); err != nil {
		t.Fatal(err)
	}
	links := []tar.Header{file("b", strings.Repeat("x", 1<<20))}
	for i := range 4 {
		links = append(links, tar.Header{Name: fmt.Sprintf("0/h%d", i), Typeflag: tar.TypeLink, Linkname: "0/b"})
	}
	tree := fresh(t)
	same := archiveOf(t, append([]tar.Header{file("b", "two")}, tar.Header{Name: "0/h", Typeflag: tar.TypeLink, Linkname: "0/b"})...)
	for name, c := range map[string]struct {
		archive io.Reader
		want    error
	}{
		"a bomb":             {io.MultiReader(bytes.NewReader(huge), &header, zeros{}), ErrTooLarge},
		"cut in a file":      {bytes.NewReader(whole[:len(whole)-2000]), io.ErrUnexpectedEOF},
		"nothing":            {bytes.NewReader(nil), nil},
		"no folder":          {archiveOf(t), nil},
		"no archive":         {strings.NewReader(strings.Repeat("x", 2048)), tar.ErrHeader},
		"broken off":         {io.MultiReader(bytes.NewReader(huge), brokenOff{}), errBroken},
		"the run is stopped": {bytes.NewReader(whole), context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.want == context.Canceled {
				cancel()
			}
			if name == "no folder" {
				c.archive = bytes.NewReader(make([]byte, 1024))
			}
			was := listing(t, tree)
			_, err := Merge(ctx, tree, c.archive, own)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if listing(t, tree) != was {
				t.Errorf("the tree is\n%s", listing(t, tree))
			}
		})
	}
	if _, err := Merge(t.Context(), tree, same, own); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(tree, "h")); err != nil || string(text) != "two" {
		t.Errorf("a hard link is %q, %v", text, err)
	}
	if _, err := merge(t.Context(), tree, archiveOf(t, links...), own, 3<<20); !errors.Is(err, ErrTooLarge) {
		t.Errorf("hard links of one file: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

var errBroken = errors.New("connection reset")

type brokenOff struct{}

func (brokenOff) Read([]byte) (int, error) { return 0, errBroken }
