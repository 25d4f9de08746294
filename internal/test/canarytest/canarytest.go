// Package canarytest looks for a secret of a test where nothing may show it.
//
//	secret ─ Forms ─► texts that show it ─ Text, Folder ─► a test that fails, with the place
//
// Each scenario with an engine ends with such a search, so that a new file or message
// cannot show a secret unnoticed.
package canarytest

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// maxFile is the size of a file, in bytes, beyond which Folder does not read it.
const maxFile = 1 << 20

// Forms are texts that show a secret: as it is, and as programs write it.
func Forms(secret string) []string {
	secret = strings.TrimSpace(secret)
	inJSON, _ := json.Marshal(secret) // a string always has a form
	base := base64.StdEncoding.EncodeToString([]byte(secret))
	return []string{secret, strings.Trim(string(inJSON), `"`), base[:len(base)-4], url.QueryEscape(secret), hex.EncodeToString([]byte(secret))}
}

// Text fails the test when a text has one of the forms. where is for the message.
func Text(t testing.TB, where string, text []byte, forms []string) {
	t.Helper()
	for _, form := range forms {
		if bytes.Contains(text, []byte(form)) {
			t.Errorf("%s has %q", where, form)
			return
		}
	}
}

// Folder does so with the names and contents of the regular files in a folder, which may
// come and go.
func Folder(t testing.TB, folder string, forms []string) {
	t.Helper()
	_ = filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		Text(t, "the name "+name, []byte(name), forms)
		info, infoErr := os.Lstat(name)
		if err != nil || infoErr != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
			return nil
		}
		if text, err := os.ReadFile(name); err == nil {
			Text(t, name, text, forms)
		}
		return nil
	})
}
