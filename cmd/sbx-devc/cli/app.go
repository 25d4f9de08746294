package cli

import (
	"io"
	"os/exec"
)

// App is the outside world as the commands see it.
type App struct {
	Stdin  io.Reader
	Stdout io.Writer // results only
	Stderr io.Writer // everything for people
	Getenv func(string) string
	Self   string   // path of this program
	Args   []string // of the command line
	// Hand gives the keys to another process of this program, which cmd will start.
	Hand func(cmd *exec.Cmd) (done func(), err error)
}
