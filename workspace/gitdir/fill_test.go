package gitdir

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"path/filepath"
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
