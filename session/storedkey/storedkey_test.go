package storedkey

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/userdir"
)

const token = "sk-ant-oat01-canary-0123456789"

func TestAKeyIsKeptForItsUserAlone(t *testing.T) {
	own := userdir.Dir(filepath.Join(t.TempDir(), "sbx-devc"))
	if key, err := Read(t.Context(), own, ""); key != "" || err != nil {
		t.Errorf("before: %q, %v", key, err)
	}
	if err := Save(t.Context(), own, "  "+token+"\n"); err != nil {
		t.Fatal(err)
	}
	if key, err := Read(t.Context(), own, t.TempDir()); key != token || err != nil {
		t.Errorf("%q, %v", key, err)
	}
	if info, err := os.Stat(File(own)); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if there, err := Remove(t.Context(), own); !there || err != nil {
		t.Errorf("%v, %v", there, err)
	}
	if there, err := Remove(t.Context(), own); there || err != nil {
		t.Errorf("again: %v, %v", there, err)
	}
}

// A person hears where the key is, and never the key.
func TestThePlaceOfAKeyIsNamed(t *testing.T) {
	own := userdir.Dir(filepath.Join(t.TempDir(), "sbx-devc"))
	if err := Save(t.Context(), own, token); err != nil {
		t.Fatal(err)
	}
	if place, err := Place(own, ""); place != File(own) || err != nil {
		t.Errorf("of a file: %q, %v", place, err)
	}
	if err := os.WriteFile(File(own), []byte("keyring:sbx-devc/key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if place, err := Place(own, ""); place != "keyring:sbx-devc/key" || err != nil {
		t.Errorf("of a keyring: %q, %v", place, err)
	}
}

// Attack: a refresh token, or Claude's file of credentials, is kept and used.
func TestAttackMoreThanAToken(t *testing.T) {
	own := userdir.Dir(filepath.Join(t.TempDir(), "sbx-devc"))
	for _, text := range []string{"", "short", "sk-ant-ort01-canary-0123456789", `{"claudeAiOauth":{"refreshToken":"canary"}}`,
		"two tokens-canary", "canary\x00canary"} {
		err := Save(t.Context(), own, text)
		if err == nil || diag.HintOf(err) == "" || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v", text, err)
		}
		if err := os.MkdirAll(string(own), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(File(own), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if key, err := Read(t.Context(), own, ""); err == nil || key != "" {
			t.Errorf("%q is read: %q, %v", text, key, err)
		}
		_, _ = Remove(t.Context(), own)
	}
}

// Attack: the key is in the project, by a variable of a .env file, or others can read or
// replace it.
func TestAttackAKeyOfSomebodyElse(t *testing.T) {
	project := t.TempDir()
	inside := userdir.Dir(filepath.Join(project, "sbx-devc"))
	if err := Save(t.Context(), inside, token); err != nil {
		t.Fatal(err)
	}
	if key, err := Read(t.Context(), inside, project); err == nil || key != "" {
		t.Errorf("a key in the project: %q, %v", key, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	own := userdir.Dir(filepath.Join(t.TempDir(), "sbx-devc"))
	if err := Save(t.Context(), own, token); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o644, 0o640, 0o602, 0o604} {
		if err := os.Chmod(File(own), mode); err != nil {
			t.Fatal(err)
		}
		if key, err := Read(t.Context(), own, ""); err == nil || key != "" || diag.HintOf(err) == "" {
			t.Errorf("mode %o: %q, %v", mode, key, err)
		}
	}
	if err := Save(t.Context(), own, token); err != nil { // makes it good again
		t.Fatal(err)
	}
	moved := filepath.Join(project, "moved")
	if err := os.Rename(File(own), moved); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(moved, File(own)); err != nil {
		t.Fatal(err)
	}
	if key, err := Read(t.Context(), own, ""); err == nil || key != "" {
		t.Errorf("a link: %q, %v", key, err)
	}
}
