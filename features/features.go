// Package features holds two dev container Features in the standard layout, for dev
// containers that somebody else made: "firewall" puts the firewall into one, and
// "claude" Claude Code with a volume for its login.
//
//	embedded src/ + carried sbx-init         -> Archive -> OCI artifact
//	                                        -> Files   -> .devcontainer of a project
//	official CLI: install.sh at build, entrypoint.sh at every start -> sbx-init
package features

import (
	"archive/tar"
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/jsonc"
)

//go:embed src
var embedded embed.FS

// Feature is one dev container Feature.
type Feature struct {
	ID       string `json:"id"`
	Version  string `json:"version"`
	Metadata []byte `json:"-"` // devcontainer-feature.json
}

// Firewall returns the Feature that raises the firewall.
func Firewall() (*Feature, error) { return load("firewall") }

// Claude returns the Feature that installs Claude Code.
func Claude() (*Feature, error) { return load("claude") }

func load(id string) (*Feature, error) {
	text, err := embedded.ReadFile("src/" + id + "/devcontainer-feature.json")
	if err != nil {
		return nil, err
	}
	f := &Feature{Metadata: text}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("the Feature %s: %w", id, err)
	}
	return f, nil
}

// IsFirewall reports whether a devcontainer-feature.json is that of the Feature
// firewall, of any version.
func IsFirewall(metadata []byte) bool {
	return strings.HasPrefix(textAt(metadata, "entrypoint"), "/usr/local/share/sbx/")
}

// IsClaude does the same for the Feature claude.
func IsClaude(metadata []byte) bool {
	return strings.HasPrefix(textAt(metadata, "containerEnv", "CLAUDE_CONFIG_DIR"), "/var/lib/claude/")
}

// textAt returns the text of a member, "" where there is none.
func textAt(metadata []byte, names ...string) string {
	doc, _ := jsonc.Parse("", metadata)
	if doc == nil {
		return ""
	}
	n := doc.Root
	for _, name := range names {
		n = n.Member(name)
	}
	text, _ := n.Str()
	return text
}

// File is one file of a Feature's folder.
type File struct {
	Name    string
	Content []byte
}

// Files returns what the Feature's folder holds, sorted by name. The Feature firewall
// has the sbx-init that this program carries for both architectures at the end; the
// error wraps carried.ErrNotCarried when it carries none.
func (f *Feature) Files() ([]File, error) {
	var files []File
	err := fs.WalkDir(embedded, "src/"+f.ID, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := embedded.ReadFile(name)
		files = append(files, File{name[len("src/"+f.ID+"/"):], content})
		return err
	})
	if err != nil {
		return nil, err
	}
	if f.ID != "firewall" {
		return files, nil
	}
	for _, arch := range []string{"amd64", "arm64"} {
		packed, err := carried.Packed(arch)
		if err != nil {
			return nil, err
		}
		files = append(files, File{"sbx-init-linux-" + arch + ".gz", packed})
	}
	return files, nil
}

// Archive returns the Feature as the registry gets it: its files in one tar. The
// same program gives the same bytes. Errors are those of Files.
func (f *Feature) Archive() ([]byte, error) {
	files, err := f.Files()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, file := range files {
		header := &tar.Header{Name: "./" + file.Name, Mode: 0o755, Size: int64(len(file.Content)), ModTime: time.Unix(0, 0),
			Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(file.Content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
