// Package lock reads and writes sbx-image.lock.json: everything from outside
// that an image is made of, by digest. Together with the policy file and the
// options of a build it decides every byte of the image, so the image's digest
// follows from it without a network, and a pull request shows what changes.
//
//	sbx-image.lock.json ─► Parse ─► Lock ─► Format ─► the same bytes
package lock

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
)

// File is the lock's name in a project's folder.
const File = "sbx-image.lock.json"

const schemaVersion = 1

// Lock is the content of the file.
type Lock struct {
	SchemaVersion int       `json:"schemaVersion"` // 1
	SourceDate    time.Time `json:"sourceDate"`    // time of everything in the image; whole seconds, UTC
	Base          Base      `json:"base"`
	Claude        *Claude   `json:"claude,omitempty"` // nil = an image without Claude Code
	Init          Init      `json:"init"`
}

// Base is the image that everything is laid on.
type Base struct {
	Ref       string         `json:"ref"`             // as the user wrote it; see package base for its forms
	Digest    v1.Hash        `json:"digest,omitzero"` // of the index that the platforms came from; zero = no index
	Platforms []BasePlatform `json:"platforms"`       // ordered by Platform
}

// BasePlatform is the base's image for one platform.
type BasePlatform struct {
	Platform string    `json:"platform"`      // "linux/amd64", "linux/arm64"
	Ref      string    `json:"ref,omitempty"` // its own source, when the platforms have different ones
	Digest   v1.Hash   `json:"digest"`        // of the manifest; of an archive or engine image its id; of a rootfs its file
	Config   v1.Config `json:"config"`        // what a sandbox takes over: Env, Labels, WorkingDir, StopSignal, Shell
	Layers   []Layer   `json:"layers"`        // lowest first
	Sandbox  Layer     `json:"sandbox"`       // made from the base: the agent's account, no program with root's rights
	Packages int       `json:"packages"`      // number of Debian packages, for readers of a diff
}

// Layer is a compressed layer.
type Layer struct {
	MediaType types.MediaType `json:"mediaType"`
	Digest    v1.Hash         `json:"digest"` // of the blob
	Size      int64           `json:"size"`   // of the blob, in bytes
	DiffID    v1.Hash         `json:"diffID"` // of the uncompressed tar
}

// Claude is Claude Code as npm publishes it.
type Claude struct {
	Version   string           `json:"version"`
	Platforms []ClaudePlatform `json:"platforms"` // ordered by Platform
}

// ClaudePlatform is the tarball for one platform. The file is the layer.
type ClaudePlatform struct {
	Platform  string  `json:"platform"`
	Package   string  `json:"package"`   // npm's name
	Integrity string  `json:"integrity"` // sha512-BASE64 of the file, as npm states it
	SHA256    v1.Hash `json:"sha256"`    // of the file
	Size      int64   `json:"size"`      // of the file, in bytes
	DiffID    v1.Hash `json:"diffID"`    // of the unpacked tar
}

// Init is the sbx-init that sbx-devc carries.
type Init struct {
	Version string            `json:"version"`
	SHA256  map[string]string `json:"sha256"` // platform -> hex of the program
}

// maxFile bounds a lock, in bytes.
const maxFile = 4 << 20

// Read reads the lock in a file. One that is wrong has the exit code 65.
func Read(file string) (Lock, error) {
	data, err := filekind.Read(file, maxFile)
	if err != nil {
		return Lock{}, fmt.Errorf("reading the lock: %w", err)
	}
	l, err := Parse(data)
	if err != nil {
		return Lock{}, exitcode.With(exitcode.Config, fmt.Errorf("%s: %w", file, err))
	}
	return l, nil
}

// Parse reads a lock. Unknown keys, wrong digests and platforms that do not
// fit together are errors.
func Parse(data []byte) (Lock, error) {
	var l Lock
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err := dec.Decode(&l)
	if err == nil {
		if _, extra := dec.Token(); !errors.Is(extra, io.EOF) {
			err = errors.New("something follows the lock")
		}
	}
	if err == nil {
		err = l.check()
	}
	if err != nil {
		return Lock{}, diag.WithHint(fmt.Errorf("reading the lock: %w", err), "make a new one with 'sbx-devc image lock'")
	}
	return l, nil
}

// Format returns the file's content. Equal locks give equal bytes.
func (l Lock) Format() ([]byte, error) {
	l.SchemaVersion = schemaVersion
	if err := l.check(); err != nil {
		return nil, fmt.Errorf("writing the lock: %w", err)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(l); err != nil {
		return nil, fmt.Errorf("writing the lock: %w", err)
	}
	return out.Bytes(), nil
}

// SaysSame reports whether both say the same but for their date, which alone is no news.
func (l Lock) SaysSame(old Lock) bool {
	l.SourceDate = old.SourceDate
	text, err := l.Format()
	oldText, oldErr := old.Format()
	return err == nil && oldErr == nil && bytes.Equal(text, oldText)
}

// PlatformNames returns the base's platforms.
func (l Lock) PlatformNames() []string {
	var names []string
	for _, p := range l.Base.Platforms {
		names = append(names, p.Platform)
	}
	return names
}

// ClaudeFor returns the tarball for a platform.
func (l Lock) ClaudeFor(platform string) (ClaudePlatform, bool) {
	if l.Claude != nil {
		for _, p := range l.Claude.Platforms {
			if p.Platform == platform {
				return p, true
			}
		}
	}
	return ClaudePlatform{}, false
}

// Arch returns the architecture of a platform: "amd64" of "linux/amd64".
func Arch(platform string) string { return strings.TrimPrefix(platform, "linux/") }

func (l Lock) check() error {
	if l.SchemaVersion != schemaVersion {
		return fmt.Errorf("schemaVersion is %d, this sbx-devc knows %d", l.SchemaVersion, schemaVersion)
	}
	if l.SourceDate.IsZero() || l.SourceDate.Nanosecond() != 0 || l.SourceDate.Location() != time.UTC {
		return errors.New("sourceDate is not a whole second in UTC")
	}
	if len(l.Base.Platforms) == 0 {
		return errors.New("the base has no platform")
	}
	last := ""
	for _, p := range l.Base.Platforms {
		if a := Arch(p.Platform); a != "amd64" && a != "arm64" {
			return fmt.Errorf("the base's platform %q is neither linux/amd64 nor linux/arm64", p.Platform)
		}
		if p.Platform <= last {
			return errors.New("the base's platforms are not in order")
		}
		last = p.Platform
		if err := checkHash(p.Digest); err != nil {
			return fmt.Errorf("base for %s: %w", p.Platform, err)
		}
		for _, layer := range append([]Layer{p.Sandbox}, p.Layers...) {
			if err := errors.Join(checkHash(layer.Digest), checkHash(layer.DiffID)); err != nil {
				return fmt.Errorf("layers of the base for %s: %w", p.Platform, err)
			}
			if layer.Size <= 0 {
				return fmt.Errorf("layers of the base for %s: a size of %d", p.Platform, layer.Size)
			}
		}
		if _, ok := l.Init.SHA256[p.Platform]; !ok {
			return fmt.Errorf("no sbx-init for %s", p.Platform)
		}
		if _, ok := l.ClaudeFor(p.Platform); l.Claude != nil && !ok {
			return fmt.Errorf("no Claude Code for %s", p.Platform)
		}
	}
	if l.Claude == nil {
		return nil
	}
	for _, p := range l.Claude.Platforms {
		if err := errors.Join(checkHash(p.SHA256), checkHash(p.DiffID)); err != nil {
			return fmt.Errorf("tarball for %s: %w", p.Platform, err)
		}
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(p.Integrity, "sha512-"))
		if err != nil || len(sum) != 64 || !strings.HasPrefix(p.Integrity, "sha512-") || p.Size <= 0 {
			return fmt.Errorf("tarball for %s: integrity %q is no sha512, or the size is missing", p.Platform, p.Integrity)
		}
	}
	return nil
}

func checkHash(h v1.Hash) error {
	if h.Algorithm != "sha256" || len(h.Hex) != 64 {
		return fmt.Errorf("%q is no sha256 digest", h.String())
	}
	return nil
}
