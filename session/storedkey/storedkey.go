package storedkey

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/userdir"
)

// fileName is the file of the key in the user's folder.
const fileName = "token"

// maxKey bounds the file, in bytes.
const maxKey = 4 << 10

// form is how keys and tokens are written.
var form = regexp.MustCompile(`^[A-Za-z0-9._~+/=-]{8,}$`)

// File is the path of the key in the user's folder.
func File(own userdir.Dir) string { return own.File(fileName) }

// Check errs on a text that is no key to keep. The error does not show it.
func Check(key string) error {
	switch {
	case strings.HasPrefix(key, "sk-ant-ort"):
		return diag.WithHint(errors.New("that is a refresh token, which makes new tokens"), "take the token that 'claude setup-token' prints")
	case strings.ContainsAny(key, "{}\""):
		return diag.WithHint(errors.New("that is JSON and no token"), "give the token alone, as 'claude setup-token' prints it")
	case !form.MatchString(key):
		return diag.WithHint(errors.New("that is no token: it is too short, or has characters that no token has"),
			"paste the line that 'claude setup-token' prints, and nothing else")
	}
	return nil
}

// Save keeps a key, in the place of one that is there.
func Save(own userdir.Dir, key string) error {
	key = strings.TrimSpace(key)
	err := Check(key)
	if err == nil {
		err = errors.Join(own.Make(), own.Check(""))
	}
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(File(own), 0o600, []byte(key+"\n"))
}

// Read returns the key for a run on the project in a folder, "" when there is none. One
// that others may read is an error.
func Read(own userdir.Dir, project string) (string, error) {
	name := File(own)
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", diag.WithHint(fmt.Errorf("%s is not a regular file", name), "move it away, and log in again")
	}
	if err := errors.Join(own.Check(project), userdir.CheckOwner(name, info)); err != nil {
		return "", err
	}
	if userdir.OthersRead(info) {
		return "", diag.WithHint(fmt.Errorf("others than you can read %s (mode %04o)", name, info.Mode().Perm()),
			"chmod 600 %q, and make a new token if somebody else uses this machine", name)
	}
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if now, err := file.Stat(); err != nil || !os.SameFile(now, info) {
		return "", errors.Join(err, fmt.Errorf("%s was replaced while it was read", name))
	}
	text, err := io.ReadAll(io.LimitReader(file, maxKey))
	key := strings.TrimSpace(string(text))
	if err == nil {
		err = Check(key)
	}
	if err != nil {
		return "", diag.OrHint(fmt.Errorf("%s: %w", name, err), "log in again: sbx-devc login")
	}
	return key, nil
}

// Remove removes the key, and reports whether there was one.
func Remove(own userdir.Dir) (bool, error) {
	err := os.Remove(File(own))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
