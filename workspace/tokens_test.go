package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Attack: the agent reads a credential that somebody left in git's configuration.
func TestATokenInGitsConfigurationIsSaid(t *testing.T) {
	for config, want := range map[string]bool{
		"[remote \"o\"]\n\turl = https://github.com/o/r\n":                                     false,
		"[remote \"o\"]\n\turl = git@github.com:o/r\n":                                         false,
		"[remote \"o\"]\n\turl = ssh://git@github.com/o/r\n":                                   false,
		"[remote \"o\"]\n\turl = https://company@dev.example.com/o/_git/r\n":                   false,
		"[remote \"o\"]\n\turl = https://example.com/a@b:c\n":                                  false,
		"# url = https://u:p@example.com/\n":                                                   false,
		"[remote \"o\"]\n\turl = https://ci-token:p4ss@example.com/o/r\n":                      true,
		"[remote \"o\"]\n\turl = \"https://u:p@example.com/o/r\"\n":                            true,
		"[remote \"o\"]\n\tpushUrl = https://u:p@example.com/o/r\n":                            true,
		"[remote \"o\"] url = https://u:p@example.com/o/r\n":                                   true,
		"[remote \"o\"]\n\turl = https://ghp_0123456789abcdefghij0123456789@example.com/o/r\n": true,
		"[url \"https://u:p@example.com/\"]\n\tinsteadOf = https://example.com/\n":             true,
		"[http]\n\tproxy = http://u:p@proxy.example.com:3128\n":                                true,
		"[http \"https://example.com/\"]\n\textraHeader = AUTHORIZATION: basic eDp5\n":         true,
	} {
		if got := HoldsToken(config); got != want {
			t.Errorf("%q: got %t", config, got)
		}
	}
	dir := t.TempDir()
	for _, name := range []string{".git/HEAD", "sub/HEAD", "sub/objects/x", "sub/refs/x", "hidden/.git/HEAD"} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, config := range []string{"sub/config", "hidden/.git/config"} {
		write := func() error {
			return os.WriteFile(filepath.Join(dir, filepath.FromSlash(config)),
				[]byte("[remote \"o\"]\n\turl = https://u:s3cret@example.com/o/r\n"), 0o600)
		}
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	w, err := Inspect(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(w.Notes, "\n"); !strings.Contains(said, "sub/config holds a password or a token") ||
		strings.Contains(said, "hidden") || strings.Contains(said, "s3cret") {
		t.Errorf("said is %q", said)
	}
}
