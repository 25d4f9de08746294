package engine

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// Attack: an engine that is stopping sends an archive without its entries, or without its end, and says nothing.
func TestAttackABrokenArchiveTakenForAWholeOne(t *testing.T) {
	var whole bytes.Buffer
	tw := tar.NewWriter(&whole)
	for name, text := range map[string]string{"0/": "", "0/HEAD": "ref: refs/heads/main\n"} {
		if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tw, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	read := func(text []byte) error {
		for _, in := range []io.Reader{bytes.NewReader(text), iotest.OneByteReader(bytes.NewReader(text)), iotest.DataErrReader(bytes.NewReader(text))} {
			tr := tar.NewReader(&wholeTar{ReadCloser: io.NopCloser(in)})
			var err error
			for err == nil {
				_, err = tr.Next()
			}
			if err != io.EOF {
				return err
			}
		}
		return nil
	}
	if err := read(whole.Bytes()); err != nil {
		t.Errorf("a whole one: %v", err)
	}
	for name, text := range map[string][]byte{"no entry": make([]byte, tarEnd), "nothing": nil, "no end": whole.Bytes()[:512],
		"half an end": whole.Bytes()[:whole.Len()-512], "cut in a block": whole.Bytes()[:700]} {
		if err := read(text); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
