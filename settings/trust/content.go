package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/org/claude-sandbox/settings"
)

// Content is everything that decides what settings open: texts by their names,
// relative to the settings' folder.
type Content map[string][]byte

// Of is the content of settings as they were read: their text, and the lists that
// they name with "@".
func Of(file *settings.File) Content {
	c := Content{filepath.Base(file.Path): file.Source}
	for name, text := range file.Lists {
		c["@"+name] = text
	}
	return c
}

// With returns a copy in which name has another text.
func (c Content) With(name string, text []byte) Content {
	c = maps.Clone(c)
	c[name] = text
	return c
}

// Digest is the SHA-256 of the content, in hex.
func (c Content) Digest() string {
	sum := sha256.Sum256(c.encode())
	return hex.EncodeToString(sum[:])
}

// encode writes the content in the one form that it has: names are sorted.
func (c Content) encode() []byte {
	text, err := json.Marshal(c) // bytes are in base64, so that every text is told from every other one
	if err != nil {
		panic(err) // a map of texts can be written
	}
	return text
}

// Diff shows what has changed since old as a unified diff, "" for nothing. The texts
// are a project's: show them with package visible.
func (c Content) Diff(old Content) string {
	var out bytes.Buffer
	names := maps.Clone(c)
	maps.Copy(names, old)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out.Write(diff.Diff("accepted/"+name, old[name], "now/"+name, c[name]))
	}
	return out.String()
}
