// Package features holds the dev container Feature "firewall", in the standard
// layout, which puts the firewall into a dev container that somebody else made.
//
//	embedded src/firewall + carried sbx-init -> Archive -> OCI artifact
//	official CLI: install.sh at build, entrypoint.sh at every start -> sbx-init
package features

import (
	"archive/tar"
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"time"

	"github.com/org/claude-sandbox/internal/carried"
)

//go:embed src
var embedded embed.FS

// Feature is one dev container Feature.
type Feature struct {
	ID       string `json:"id"`
	Version  string `json:"version"`
	Metadata []byte `json:"-"` // devcontainer-feature.json
}

// Firewall returns the Feature.
func Firewall() (*Feature, error) {
	text, err := embedded.ReadFile("src/firewall/devcontainer-feature.json")
	if err != nil {
		return nil, err
	}
	f := &Feature{Metadata: text}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("the Feature firewall: %w", err)
	}
	return f, nil
}

// Archive returns the Feature as the registry gets it, with the sbx-init that
// this program carries for both architectures. The same program gives the same
// bytes. The error wraps carried.ErrNotCarried when it carries none.
func (f *Feature) Archive() ([]byte, error) {
	files := map[string][]byte{}
	names := []string{}
	err := fs.WalkDir(embedded, "src/"+f.ID, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		short := name[len("src/"+f.ID+"/"):]
		files[short], err = embedded.ReadFile(name)
		names = append(names, short)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, arch := range []string{"amd64", "arm64"} {
		packed, err := carried.Packed(arch)
		if err != nil {
			return nil, err
		}
		name := "sbx-init-linux-" + arch + ".gz"
		files[name], names = packed, append(names, name)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range names {
		header := &tar.Header{Name: "./" + name, Mode: 0o755, Size: int64(len(files[name])), ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
