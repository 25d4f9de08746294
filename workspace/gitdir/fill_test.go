package gitdir

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A copy of an index that is younger than the index would make git pass over a file
// that changed, without getting longer, within a second of the time that the index
// has for it.
func TestACopyOfAnIndexIsAsOldAsTheIndex(t *testing.T) {
	v := newVolume(t)
	written := time.Now().Add(-time.Hour).Truncate(time.Microsecond)
	if err := os.Chtimes(filepath.Join(v.host, ".git", "index"), written, written); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := v.layout.Fill(tar.NewWriter(&archive), Owner{}); err != nil {
		t.Fatal(err)
	}
	for tr := tar.NewReader(&archive); ; {
		h, err := tr.Next()
		if err != nil {
			t.Fatal(errors.Join(err, errors.New("there is no index")))
		}
		if filepath.Base(h.Name) == "index" {
			if !h.ModTime.Equal(written) {
				t.Errorf("the copy is of %s, the index of %s", h.ModTime, written)
			}
			return
		}
	}
}

// The repository's own author and the format of its core come after ours; with two values of
// a name 'git config user.email me@example.org' fails in the sandbox.
func TestTheAgentCanChangeItsConfiguration(t *testing.T) {
	v := newVolume(t)
	v.command(v.host, "config", "user.name", "Ann")
	v.command(v.host, "config", "user.email", "ann@example.org")
	layout := NewLayout(Look(v.host, []string{".git"}, nil), "/workspace")
	var archive bytes.Buffer
	if err := layout.Fill(tar.NewWriter(&archive), Owner{Name: "Claude", Email: "claude@sandbox.invalid"}); err != nil {
		t.Fatal(err)
	}
	var config []byte
	for tr := tar.NewReader(&archive); config == nil; {
		h, err := tr.Next()
		if err != nil {
			t.Fatal(errors.Join(err, errors.New("there is no configuration")))
		}
		if filepath.Base(h.Name) == "config" {
			if config, err = io.ReadAll(tr); err != nil {
				t.Fatal(err)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, config, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := v.command(v.host, "config", "--file", file, "user.email"); strings.TrimSpace(got) != "ann@example.org" {
		t.Errorf("the author is %s", got)
	}
	for _, name := range []string{"user.name", "user.email", "core.repositoryformatversion", "core.bare"} {
		v.command(v.host, "config", "--file", file, name, "0") // ends the test where git refuses
	}
}

// hooked is an archive during whose writing something happens once, at the first text.
type hooked struct {
	bytes.Buffer
	text   string
	happen func()
}

func (h *hooked) Write(p []byte) (int, error) {
	if h.happen != nil && bytes.Contains(p, []byte(h.text)) {
		h.happen()
		h.happen = nil
	}
	return h.Buffer.Write(p)
}

// 'git gc' on the host moves refs into packed-refs while they are copied. A branch that is in
// neither copy would make the agent's first commit a history of its own.
func TestRefsThatGitPacksMeanwhileAreCopied(t *testing.T) {
	v := newVolume(t)
	commit := strings.TrimSpace(v.command(v.host, "rev-parse", "HEAD"))
	archive := &hooked{text: "/refs", happen: func() { v.command(v.host, "pack-refs", "--all", "--prune") }}
	if err := v.layout.Fill(tar.NewWriter(archive), Owner{}); err != nil {
		t.Fatal(err)
	}
	if archive.happen != nil {
		t.Fatal("no refs are in the archive")
	}
	if !strings.Contains(archive.String(), commit) {
		t.Errorf("the commit %s of the branch is in no ref of the copy", commit)
	}
}
