package engine

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// Attack: an engine that is stopping sends an archive that ends at any byte, also between two entries and behind a file of
// zeros, which look like the end, and says nothing.
func TestAttackABrokenArchiveTakenForAWholeOne(t *testing.T) {
	var whole bytes.Buffer
	tw := tar.NewWriter(&whole)
	for _, f := range [][2]string{{"0/"}, {"0/HEAD", "ref: refs/heads/main\n"}, {"0/zeros", string(make([]byte, 2048))}, {"0/last", "x"}} {
		if err := tw.WriteHeader(&tar.Header{Name: f[0], Mode: 0o755, Size: int64(len(f[1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tw, f[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	read := func(in io.Reader) (err error) {
		for tr := tar.NewReader(&wholeTar{ReadCloser: io.NopCloser(in)}); err == nil; {
			_, err = tr.Next()
		}
		return err
	}
	pieces := map[string]func(io.Reader) io.Reader{
		"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader,
		"the end with the last bytes": iotest.DataErrReader,
	}
	for name, in := range pieces {
		if err := read(in(bytes.NewReader(whole.Bytes()))); err != io.EOF {
			t.Errorf("%s: a whole one: %v", name, err)
		}
		for n := range whole.Len() {
			if err := read(in(bytes.NewReader(whole.Bytes()[:n]))); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s: %d of %d bytes: %v", name, n, whole.Len(), err)
			}
		}
		if err := read(in(bytes.NewReader(make([]byte, 1024)))); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: no entry: %v", name, err)
		}
	}
}
