package changes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/internal/atomicfile"
)

// Files of a run's folder.
const (
	PatchFile  = "changes.diff"   // the unified diff
	SetFile    = "changes.json"   // the Set
	FormerFile = "changes.former" // what files held whose former lines the diff does not show, one after the other
)

// file is the form of SetFile.
type file struct {
	SchemaVersion int `json:"schemaVersion"`
	*Set
}

// Save writes the files into a run's folder.
func (s *Set) Save(dir string) error {
	err := errors.Join(
		atomicfile.Write(filepath.Join(dir, PatchFile), 0o600, s.WritePatch),
		atomicfile.Write(filepath.Join(dir, FormerFile), 0o600, s.writeFormer),
		atomicfile.Write(filepath.Join(dir, SetFile), 0o600, func(w io.Writer) error {
			enc := json.NewEncoder(w)
			enc.SetEscapeHTML(false)
			return enc.Encode(file{1, s})
		}),
	)
	if err != nil {
		return fmt.Errorf("keeping what changed: %w", err)
	}
	return nil
}

// Load reads SetFile in a run's folder. The patch is in PatchFile alone.
func Load(dir string) (*Set, error) {
	f := file{Set: &Set{}}
	text, err := os.ReadFile(filepath.Join(dir, SetFile))
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil {
		return nil, fmt.Errorf("reading what changed: %w", err)
	}
	for i := range f.Changes {
		if c := &f.Changes[i]; c.RawPath != nil {
			c.Path = string(c.RawPath)
		}
	}
	return f.Set, nil
}
