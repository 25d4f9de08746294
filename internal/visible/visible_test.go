package visible

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"unicode"
)

// Attack: the agent writes to claude's standard error what moves the cursor up,
// deletes our report, sets the clipboard or the title, or looks like a line of ours.
func TestTheAgentsTextCannotDriveTheTerminal(t *testing.T) {
	attack := "hello\x1b[2A\x1b[J\nsbx-devc: no host was refused\n\x1b]52;c;ZXZpbA==\x07\rover\n" +
		"\u009b31m c1 \xff\xe2\x80 \u202ebidi\u2028\tübung 世界\x00\x7f\n\nlast"
	want := "claude: hello\\x1b[2A\\x1b[J\nclaude: sbx-devc: no host was refused\nclaude: \\x1b]52;c;ZXZpbA==\\a\\rover\n" +
		"claude: \\u009b31m c1 \\xff\\xe2\\x80 \\u202ebidi\\u2028\tübung 世界\\x00\\x7f\nclaude: \nclaude: last\n"
	for size := 1; size <= len(attack); size++ {
		var out bytes.Buffer
		v := NewWriter(&out, "claude: ")
		for rest := []byte(attack); len(rest) > 0; {
			n := min(size, len(rest))
			if written, err := v.Write(rest[:n]); written != n || err != nil {
				t.Fatal(written, err)
			}
			rest = rest[n:]
		}
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Fatalf("in pieces of %d:\ngot  %q\nwant %q", size, out.String(), want)
		}
		if strings.ContainsAny(out.String(), "\x1b\x07\r\u009b\x00\x7f\u202e") {
			t.Fatalf("in pieces of %d: a control character got through", size)
		}
	}
}

// Attack: data of a repository in a file of JSON that somebody shows on a terminal.
func TestDataAsJSON(t *testing.T) {
	data := map[string]string{"a\u202e": "x\x1b[2J\u009b31m \u2066\u200b\ufeff\U000e0041 übung 世界 <&>\n\x7f", "b": "", "c": "\u2028"}
	var out bytes.Buffer
	if err := WriteJSON(&out, data, " "); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsFunc(strings.ReplaceAll(out.String(), "\n", ""), func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("a character that is not printable got through: %q", out.String())
	}
	if !strings.Contains(out.String(), "übung 世界 <&>") {
		t.Errorf("printable characters are gone: %s", out.String())
	}
	again := map[string]string{}
	if err := json.Unmarshal(out.Bytes(), &again); err != nil || !maps.Equal(again, data) {
		t.Errorf("other data: %q, %v", again, err)
	}
}

func TestACharacterThatNeverEndsIsShown(t *testing.T) {
	var out bytes.Buffer
	v := NewWriter(&out, "")
	if _, err := v.Write([]byte("a\xe4\xb8")); err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil || out.String() != "a\\xe4\\xb8\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// Attack: a name in a repository, an error or a record begins a line of its own,
// sets the title, or is written in letters that look like others.
func TestOneLineStaysOneLine(t *testing.T) {
	attack := "a\n::error::b\r\n\x1b]0;c\x07 \"gіthub\"\u202e\xff\n"
	for _, c := range []struct {
		name string
		show func(string) string
		want string
	}{
		{"Line", Line, `a\n::error::b\r\n\x1b]0;c\a "gіthub"\u202e\xff\n`},
		{"Folded", Folded, `a ::error::b \x1b]0;c\a "gіthub"\u202e\xff`},
		{"ASCII", ASCII, `a\n::error::b\r\n\x1b]0;c\a "g\u0456thub"\u202e\xff\n`},
	} {
		if got := c.show(attack); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}
