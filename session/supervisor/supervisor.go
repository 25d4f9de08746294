package supervisor

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/terminal"
)

// Flag is the flag that a supervisor's command line has in addition: its value is the
// descriptor of the connection to its first Client.
const Flag = "supervise-for"

// Options are about a run that joins a person's terminal.
type Options struct {
	Run        string // its id
	Descriptor int    // Flag's value; 0 = the person's terminal is Here
	Here       *terminal.Client
	Screen     bool // the run has a screen, which attach shows; otherwise logs -f does
	Suspends   bool // Ctrl-Z suspends the Client
	First      string
	Find       func(path string) (there string, found bool)
}

// Run is a run whose person is at a terminal, here or at another process.
type Run struct {
	*terminal.Server
	listener net.Listener  // nil = no other terminal can join
	left     chan struct{} // closed when the Client of this process has ended
}

// Join gives a run its person: the Client of another process, or a terminal here. A
// process that was started for it is out of its terminal's reach from here on.
func Join(o Options) (*Run, error) {
	s := terminal.NewServer()
	s.Suspends, s.First, s.Find, s.OnDetach = o.Suspends, o.First, o.Find, leaveStreams
	see := "logs -f"
	if o.Screen {
		see = "attach"
	}
	s.Farewell = fmt.Sprintf("sbx-devc: the run %s goes on; to see it: sbx-devc %s %[1]s, to end it: sbx-devc stop %[1]s\n", o.Run, see)
	r := &Run{Server: s, left: make(chan struct{})}
	if o.Descriptor == 0 {
		here, there := net.Pipe()
		s.Serve(there, nil)
		go func() {
			defer close(r.left)
			o.Here.Run(here)
		}()
		return r, nil
	}
	close(r.left)
	conn, err := connOf(o.Descriptor)
	if err != nil {
		return nil, exitcode.With(exitcode.Internal, err)
	}
	s.Serve(conn, terminal.Rescue(os.Stdin, os.Stdout))
	leaveGroup()
	return r, nil
}

// Listen lets other processes of the user join the run's terminal, at a socket whose
// folder is made for the user alone.
func (r *Run) Listen(socket string) error {
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		return err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	r.listener = l
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r.Serve(conn, nil)
		}
	}()
	return nil
}

// Leave ends the terminal's part in the run: last writes the last words for the person,
// nil = there are none, and the Client ends with the code.
func (r *Run) Leave(code int, last func(io.Writer)) {
	if last != nil {
		r.End()
		last(r.Words())
	}
	if r.listener != nil {
		_ = r.listener.Close()
	}
	r.Close(code)
	<-r.left
}

// Follow is a Client's time at a run. The error has the run's exit code when it Ended.
func Follow(c *terminal.Client, conn io.ReadWriteCloser) (how terminal.Ending, err error) {
	how, code := c.Run(conn)
	switch how {
	case terminal.Ended:
		return how, exitcode.With(code, nil)
	case terminal.Taken:
		fmt.Fprintln(c.Words, "sbx-devc: another terminal has joined the run in the place of this one")
	}
	return how, nil
}

// BothSignals are those of two channels.
func BothSignals(one, other <-chan os.Signal) <-chan os.Signal {
	both := make(chan os.Signal, 4)
	go func() {
		for {
			var next os.Signal
			select {
			case next = <-one:
			case next = <-other:
			}
			both <- next
		}
	}()
	return both
}
