package decision

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/claude-sandbox/internal/atomicfile"
)

// takenFile is in the run's folder.
const takenFile = "decided.json"

// Taken are the decisions about a run so far: whether a hunk stays, by its ID, and whether
// a branch was taken, by its name.
type Taken map[string]bool

// Read reads the decisions in a run's folder; none is no error.
func Read(folder string) (Taken, error) {
	text, err := os.ReadFile(filepath.Join(folder, takenFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Taken{}, nil
	}
	t := Taken{}
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the decisions about the run: %w", err)
	}
	return t, nil
}

// Refused counts the hunks that do not stay.
func (t Taken) Refused() (n int) {
	for id, stays := range t {
		if !stays && !strings.Contains(id, "/") { // of a branch
			n++
		}
	}
	return n
}

// Save keeps the decisions in a run's folder.
func (t Taken) Save(folder string) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(filepath.Join(folder, takenFile), 0o600, text); err != nil {
		return fmt.Errorf("keeping the decisions about the run: %w", err)
	}
	return nil
}
