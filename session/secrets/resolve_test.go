//go:build unix

package secrets

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/settings"
)

const value = "canary-Value-71c5"

// programs puts stand-ins for the programs that know secrets in front of PATH: each
// prints the canary for the arguments that it expects, and otherwise fails as the real
// one does.
func programs(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for name, script := range map[string]string{
		"op": `[ "$*" = "read --no-newline op://Dev/npm/the token" ] && printf %s ` + value + ` && exit
echo "[ERROR] could not read secret: not signed in" >&2; exit 1`,
		"pass": `[ "$*" = "show dev/npm" ] && printf '` + value + `\nuser: me\n' && exit
echo "Error: $2 is not in the password store." >&2; exit 1`,
		"secret-tool": `[ "$*" = "lookup service https://npm username me" ] && printf %s ` + value + ` && exit
exit 1`,
		"security": `[ "$*" = "find-generic-password -s https://npm -a me -w" ] && echo ` + value + ` && exit
exit 44`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func sources(env map[string]string) Sources {
	return Sources{
		Getenv: func(name string) string { return env[name] },
		Open:   func(name string) (io.ReadCloser, error) { return os.Open(name) },
	}
}

func TestEverySource(t *testing.T) {
	programs(t)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(value+"\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"", "env:OTHER", "op://Dev/npm/the token", "pass:dev/npm", "keyring:https://npm/me", "file:" + file,
		"cmd:printf %s " + value, "cmd:cat " + file} {
		got, err := sources(map[string]string{"A": value, "OTHER": value}).Resolve(t.Context(), []Wanted{{Name: "A", From: from}})
		if err != nil || got["A"] != value {
			t.Errorf("%s: %q %v", from, got, err)
		}
	}
}

// Everything that is missing is said at once, with where it was looked for, and nothing
// of what was found.
func TestWithoutOneSecretThereIsNone(t *testing.T) {
	programs(t)
	s := sources(map[string]string{"HERE": value, "NUL": "a\x00b"})
	got, err := s.Resolve(t.Context(), []Wanted{
		{Name: "HERE"}, {Name: "GONE"}, {Name: "OP", From: "op://Dev/gone/x"}, {Name: "PASS", From: "pass:gone"},
		{Name: "KEYRING", From: "keyring:npm/you"},
		{Name: "FILE", From: "file:/no/such/file"}, {Name: "CMD", From: "cmd:echo " + value + "; exit 3"}, {Name: "EMPTY", From: "cmd:true"},
		{Name: "NUL"}, {Name: "LARGE", From: "cmd:head -c 300000 /dev/zero | tr '\\0' x"},
		{Name: "TOKEN", From: "cmd:echo ghp_0123456789abcdefghij0123456789 >&2; false"},
	})
	if code, _ := exitcode.Of(err, 1); err == nil || got != nil || code != 78 {
		t.Fatalf("%v %v, exit code %d", got, err, code)
	}
	for _, part := range []string{"GONE from : the variable GONE is not set",
		"OP from op://Dev/gone/x: op failed (exit status 1): [ERROR] could not read secret: not signed in",
		"PASS from pass:gone: pass failed", "is not in the password store", "KEYRING from keyring:npm/you: ",
		"FILE from file:/no/such/file: no such file",
		"exit status 3", "EMPTY from cmd:true: it is empty", "NUL", "LARGE", "larger than 256 KiB"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("it does not say %q: %v", part, err)
		}
	}
	for _, leak := range []string{"HERE", "ghp_0123456789"} {
		if strings.Contains(err.Error(), leak) {
			t.Errorf("it says %s: %v", leak, err)
		}
	}
	if diag.HintOf(err) == "" {
		t.Error("there is no hint")
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := s.Resolve(t.Context(), []Wanted{{Name: "OP", From: "op://a/b/c"}}); err == nil ||
		!strings.Contains(err.Error(), "op is not installed") || !strings.Contains(diag.HintOf(err), "install op") {
		t.Errorf("got %v, hint %q", err, diag.HintOf(err))
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Resolve(gone, []Wanted{{Name: "A", From: "cmd:sleep 100"}}); err == nil {
		t.Error("a cancelled run has a secret")
	}
}

// Attack: a reference is an argument of a program, never a part of its options or of a
// shell's line.
func TestAReferenceIsOneArgument(t *testing.T) {
	for _, text := range []string{"op://a/$(id)/`id`", "pass:a;id", "keyring:--help/-x", "keyring:a/b c"} {
		kind, of, _ := strings.Cut(text, ":")
		h, err := helperOf(settings.Reference{Kind: settings.ReferenceKind(kind), Of: of}, "linux")
		if err != nil || slices.Contains(h.argv, "-c") {
			t.Errorf("%s: %q %v", text, h.argv, err)
		}
	}
	if _, err := helperOf(settings.Reference{Kind: settings.ReferenceKeyring, Of: "a/b"}, "windows"); err == nil {
		t.Error("Windows has a program for its keyring")
	}
}

func TestVariablesOfAFile(t *testing.T) {
	lookup := func(name string) (string, bool) { return "mine", name == "HOST_ONE" }
	variables, missing, err := ReadEnv(
		[]byte("\xef\xbb\xbf# a comment\r\nA=1\n  B=two words # kept\n\nC=\"quoted\"\nD=\nHOST_ONE\nHOST_TWO\n"), lookup)
	if want := []string{"A=1", "B=two words # kept", `C="quoted"`, "D=", "HOST_ONE=mine"}; err != nil || !slices.Equal(variables, want) ||
		!slices.Equal(missing, []string{"HOST_TWO"}) {
		t.Errorf("%q %q %v", variables, missing, err)
	}
	for _, text := range []string{"A=1\nnot a name=" + value, "1A=" + value, "=" + value, "A=\x00" + value,
		"A=\xff" + value, "export A=" + value} {
		if _, _, err := ReadEnv([]byte(text), lookup); err == nil || strings.Contains(err.Error(), value) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Accepted lines are variables that a process can have, and come back the same.
func FuzzReadEnv(f *testing.F) {
	for _, seed := range []string{"A=1\n", "# c\nA", "A=\r\n", "A=\r\r", "\xef\xbb\xbfA=b=c"} {
		f.Add([]byte(seed))
	}
	none := func(string) (string, bool) { return "", false }
	f.Fuzz(func(t *testing.T, text []byte) {
		variables, _, err := ReadEnv(text, none)
		if err != nil {
			return
		}
		// With a line end of two bytes: of a value that ends with \r, as with docker, one is the line's.
		again, missing, err := ReadEnv([]byte(strings.Join(variables, "\r\n")+"\r\n"), none)
		if err != nil || len(missing) > 0 || !slices.Equal(again, variables) {
			t.Errorf("%q became %q and then %q, %v", text, variables, again, err)
		}
		for _, v := range variables {
			if strings.ContainsAny(v, "\x00\n") || !strings.Contains(v, "=") {
				t.Errorf("%q is no variable", v)
			}
		}
	})
}

// Git's own credential helper and gh are asked, and no configuration of a project is.
func TestAttackAProjectsHelperForTheCredential(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	helper := filepath.Join(home, "helper")
	ran := filepath.Join(home, "ran")
	for name, text := range map[string]string{
		helper:                               "#!/bin/sh\n[ $1 = get ] && printf 'username=me\\npassword=" + value + "\\n'\n",
		filepath.Join(home, "gh"):            "#!/bin/sh\n[ \"$*\" = 'auth token --hostname git.example.com' ] && echo " + value + "\n",
		filepath.Join(home, ".gitconfig"):    "[credential \"https://git.example.com\"]\n\thelper = " + helper + "\n",
		filepath.Join(project, "project.sh"): "#!/bin/sh\ntouch " + ran + "\nprintf 'username=evil\\npassword=evilevil\\n'\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"config", "credential.helper", ""},
		{"config", "credential.helper", filepath.Join(project, "project.sh")}} {
		if out, err := exec.Command("git", append([]string{"-C", project}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("GIT_DIR", filepath.Join(project, ".git"))
	t.Setenv("PATH", home+":"+os.Getenv("PATH"))
	t.Chdir(project)
	got, err := sources(nil).Resolve(t.Context(), []Wanted{
		{Name: "GIT", From: "git:https://git.example.com/acme/app"}, {Name: "GH", From: "gh:git.example.com"},
	})
	if err != nil || got["GIT"] != "me:"+value || got["GH"] != value {
		t.Errorf("%q %v", got, err)
	}
	if _, err := sources(nil).Resolve(t.Context(), []Wanted{{Name: "NONE", From: "git:https://other.example.com/x"}}); err == nil {
		t.Error("git knows a credential of another host")
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the project's ran")
	}
}
