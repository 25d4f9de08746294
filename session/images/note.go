package images

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/filelock"
)

// note is a file of the cache folder that says what this user made on an engine:
// the id of an image or the name of a volume.
type note string

// note names the note about what was made of content on the engine.
func (i Images) note(kind, content string) note {
	return note(filepath.Join(i.Cache, "made", kind+"-"+short([]byte(i.Engine.Host()+"\n"+content))))
}

// read returns "" where there is no note.
func (n note) read() string {
	text, err := os.ReadFile(string(n))
	if err != nil {
		return ""
	}
	return string(text)
}

func (n note) write(text string) error {
	err := os.MkdirAll(filepath.Dir(string(n)), 0o700)
	if err == nil {
		err = atomicfile.WriteBytes(string(n), 0o600, []byte(text))
	}
	if err != nil {
		return diag.WithHint(fmt.Errorf("writing the image cache: %w", err), "set XDG_CACHE_HOME to a folder that you may write to")
	}
	return nil
}

// hold waits until no other process makes what the note is about.
func (n note) hold() (release func(), err error) {
	if err := os.MkdirAll(filepath.Dir(string(n)), 0o700); err != nil {
		return nil, fmt.Errorf("writing the image cache: %w", err)
	}
	f, err := os.OpenFile(string(n)+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("writing the image cache: %w", err)
	}
	for {
		held, err := filelock.Try(f)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("locking the image cache: %w", err)
		}
		if held {
			return func() { f.Close() }, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// short is the beginning of content's digest, 64 bits in hex.
func short(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}
