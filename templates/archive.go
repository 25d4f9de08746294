package templates

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"time"
)

// Archive returns the template as the registry gets it: a tar archive of its
// folder, the same bytes on every machine.
func (t *Template) Archive() ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := fs.WalkDir(t.files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(t.files, name)
		if err != nil {
			return err
		}
		if name == manifestFile {
			text = t.manifest
		}
		header := &tar.Header{Name: "./" + name, Mode: 0o644, Size: int64(len(text)), ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg,
			Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("packing the template %s: %w", t.ID, err)
	}
	return b.Bytes(), nil
}

// Digest names the template's content: the digest of its archive.
func (t *Template) Digest() string {
	archive, err := t.Archive()
	if err != nil {
		panic(err) // embedded files can be read, and memory be written
	}
	sum := sha256.Sum256(archive)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Value returns what the option is with these choices; "" when the template has
// no such option.
func (t *Template) Value(name string, options map[string]string) string {
	if value, ok := options[name]; ok {
		return value
	}
	return t.Options[name].Default
}
