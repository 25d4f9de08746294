package terminal

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/term"
)

// Input and Output are the two ends of a terminal, as *os.File has them.
type (
	Input interface {
		io.Reader
		Fd() uintptr
	}
	Output interface {
		io.Writer
		Fd() uintptr
	}
)

// Client is the person's end: it has the terminal. Its one method is Run.
type Client struct {
	In    Input // the terminal
	Out   Output
	Words io.Writer // gets the lines for the person while the terminal is as it was
	// Clipboard is Filter.Clipboard.
	Clipboard bool
	// Detach leaves the program as soon as it has begun: the terminal stays as it is.
	Detach bool
	// Signals go to the supervisor; nil = none come.
	Signals <-chan os.Signal

	conn    io.ReadWriteCloser
	sending sync.Mutex // of whole frames
	mu      sync.Mutex // of all that is below, and of the terminal
	before  *term.State
	filter  *Filter
	last    byte // that the program wrote
	held    bytes.Buffer
	stop    func() // of the reading of keys; nil = none are read
	keys    keys
	stopped chan os.Signal // gets SIGTSTP
}

// Ending is how a Client ended.
type Ending int

// The endings.
const (
	Ended    Ending = iota // the supervisor ended, with a code
	Detached               // the person left, and the supervisor goes on
	Taken                  // another Client has the terminal
	Lost                   // the supervisor is gone without a word
)

// Run joins the terminal to the Server at the other end of conn, until one of them ends.
// The terminal is as it was before when it returns or panics. code is the supervisor's
// when it Ended.
func (c *Client) Run(conn io.ReadWriteCloser) (how Ending, code int) {
	c.conn, c.stopped = conn, make(chan os.Signal, 1)
	defer conn.Close()
	defer c.restore()
	ended := make(chan struct{})
	defer close(ended)
	go c.watch(ended)
	buf := make([]byte, maxFrame)
	for {
		k, content, err := readFrame(conn, buf)
		if err != nil {
			return Lost, 0
		}
		switch k {
		case begin:
			if c.Detach {
				c.send(detach, nil)
				continue
			}
			if err := c.raw(len(content) == 1 && content[0] == 1); err != nil {
				c.say([]byte("sbx-devc: error: " + err.Error() + "\n"))
				return Lost, 0
			}
		case output:
			c.show(content)
		case end:
			c.restore()
		case words:
			c.say(content)
		case left:
			return Detached, 0
		case taken:
			return Taken, 0
		case exit:
			if len(content) == 1 {
				code = int(content[0])
			}
			return Ended, code
		}
	}
}

// send sends a frame. A supervisor that is gone is noticed by the reader.
func (c *Client) send(k kind, content []byte) {
	c.sending.Lock()
	defer c.sending.Unlock()
	_ = writeFrames(c.conn, k, content)
}

// watch passes signals on, and the screen's size when it changes.
func (c *Client) watch(ended <-chan struct{}) {
	resized := make(chan os.Signal, 1)
	notifyResize(resized)
	notifyStop(c.stopped)
	defer signal.Stop(resized)
	defer signal.Stop(c.stopped)
	for {
		select {
		case sig := <-c.Signals:
			if n, ok := sig.(syscall.Signal); ok {
				c.send(received, []byte{byte(n)})
			}
		case <-resized:
			c.sendSize()
		case <-c.stopped:
			c.suspend()
		case <-ended:
			return
		}
	}
}

func (c *Client) sendSize() {
	c.mu.Lock()
	on := c.before != nil
	c.mu.Unlock()
	if columns, rows, err := term.GetSize(int(c.Out.Fd())); on && err == nil {
		c.send(size, Size{uint16(columns), uint16(rows)}.bytes())
	}
}

// raw gives the terminal to the program.
func (c *Client) raw(suspends bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys.suspends = suspends && canStop
	c.filter = NewFilter(c.Out)
	c.filter.Clipboard = c.Clipboard
	if err := c.enter(); err != nil {
		return err
	}
	return nil
}

// enter sets the raw mode and reads keys.
func (c *Client) enter() error {
	before, err := term.MakeRaw(int(c.In.Fd()))
	if err != nil {
		return err
	}
	c.before = before
	ready, stop, err := waiter(c.In)
	if err != nil {
		return errors.Join(err, term.Restore(int(c.In.Fd()), before))
	}
	c.stop = stop
	go c.readKeys(ready)
	go c.sendSize()
	return nil
}

// restore takes the terminal back, prints what waited for that, and is nothing when
// the program does not have it.
func (c *Client) restore() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.before == nil {
		return
	}
	c.leave()
	_, _ = c.Words.Write(c.held.Bytes())
	c.held.Reset()
}

// leave undoes enter and the program's modes.
func (c *Client) leave() {
	c.stop()
	undo := c.filter.Undo()
	if c.last != 0 && c.last != '\n' && !bytes.Contains([]byte(undo), []byte("\x1b[?1049l")) {
		undo += "\r\n" // our lines, and a shell's prompt, begin a line
	}
	c.last = 0
	_, _ = io.WriteString(c.Out, undo)
	forgetTyped(c.In) // answers of the terminal's that are on their way
	_ = term.Restore(int(c.In.Fd()), c.before)
	c.before, c.stop = nil, nil
}

func (c *Client) show(content []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.before != nil && len(content) > 0 {
		_, _ = c.filter.Write(content) // a terminal that is gone sends SIGHUP
		c.last = content[len(content)-1]
	}
}

// maxHeld bounds the words that wait for the terminal, in bytes.
const maxHeld = 4 << 20

func (c *Client) say(content []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.before == nil {
		_, _ = c.Words.Write(content)
	} else if c.held.Len() < maxHeld {
		c.held.Write(content)
	}
}

// readKeys passes keys on while ready says that there are some.
func (c *Client) readKeys(ready func() bool) {
	defer func() {
		if why := recover(); why != nil {
			c.restore()
			panic(why)
		}
	}()
	buf := make([]byte, 32<<10)
	for ready() {
		n, err := c.In.Read(buf)
		if err != nil {
			return
		}
		for rest := buf[:n]; len(rest) > 0; {
			var program []byte
			var what command
			program, what, rest = c.keys.take(rest)
			if len(program) > 0 {
				c.send(input, program)
			}
			switch what {
			case leave:
				c.send(detach, nil)
			case suspend:
				go c.suspend()
				return // it reads on when it comes back
			}
		}
	}
}

// suspend stops this process, as a shell's Ctrl-Z does, and comes back to the program
// when the person continues it.
func (c *Client) suspend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.before == nil {
		stopSelf()
		return
	}
	c.send(pause, nil)
	c.leave()
	stopSelf()
	if err := c.enter(); err != nil {
		_ = c.conn.Close()
		return
	}
	c.send(goOn, nil)
}
