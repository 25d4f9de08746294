package volumes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

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
func (n Note) hold(ctx context.Context) (lock *os.File, err error) {
	if err = os.MkdirAll(filepath.Dir(string(n)), 0o700); err == nil {
		lock, err = filelock.Wait(ctx, string(n)+lockSuffix)
	}
	if err != nil {
		return nil, fmt.Errorf("locking the image cache: %w", err)
	}
	return lock, nil
}

// dropLock removes the lock of a process that was killed.
func (n Note) dropLock() {
	f, err := os.OpenFile(string(n)+lockSuffix, os.O_RDWR, 0)
	if err != nil {
		return
	}
	if held, err := filelock.Try(f); err == nil && held {
		_ = filelock.Remove(f)
	} else {
		f.Close()
	}
}

// lockSuffix ends the name of a note's lock, which is there while somebody makes what the
// note is about, and stays when that fails: a volume without a note is found by it.
const lockSuffix = ".lock"

// owner is what a volume says of the note that names it.
func (n Note) owner() string { return short(string(n)) }

// short is the beginning of a text's digest, 64 bits in hex.
func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
