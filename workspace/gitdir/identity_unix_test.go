//go:build unix

package gitdir

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// identityOf is the identity in a repository with a configuration, below a home with
// another one. HOME in them is the home's folder.
func identityOf(t *testing.T, user, project string) (o Owner, home string) {
	t.Helper()
	testenv.Program(t, "git")
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, "xdg"), "GIT_CONFIG_NOSYSTEM": "1"} {
		t.Setenv(name, value)
	}
	dir := filepath.Join(home, "project")
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	in := func(text string) []byte { return []byte(strings.ReplaceAll(text, "HOME", home)) }
	config := filepath.Join(dir, ".git", "config")
	before, err := os.ReadFile(config)
	if err := errors.Join(err, os.WriteFile(config, append(before, in(project)...), 0o644),
		os.WriteFile(filepath.Join(home, ".gitconfig"), in(user), 0o644),
		os.WriteFile(filepath.Join(home, "work"), in("[user]\nemail = me@work.example\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	return Identity(t.Context(), filepath.Join(dir, ".git")), home
}

func TestTheIdentityIsThatOfGitOnTheHost(t *testing.T) {
	const me = "[user]\nname = Jane O'Neil\nemail = me@example.com\n"
	for name, c := range map[string]struct{ user, project, want string }{
		"the user's":               {me, "", "Jane O'Neil <me@example.com>"},
		"the repository's":         {me, "[user]\nname = Dr. Jane\n", "Dr. Jane <me@example.com>"},
		"the last one counts":      {me + "[user]\nname = Other\n", "", "Other <me@example.com>"},
		"an includeIf of the user": {me + "[includeIf \"gitdir:HOME/project/\"]\npath = HOME/work\n", "", "Jane O'Neil <me@work.example>"},
		"none":                     {"", "", "Claude <claude@sandbox.invalid> default"},
		"a name alone":             {"[user]\nname = Jane\n", "", "Claude <claude@sandbox.invalid> default"},
		"an address alone":         {"[user]\nemail = me@example.com\n", "", "Claude <claude@sandbox.invalid> default"},
		"every script":             {"[user]\nname = Zoë 世界\nemail = z@example.com\n", "", "Zoë 世界 <z@example.com>"},
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := identityOf(t, c.user, c.project)
			got := o.Name + " <" + o.Email + ">"
			if o.IsDefault {
				got += " default"
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	if o := Identity(t.Context(), ""); o.Name == "" || o.Email == "" {
		t.Errorf("without a repository: %+v", o)
	}
}

// Attack: a repository that somebody else made says who the author is, with what
// drives a terminal or begins another line of a commit or configuration, or names
// programs to run meanwhile.
func TestAttackAnIdentityThatIsMoreThanAName(t *testing.T) {
	const evil = `name = "a\nauthor Evil <e@example.com> 0 +0000\n\n[core]\n\tfsmonitor = touch HOME/RAN"` + "\n"
	for name, c := range map[string]struct{ project, want string }{
		"lines": {"[user]\n" + evil + `email = "x@example.com\ncommitter Evil <e@example.com> 0 +0000"` + "\n",
			"aauthor Evil e@example.com 0 +0000[core]fsmonitor = touch HOME/RAN <x@example.comcommitter Evil e@example.com 0 +0000>"},
		"escape sequences": {"[user]\nname = \"a\x1b[2J\x1b]0;evil\x07\u009b31m\u202eb\xff\"\nemail = \x1bx@example.com\n",
			"a[2J]0;evil31mb <x@example.com>"},
		"leading dashes":    {"[user]\nname = --exec=touch HOME/RAN\nemail = -x@example.com\n", "--exec=touch HOME/RAN <-x@example.com>"},
		"nothing but marks": {"[user]\nname = \" <>.,;\"\nemail = <>\n", "Claude <claude@sandbox.invalid>"},
		"endless": {"[user]\nname = " + strings.Repeat("é", 4000) + "\nemail = x@example.com\n",
			strings.Repeat("é", maxIdentity/2) + " <x@example.com>"},
		"programs": {
			"[core]\nfsmonitor = touch HOME/RAN\nsshCommand = touch HOME/RAN\npager = touch HOME/RAN\neditor = touch HOME/RAN\n[alias]\n" +
				"config = !touch HOME/RAN\n" +
				"[pager]\nconfig = touch HOME/RAN\n[user]\nname = a\nemail = x@example.com\n", "a <x@example.com>"},
		"another file of the user's": {"[include]\npath = HOME/secret\n[user]\nname = a\nemail = x@example.com\n", "a <x@example.com>"},
		"a file without end":         {"[include]\npath = /dev/zero\n", "Claude <claude@sandbox.invalid>"},
		"a pipe":                     {"[include]\npath = HOME/pipe\n", "Claude <claude@sandbox.invalid>"},
	} {
		t.Run(name, func(t *testing.T) {
			home := ""
			o := Owner{}
			if name == "a pipe" {
				o, home = identityOf(t, "", "")
				if err := errors.Join(syscall.Mkfifo(filepath.Join(home, "pipe"), 0o644),
					os.WriteFile(filepath.Join(home, "project", ".git", "config"),
						[]byte(strings.ReplaceAll(c.project, "HOME", home)), 0o644)); err != nil {
					t.Fatal(err)
				}
				o = Identity(t.Context(), filepath.Join(home, "project", ".git"))
			} else {
				o, home = identityOf(t, "", c.project)
			}
			if got := strings.ReplaceAll(o.Name+" <"+o.Email+">", home, "HOME"); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if _, err := os.Stat(filepath.Join(home, "RAN")); err == nil {
				t.Error("git ran a program")
			}
			// The values that the agent's configuration takes over from the same file.
			values, _ := readConfig(filepath.Join(home, "project", ".git"), filepath.Join(home, "project", ".git"))
			for _, v := range values {
				if v.Section == "user" && (strings.ContainsAny(v.Value, "\n\x1b\x00<>\x07") || len(v.Value) > maxIdentity) {
					t.Errorf("the agent's has %q", v.Value)
				}
			}
			file := filepath.Join(home, "made")
			if err := os.WriteFile(file, []byte(formatConfig(append(values, Value{Section: "user", Name: "name", Value: o.Name}))),
				0o644); err != nil {
				t.Fatal(err)
			}
			made, err := listConfig(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range made {
				if v.Section+"."+v.Name == "core.fsmonitor" || v.Section == "include" || v.Section == "alias" {
					t.Errorf("the agent's configuration says %+v", v)
				}
			}
		})
	}
}
