package run

import (
	"bytes"
	"io"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// TestAttackACommandsModesStay: a command whose input is a pipe leaves the terminal with
// hidden letters, and with a mouse that types into the person's shell.
func TestAttackACommandsModesStay(t *testing.T) {
	master, terminal := testenv.Terminal(t)
	read := make(chan []byte)
	go func() {
		out, _ := io.ReadAll(master) // EIO when the terminal is closed
		read <- out
	}()
	to, undo := ofSandbox(terminal)
	if _, err := io.WriteString(to, "\x1b[?1003h\x1b[8m\x1b]0;title\a"); err != nil {
		t.Fatal(err)
	}
	undo()
	terminal.Close()
	if got, want := string(<-read), "\x1b[?1003h\x1b[8m\x1b[?1003l\x1b[m"; got != want {
		t.Errorf("the terminal gets %q, want %q", got, want)
	}
	var file bytes.Buffer
	if to, _ := ofSandbox(&file); to != &file {
		t.Error("what is no terminal does not get every byte")
	}
}
