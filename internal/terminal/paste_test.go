package terminal

import (
	"strings"
	"testing"
)

func TestPastedPathsAreTheSandboxs(t *testing.T) {
	find := func(path string) (string, bool) {
		for host, there := range map[string]string{"/home/u/app": "/workspace", `C:\app`: "/workspace"} {
			if rest, ok := strings.CutPrefix(path, host); ok && !strings.Contains(rest, "'") {
				return there + strings.ReplaceAll(rest, `\`, "/"), true
			}
		}
		return "", false
	}
	paste := func(text string) string { return "\x1b[200~" + text + "\x1b[201~" }
	for typed, want := range map[string]string{
		paste("/home/u/app/a.png"):                                        paste("/workspace/a.png"),
		paste("'/home/u/app/a b.png' "):                                   paste("/workspace/a b.png"),
		paste(`"/home/u/app/a.png"`):                                      paste("/workspace/a.png"),
		paste("/home/u/app/a.png '/home/u/app/b c.png'"):                  paste(`/workspace/a.png /workspace/b\ c.png`),
		paste(`'/home/u/app/a.png' '/home/u/app/b c'`):                    paste(`/workspace/a.png /workspace/b\ c`),
		paste(`C:\app\a.png`):                                             paste("/workspace/a.png"),
		"x" + paste("/home/u/app/a") + "y" + paste("/home/u/app/b") + "z": "x" + paste("/workspace/a") + "y" + paste("/workspace/b") + "z",

		// A path that the sandbox does not have stays as it is, byte for byte.
		paste("/home/u/other/a.png"):               paste("/home/u/other/a.png"),
		paste("'/home/u/app/a.png' /etc/passwd"):   paste("'/home/u/app/a.png' /etc/passwd"),
		paste("see /home/u/app/a.png"):             paste("see /home/u/app/a.png"),
		paste("/home/u/app/a\n/home/u/app/b"):      paste("/home/u/app/a\n/home/u/app/b"),
		paste(""):                                  paste(""),
		paste("/" + strings.Repeat("x", 5<<10)):    paste("/" + strings.Repeat("x", 5<<10)),
		"/home/u/app/a.png":                        "/home/u/app/a.png", // typed
		"\x1b[200~/home/u/app/a\rno end, and more": "\x1b[200~/home/u/app/a\rno end, and more",
		"\x03\x1b[A\x10":                           "\x03\x1b[A\x10",
	} {
		for size := len(typed); size > 0; size /= 3 {
			if size < len(typed) && size < len(pasteBegins) || size < 100 && len(typed) > 4<<10 {
				break // a mark in pieces
			}
			c := pastedPaths{find: find}
			got := ""
			for rest := typed; rest != ""; rest = rest[min(size, len(rest)):] {
				got += string(c.take([]byte(rest[:min(size, len(rest))])))
			}
			if whole := size >= len(typed) || got != typed; got != want && whole {
				t.Errorf("%q in pieces of %d: %q, want %q", typed, size, got, want)
			}
		}
	}
	off := pastedPaths{}
	if got := string(off.take([]byte(paste("/home/u/app/a")))); got != paste("/home/u/app/a") {
		t.Errorf("%q", got)
	}
}

// Keys are not held back: only a text that may be paths waits for its end.
func TestWhatIsTypedDoesNotWait(t *testing.T) {
	c := pastedPaths{find: func(string) (string, bool) { return "", false }}
	for _, p := range []string{"\x1b", "a", "\x1b[200~words", " and more", "\x1b[201~"} {
		if got := string(c.take([]byte(p))); got != p {
			t.Errorf("%q: %q", p, got)
		}
	}
}
