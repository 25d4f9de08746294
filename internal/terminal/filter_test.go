package terminal

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func filtered(pieces ...string) (string, *Filter) {
	var out bytes.Buffer
	f := NewFilter(&out)
	for _, p := range pieces {
		_, _ = f.Write([]byte(p)) // a buffer takes everything
	}
	return out.String(), f
}

// Everything that Claude Code 2.1.329, bash, vim and less write to draw passes as it is.
func TestWhatDrawsPasses(t *testing.T) {
	for _, s := range []string{
		"plain text, ü, 漢字, 👩‍💻\r\n\tx\b\a", "\x1b[38;2;215;119;87m▐▛\x1b[48;5;16m\x1b[4:3m\x1b[m",
		"\x1b[2J\x1b[H\x1b[12G\x1b[80C\x1b[22B\x1b[K\x1b[40;1H",
		"\x1b[?1049h\x1b[?25l\x1b[?1000h\x1b[?1002h\x1b[?1003h\x1b[?1006h\x1b[?1004h\x1b[?2004h\x1b[?2031h\x1b[?2026h",
		"\x1b7\x1b[r\x1b8\x1b[?7h\x1b(B\x0f\x1b[>4m\x1b[>1u\x1b[>4;2m\x1b[=5u\x1b[<u\x1b[2 q",
		"\x1b(0lqk\x1b(B\x1b[5L\x1b[2M\x1b[3@\x1b[4P\x1b[10X\x1b[2S\x1b[1T\x1b[20b",
		"\x1b=\x1b>\x1bM\x1b[4h\x1b[4l\x1b[1;24r\x1b[s\x1b[u", "\x1b[c\x1b[?u",
	} {
		if got, _ := filtered(s); got != s {
			t.Errorf("%q becomes %q", s, got)
		}
	}
}

// Attack: a program in the sandbox acts on the person's machine through the terminal,
// or has the terminal type for it.
func TestAttackTheTerminalActsForTheProgram(t *testing.T) {
	for name, s := range map[string]string{
		"writes the clipboard": "\x1b]52;c;cm0gLXJmIH4=\a", "reads the clipboard": "\x1b]52;c;?\x1b\\",
		"sets the title": "\x1b]0;root@host\a", "has the title typed": "\x1b[21t", "asks for a colour that it has set": "\x1b]10;?\a",
		"asks for a setting": "\x1bP$qm\x1b\\", "asks for a capability": "\x1bP+q544e\x1b\\", "defines keys": "\x1bP1;1|17/6c73\x1b\\",
		"shows another target than a link's text": "\x1b]8;;https://evil.example/?secret\x1b\\",
		"notifies":                "\x1b]9;click me\a\x1b]777;notify;a;b\a",
		"has iTerm2 write a file": "\x1b]1337;File=name=eA==;inline=0:aGk=\a", "has kitty read a file": "\x1b_Gt=f,f=100;L2V0Yy9wYXNzd2Q=\x1b\\",
		"runs a tmux command": "\x1bPtmux;\x1b\x1b]52;c;eA==\a\x1b\\", "runs a screen command": "\x1bkls\x1b\\", "marks a prompt": "\x1b]133;A\a",
		"asks for a report":     "\x1b[5n\x1b[6n\x1b[?6n\x1b[>c\x1b[=c\x1b[>q\x1b[x\x1b[?1$p\x1b[?996n",
		"reads the screen back": "\x1b[1;1;1;1;80;24*y",
		"prints":                "\x1b[i\x1b[5i\x1b[?5i", "moves and resizes the window": "\x1b[8;10;10t\x1b[3;0;0t\x1b[2t\x1b[18t",
		"resets the terminal":           "\x1bc",
		"deletes what was there before": "\x1b[3J\x1b[03J\x1b[2;3J\x1b[?3J\x1b[3:1J\x1b[?2;3J", "asks who it is": "\x05\x1bZ",
		"waits for an answer to mouse tracking": "\x1b[1;1;1;1;1T\x1b[?1001h",
		"changes the columns":                   "\x1b[?3h\x1b[?40h", "changes the alphabet": "\x1b%G\x1bn\x1b#8\x1b(K",
		"C1 in UTF-8": "\u009b21t\u009d52;c;eA==\u009c\u0090q\u009c",
		"C1 as bytes": "\x9b\x9d\x90", "is busy for long": "\x1b[999999999b", "hides in controls": "\x1b\x00]\x00" + "0;t\a\x1b]\n0;t\a",
		"a text that reads otherwise": "\u202e\u2066\u2069", "stops the line": "\x11\x13",
		"goes back to a mode that was saved":     "\x1b[?1000s\x1b[?1000r",
		"takes away the shell's reports of keys": "\x1b[<u\x1b[<9u", "changes what modified keys type": "\x1b[>1;3m\x1b[>2;3m\x1b[>4;1f\x1b[>4n",
		"moves tab stops": "\x1b[3g\x1bH\x1b[?5W", "changes what differs between terminals": "\x1b[?8l\x1b[?12l\x1b[?67h\x1b[?1007l\x1b[?2027h",
		"sets margins": "\x1b[?69h\x1b[2;5s", "colours the palette": "\x1b]4;1;red\a\x1b]10;#000\a\x1b]11;#000\a\x1b]104\a\x1b]P0000000\a",
		"keeps titles": "\x1b[22;0t\x1b[23;0t", "protects cells": "\x1b[1\"q\x1bV", "keeps attributes": "\x1b[#{\x1b[#}",
	} {
		got, _ := filtered("<", s, ">")
		got = strings.Trim(strings.TrimSuffix(strings.TrimPrefix(got, "<"), ">"), "\uFFFD")
		for _, shown := range []string{"21t", "52;c;eA==", "q", "\n", "0;t"} { // what remains is plain text
			got = strings.ReplaceAll(got, shown, "")
		}
		if got = strings.ReplaceAll(got, "\a", ""); got != "" {
			t.Errorf("%s: %q", name, got)
		}
		if whole, _ := filtered(s); strings.Contains(whole, "\x1b") {
			t.Errorf("%s: %q passes", name, whole)
		}
	}
}

func TestTheClipboardIsWrittenWhenTheUserAllows(t *testing.T) {
	for s, want := range map[string]string{
		"\x1b]52;c;aGk=\a": "\x1b]52;c;aGk=\a", "\x1b]52;;aGk=\x1b\\": "\x1b]52;c;aGk=\a", "\x1b]52;c;?\a": "", "\x1b]52;c;\a": "",
		"\x1b]52;c;a\x1b]0;x\a": "", "\x1b]52;c;" + strings.Repeat("QUFB", maxClipboard/4) + "\a": "",
	} {
		var out bytes.Buffer
		f := NewFilter(&out)
		f.Clipboard = true
		_, _ = f.Write([]byte(s))
		if out.String() != want {
			t.Errorf("%.40q becomes %q", s, out.String())
		}
	}
}

// A terminal is as it was before after every mode, and another one comes to where the
// first is.
func TestModesAreUndone(t *testing.T) {
	for s, want := range map[string][2]string{
		"\x1b[?1049h\x1b[?25l\x1b[?1000h\x1b[?2004h": {"\x1b[?25l\x1b[?1000h\x1b[?1049h\x1b[?2004h",
			"\x1b[?2004l\x1b[?1049l\x1b[?1000l\x1b[?25h"},
		"\x1b[?25l\x1b[?25h\x1b[?1;2004h\x1b[?2004l": {"\x1b[?1h", "\x1b[?1l"},
		"\x1b[>1u\x1b[>5u\x1b[<u\x1b[>4;2m\x1b[3 q":  {"\x1b[>1u\x1b[>4;2m\x1b[3 q", "\x1b[<u\x1b[>4m\x1b[0 q"},
		"\x1b[31mred": {"", "\x1b[m"}, "\x1b[31mred\x1b[0m": {"", ""},
		"\x1b[2;5r\x1b(0\x0e\x1b=": {"\x1b=", "\x1b7\x1b[r\x1b8\x1b>\x1b7\x1b[r\x1b8\x1b(B\x1b)B\x0f"},
	} {
		_, f := filtered(s)
		if got := [2]string{f.Modes(), f.Undo()}; got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
		if f.Modes()+f.Undo() != "" {
			t.Errorf("%q: something is left", s)
		}
	}
}

// The cursor stays where the program's screen was entered: what resets the origin of a
// program that never set it would draw over the user's lines.
func TestUndoLeavesTheCursor(t *testing.T) {
	_, f := filtered("\x1b[?1049h\x1b[1;31mred\x1b7\x1b[m")
	if undo := f.Undo(); strings.Contains(undo, "[?6") || strings.Contains(undo, "\x1b[r") {
		t.Errorf("%q moves the cursor", undo)
	}
}

// Attack: hidden letters or a mode come back when the terminal has left the program's
// screen, and the warnings at the end of a run cannot be seen, or the mouse types into the
// shell.
func TestAttackAModeOutlivesTheProgram(t *testing.T) {
	for name, c := range map[string]struct{ program, undone string }{
		"hidden letters of a saved cursor":       {"\x1b[8m\x1b7\x1b[m\x1b8", "\x1b[m"},
		"hidden letters of the other screen":     {"\x1b[8m\x1b[?1049h\x1b[m", "\x1b[?1049l\x1b[?7h\x1b(B\x1b)B\x0f\x1b[m"},
		"the origin of a saved cursor":           {"\x1b[?6h\x1b7\x1b[?6l\x1b8", "\x1b[?6l"},
		"hidden letters of a cursor that was so": {"\x1b[8m\x1b[s\x1b[m\x1b[u", "\x1b[m"},
		"lines that are cut off":                 {"\x1b[?7l\x1b7\x1b[?7h\x1b8", "\x1b[?7h"},
		"another alphabet":                       {"\x1b(0\x1b7\x1b(B\x1b8", "\x1b(B"},
		"the mouse after a soft reset":           {"\x1b[?1003h\x1b[!p", "\x1b[?1003l"},
		"the other screen after a soft reset":    {"\x1b[?1049h\x1b[!p", "\x1b[?1049l"},
	} {
		_, f := filtered(c.program)
		if undo := f.Undo(); !strings.Contains(undo, c.undone) || strings.Contains(c.undone, "\x1b[m") && !strings.HasSuffix(undo, "\x1b[m") {
			t.Errorf("%s: %q does not undo it", name, undo)
		}
	}
}

// Whatever a program writes, in whatever pieces, the terminal gets text and sequences of
// the allowlist, which pass again as they are, and a bounded state.
func FuzzFilter(f *testing.F) {
	for _, s := range []string{"a\x1b[31mb", "\x1b]0;t\ax", "\x1bP\x1b[31m\x1b\\", "\xe6\xbc\xa2\xe6\x1b[c", "\x1b[\x1b[?1049h\x9b",
		"\x1b(\x1b(0", "\x1b[>1u\x1b[=3u"} {
		f.Add(s, 3)
	}
	for _, s := range outliving {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, at int) {
		whole, filter := filtered(s)
		if at = max(0, min(at, len(s))); true {
			if pieces, _ := filtered(s[:at], s[at:]); pieces != whole {
				t.Fatalf("in pieces %q, whole %q", pieces, whole)
			}
		}
		if again, _ := filtered(whole); again != whole {
			t.Fatalf("%q passes as %q", whole, again)
		}
		if !utf8.ValidString(whole) {
			t.Fatalf("%q is no UTF-8", whole)
		}
		for _, bad := range []string{"\x1b]", "\x1bP", "\x1bX", "\x1b^", "\x1b_", "\x1bc", "\x00", "\x05", "\u009b", "\u009d", "\u0090"} {
			if strings.Contains(whole, bad) {
				t.Fatalf("%q passes in %q", bad, whole)
			}
		}
		if len(whole) > 6*len(s) || cap(filter.seq) > 2*maxClipboard ||
			len(filter.modes.keys.flags[0])+len(filter.modes.keys.flags[1]) > 2*maxKeyboard {
			t.Fatal("more is kept or written than came")
		}
		undo := filter.Undo()
		if again, _ := filtered(whole, undo); again != whole+undo {
			t.Fatalf("%q undoes, and passes as %q", undo, again)
		}
		asBefore(t, whole+undo)
	})
}

func TestKeysOfOurs(t *testing.T) {
	for _, c := range []struct {
		in      []string
		program string
		what    []command
	}{
		{[]string{"ab\x10c"}, "ab\x10c", nil},
		{[]string{"a\x10\x11b"}, "ab", []command{leave}},
		{[]string{"\x10", "\x11"}, "", []command{leave}},
		{[]string{"\x10\x10\x11"}, "\x10\x10\x11", nil},
		{[]string{"\x1b[112;5u\x1b[113;5u"}, "", []command{leave}},
		{[]string{"a\x1ab\x1b[122;5uc"}, "abc", []command{suspend, suspend}},
		{[]string{"\x1b[200~a\x1a\x10\x11\x1b[201~\x1a"}, "\x1b[200~a\x1a\x10\x11\x1b[201~", []command{suspend}},
		{[]string{"\x1b", "[A\x1b[1;5D\x1bOP"}, "\x1b[A\x1b[1;5D\x1bOP", nil},
	} {
		k := keys{suspends: true}
		var program []byte
		var what []command
		for _, rest := range c.in {
			for p := []byte(rest); len(p) > 0; {
				typed, w, after := k.take(p)
				program, p = append(program, typed...), after
				if w != noCommand {
					what = append(what, w)
				}
			}
		}
		if string(program) != c.program || len(what) != len(c.what) {
			t.Errorf("%q: %q %v", c.in, program, what)
		}
	}
}
