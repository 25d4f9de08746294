package volumes

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

// Note is a file of the user's cache folder that says what this user made on an
// engine: the id of an image or the name of a volume.
type Note string

// NoteOf names the note in the cache folder about what was made of content on the
// engine host.
func NoteOf(cache, host, kind, content string) Note {
	return Note(filepath.Join(cache, notes, kind+"-"+short(host+"\n"+content)))
}

// notes is the folder of the notes in the cache folder.
const notes = "made"

// Read returns "" where there is no note.
func (n Note) Read() string {
	text, err := os.ReadFile(string(n))
	if err != nil {
		return ""
	}
	return string(text)
}

// Write replaces the note's text.
func (n Note) Write(text string) error {
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
func (n Note) hold() (release func(), err error) {
	if err := os.MkdirAll(filepath.Dir(string(n)), 0o700); err != nil {
		return nil, fmt.Errorf("writing the image cache: %w", err)
	}
	f, err := os.OpenFile(string(n)+lockSuffix, os.O_CREATE|os.O_RDWR, 0o600)
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

// lockSuffix ends the name of a note's lock.
const lockSuffix = ".lock"

// owner is what a volume says of the note that names it.
func (n Note) owner() string { return short(string(n)) }

// short is the beginning of a text's digest, 64 bits in hex.
func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
