package shell_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer/shell"
)

// show writes commands as "user:program args <from >file".
func show(commands []*shell.Command) string {
	var lines []string
	for _, c := range commands {
		var b strings.Builder
		if c.User != "" {
			b.WriteString(c.User + ":")
		}
		for i, w := range c.Words {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(w.Text)
			for _, s := range w.Subs {
				fmt.Fprintf(&b, "{%s}", s.Name())
			}
		}
		for _, f := range c.From {
			fmt.Fprintf(&b, " <%s", f.Name())
		}
		for _, f := range c.Files {
			fmt.Fprintf(&b, " >%s", f.Text)
		}
		if c.Input != "" {
			fmt.Fprintf(&b, " <<%q", c.Input)
		}
		lines = append(lines, b.String())
	}
	return strings.Join(lines, " | ")
}

func TestCommandsOfAText(t *testing.T) {
	for src, want := range map[string]string{
		"a && b || c; d &":                         "a | b | c | d",
		"curl -s u | tee x | sudo -E bash -":       "curl -s u | tee x <curl | sudo -E bash - <tee | root:bash - <tee",
		"bash <(curl u)":                           "curl u | bash <(curl u){curl}",
		"sh < <(curl u)":                           "sh <curl | curl u",
		`sh -c "$(curl u)"`:                        "curl u | sh -c $(curl u){curl} | curl u | $(curl u){curl}",
		`su vscode -c "umask 2 && gem x"`:          `su vscode -c umask 2 && gem x | vscode:umask 2 | vscode:gem x`,
		"if a; then b; elif c; then d; else e; fi": "a | b | c | d | e",
		"for x in $(ls); do chmod 777 $x; done":    "ls | chmod 777 $x",
		"(a; b) | c":                               "a | b | c <a <b",
		"echo x >> /etc/sudoers 2>/dev/null":       "echo x >/etc/sudoers",
		"cat <<EOF > /f\nline $U\nEOF\n":           `cat >/f <<"line root\n"`,
		"find / | xargs -n 1 chmod g+s":            "find / | xargs -n 1 chmod g+s <find | chmod g+s <find",
		"A=1 env B=2 timeout 5 x y":                "env B=2 timeout 5 x y | timeout 5 x y | x y",
		"f() { a; }; f":                            "a | f",
		`echo a\ b "c\"d" 'e\f'`:                   `echo a b c"d e\f`,
		"export X=$(curl u)":                       "export | curl u",
		"[[ -n $(a) ]] && b":                       "a | b",
		"":                                         "",
		"sudo":                                     "sudo",
		"echo ${U:-nobody} $U $Q":                  "echo root root $Q",
	} {
		got, err := shell.Parse(src, func(name string) (string, bool) { return "root", name == "U" })
		if err != nil {
			t.Errorf("%q: %v", src, err)
		} else if show(got) != want {
			t.Errorf("%q:\n got %s\nwant %s", src, show(got), want)
		}
	}
}

// A program that no shell starts runs the commands of the text in which a shell would get the same words.
func TestProgramsWithoutAShell(t *testing.T) {
	for _, words := range [][]string{{"npm", "start"}, {"sh", "-c", "a && b 'c'"}, {"if", "A=b", ""}, {"A=b", "it's", "$X"}, {"", "a"},
		{"cd", "--", "/srv"}, {"env", "-C", "/x", "a"},
		{"sudo", "-u", "dev", "bash", "-lc", "cd /srv; exec \"$@\""}, {"env", "A=$B", "tini", "--", "sh", "-c", "x | $y", "\xff"}} {
		quoted := make([]string, len(words))
		for n, w := range words {
			quoted[n] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		want, err := shell.Parse(strings.Join(quoted, " "), nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := shell.Exec(words)
		if err != nil || show(got) != show(want) {
			t.Fatalf("%q: %v\n got %s\nwant %s", words, err, show(got), show(want))
		}
		for n, c := range got {
			if c.OnFailure != want[n].OnFailure || c.Folder != want[n].Folder || c.Wrapped != want[n].Wrapped {
				t.Errorf("%q: %+v, want %+v", words, c, want[n])
			}
		}
	}
	if _, err := shell.Exec(slices.Repeat([]string{"a"}, 300_000)); err != shell.ErrTooMuch {
		t.Errorf("too many words: %v", err)
	}
}

func TestNotShellText(t *testing.T) {
	for _, src := range []string{"if", "echo 'x", "a | | b", "$("} {
		if _, err := shell.Parse(src, nil); err == nil {
			t.Errorf("%q was read", src)
		}
	}
}

func TestFlagsAndValues(t *testing.T) {
	list, err := shell.Parse("curl -fsSLk --retry=3 -o out u -- -x", nil)
	if err != nil {
		t.Fatal(err)
	}
	c := list[0]
	if _, ok := c.Flag("-k", "--insecure"); !ok {
		t.Error("-k is in the group")
	}
	if _, ok := c.Flag("-x"); ok {
		t.Error("-x stands behind --")
	}
	if v, _ := c.Value("--retry"); v.Text != "3" {
		t.Errorf("--retry is %q", v.Text)
	}
	if v, _ := c.Value("-o"); v.Text != "out" {
		t.Errorf("-o is %q", v.Text)
	}
}

// Whatever the text, every position lies inside it and in order.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a | b", `sh -c 'sh -c "curl u | sh"'`, "cat <<E\nx\nE\n", "su - x -c 'a\\\nb'", "x=${a:-$(b)} y", "a\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		list, err := shell.Parse(src, nil)
		if err != nil {
			return
		}
		in := func(what string, start, end int) {
			if start < 0 || start > end || end > len(src) {
				t.Errorf("%s at %d to %d of %d bytes", what, start, end, len(src))
			}
		}
		for _, c := range list {
			if len(c.Words) == 0 {
				t.Fatal("a command without words")
			}
			in("command", c.Start, c.End)
			for _, w := range c.Words {
				in("word", w.Start, w.End)
			}
			for _, o := range c.Files {
				in("file", o.Start, o.End)
			}
			for _, a := range c.Assigns {
				in("assignment", a.Start, a.End)
			}
			c.Sources()
		}
	})
}

// The operands are the words that are no options, and everything behind "--".
func TestOperands(t *testing.T) {
	for text, want := range map[string]string{
		"a":                     "",
		"a b c":                 "b c",
		"a -x":                  "",
		"a b -x c -- -d e -- f": "b c -d e -- f",
		"a -- -b":               "-b",
		"a - --x=y -":           "- -",
	} {
		commands, err := shell.Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range commands[0].Operands() {
			got = append(got, w.Text)
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s: %q, want %q", text, g, want)
		}
	}
}

// A cd holds for what comes behind it in the same process.
func TestFolderOfACommand(t *testing.T) {
	for src, want := range map[string]string{
		"cd a && x; y":                                     "cd . x a y a",
		"(cd a && x) && y":                                 "cd . x a y .",
		"y $(cd a && x); z":                                "cd . x a y . z .",
		"cd a | x; y":                                      "cd . x . y .",
		"x | (cd a; y); z":                                 "x . cd . y a z .",
		"cd a & x":                                         "cd . x .",
		"cd a; cd ../b; pushd c; x; popd; y":               "cd . cd a pushd b x b/c popd b/c y ",
		"cd /a && cd b && x":                               "cd . cd /a x /a/b",
		"cd $A; x; cd b; y; cd /c; z":                      "cd . x  cd  y  cd  z /c",
		"cd a || exit 1; x":                                "cd . exit  x a",
		"cd a || true; x":                                  "cd . true  x ",
		"x || cd a; y":                                     "x . cd . y ",
		"[ -d a ] && cd a; x":                              "[ . cd . x ",
		"if x; then cd a; y; else z; fi; u":                "x . cd . y a z . u ",
		"for a in 1 2; do (cd a; x); done; y":              "cd . x a y .",
		"for a in 1 2; do x; cd a; done; y":                "x  cd  y ",
		"f() { cd a; x; }; y; f; z":                        "cd  x  y . f . z ",
		"f() { x; }; f; z":                                 "x  f . z .",
		"case $A in 1) cd a;; *) x;; esac; y":              "cd . x . y ",
		`cd a; sh -c "x; cd b; y"; z`:                      "cd . sh a x a cd a y a/b z a",
		`eval "cd a; x"; y`:                                "eval . cd . x a y ",
		`su u -c "x"; su - u -c "y"; sudo sh -c "cd a"; z`: "su . x . su . y  sudo . sh . cd . z .",
		"sudo -u u x; sudo -iu u y; env -C a z":            "sudo . x . sudo . y  env . z ",
		"cd; x":                                            "cd . x ",
		"cd -; x":                                          "cd . x ",
		"cd a-b; x":                                        "cd . x a-b",
	} {
		list, err := shell.Parse(src, nil)
		var got []string
		for _, c := range list {
			got = append(got, c.Name(), c.Folder)
		}
		if text := strings.Join(got, " "); err != nil || text != want {
			t.Errorf("%q: %v\n got %q\nwant %q", src, err, text, want)
		}
	}
}
