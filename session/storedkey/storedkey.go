package storedkey

import (
	"context"
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
	"github.com/org/claude-sandbox/session/secrets"
	"github.com/org/claude-sandbox/settings"
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

// Save keeps a key in a file, in the place of one that is there.
func Save(ctx context.Context, own userdir.Dir, key string) error {
	key = strings.TrimSpace(key)
	if err := Check(key); err != nil {
		return err
	}
	return write(ctx, own, key)
}

// SaveInKeyring keeps a key in the keyring of this machine, and in the file where it is.
// It returns that place. A keyring that does not give the key back keeps none.
func SaveInKeyring(ctx context.Context, own userdir.Dir, key string) (place string, err error) {
	key = strings.TrimSpace(key)
	if err := Check(key); err != nil {
		return "", err
	}
	at, err := secrets.Keyring("sbx-devc", "model-key")
	if err == nil {
		err = secrets.Keep(ctx, at, key)
	}
	if err != nil {
		return "", err
	}
	switch back, err := look(ctx, at.String()); {
	case err != nil:
		return "", err
	case back != key:
		return "", errors.New("the keyring took the key and has another one")
	}
	return at.String(), write(ctx, own, at.String())
}

// write writes the file, and takes the key of an earlier one out of another keyring.
func write(ctx context.Context, own userdir.Dir, text string) error {
	if err := errors.Join(own.Make(), own.Check("")); err != nil {
		return err
	}
	earlier, _, _ := read(own, "") // one that cannot be read is replaced
	if err := atomicfile.WriteBytes(File(own), 0o600, []byte(text+"\n")); err != nil || earlier == text {
		return err
	}
	return forget(ctx, earlier)
}

// reference is where a text of the file says that the key is; false = it is the key.
func reference(text string) (settings.Reference, bool) {
	r, err := settings.Secret{Name: "key", From: text}.Reference()
	return r, err == nil && text != "" && (r.Kind == settings.ReferenceKeyring || r.Kind == settings.ReferencePass)
}

// look asks the keyring for the key.
func look(ctx context.Context, place string) (string, error) {
	values, err := secrets.Sources{}.Resolve(ctx, []secrets.Wanted{{Name: "the model's key", From: place}})
	return values["the model's key"], err
}

func forget(ctx context.Context, text string) error {
	if r, inKeyring := reference(text); inKeyring {
		return secrets.Forget(ctx, r)
	}
	return nil
}

// Read returns the key for a run on the project in a folder, "" when there is none. A
// file that others may read is an error, also when the key is in a keyring.
func Read(ctx context.Context, own userdir.Dir, project string) (string, error) {
	key, found, err := read(own, project)
	if err != nil || !found {
		return "", err
	}
	if _, inKeyring := reference(key); inKeyring {
		if key, err = look(ctx, key); err != nil {
			return "", err
		}
	}
	if err := Check(key); err != nil {
		return "", diag.OrHint(fmt.Errorf("%s: %w", File(own), err), "log in again: sbx-devc login")
	}
	return key, nil
}

// Place is where the key of Read is: the file, or the keyring's name of it.
func Place(own userdir.Dir, project string) (string, error) {
	text, _, err := read(own, project)
	if r, inKeyring := reference(text); err == nil && inKeyring {
		return r.String(), nil
	}
	return File(own), err
}

// read returns the text of the file, the key or where it is, and whether there is a file.
func read(own userdir.Dir, project string) (text string, found bool, err error) {
	name := File(own)
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	if !info.Mode().IsRegular() {
		return "", false, diag.WithHint(fmt.Errorf("%s is not a regular file", name), "move it away, and log in again")
	}
	if err := errors.Join(own.Check(project), userdir.CheckOwner(name, info)); err != nil {
		return "", false, err
	}
	if userdir.OthersRead(info) {
		return "", false, diag.WithHint(fmt.Errorf("others than you can read %s (mode %04o)", name, info.Mode().Perm()),
			"chmod 600 %q, and make a new token if somebody else uses this machine", name)
	}
	file, err := os.Open(name)
	if err != nil {
		return "", false, err
	}
	defer file.Close()
	if now, err := file.Stat(); err != nil || !os.SameFile(now, info) {
		return "", false, errors.Join(err, fmt.Errorf("%s was replaced while it was read", name))
	}
	all, err := io.ReadAll(io.LimitReader(file, maxKey))
	return strings.TrimSpace(string(all)), true, err
}

// Remove removes the key, also from the keyring, and reports whether there was one.
func Remove(ctx context.Context, own userdir.Dir) (bool, error) {
	text, _, _ := read(own, "") // one that cannot be read is removed
	err := os.Remove(File(own))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, errors.Join(err, forget(ctx, text))
}
