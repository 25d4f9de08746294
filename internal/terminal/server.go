package terminal

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
)

// Bounds of what waits for a Client, in bytes. The program waits when its output
// reaches the first; words for the person beyond the second are dropped.
const (
	maxWaiting = 256 << 10
	maxWords   = 4 << 20
)

// redrawPatience bounds the time between the two sizes that make a program draw its
// screen again. A program that is busy for longer sees only the second one, so it gets both
// again, after twice the time. There are programs that never draw all of it.
const (
	redrawPatience = time.Second
	redrawTries    = 4
)

// cleared is what a program writes that draws its whole screen.
const cleared = "\x1b[2J"

// Server is the supervisor's end of a terminal: what the program in the sandbox reads
// and writes. Without a Client the output is dropped. NewServer makes one; all methods
// may be called at once.
type Server struct {
	// Suspends makes Ctrl-Z suspend the Client instead of being the program's key.
	Suspends bool
	// First is typed as a pasted text, and then sent, when the program says that it takes
	// those: a person's first words. Control characters in it are left out.
	First string
	// Find is where the program finds a file of the person's machine, for a pasted text that
	// is a path; false = nowhere. It may look at files. nil = such a text stays as it is.
	Find func(path string) (there string, found bool)
	// Farewell is what a person reads who leaves.
	Farewell string
	// OnDetach is called when the person leaves the program to the supervisor; nil = nothing.
	OnDetach func()

	mu      sync.Mutex
	changed *sync.Cond // of all that is below
	client  *peer      // nil = there is none
	open    bool       // the program has the terminal
	over    bool       // it had it
	typed   []byte
	screen  *Filter
	shown   bytes.Buffer // screen's output of one Write
	size    Size         // the newest
	redraws bool         // the program has another size than that, for a moment
	undrawn bool         // it has not drawn its screen for the newest Client
	sizes   chan Size
	signals chan os.Signal

	patience time.Duration // redrawPatience; shorter in tests
}

// peer is a Client as the Server sees it.
type peer struct {
	conn   io.ReadWriteCloser
	lost   func(undo string)
	queue  bytes.Buffer
	paused bool
	redraw bool // its screen does not show what the program's does
	gone   bool
}

// NewServer returns a Server without a Client.
func NewServer() *Server {
	s := &Server{sizes: make(chan Size, 1), signals: make(chan os.Signal, 4), patience: redrawPatience}
	s.changed = sync.NewCond(&s.mu)
	s.screen = NewFilter(&s.shown)
	s.screen.Clipboard = true // a Client decides
	return s
}

// Sizes are the screen's: the newest one, if earlier ones were not received.
func (s *Server) Sizes() <-chan Size { return s.sizes }

// Signals are those that the Client got. A Client that is lost counts as SIGHUP.
func (s *Server) Signals() <-chan os.Signal { return s.signals }

// Serve gives the terminal to the Client at the other end of conn, and takes it from
// another one. It returns at once. lost is called when the Client is gone without a word
// while the program has its terminal, such as after kill -9; undo takes that out of the
// program's modes. nil = nothing is called.
func (s *Server) Serve(conn io.ReadWriteCloser, lost func(undo string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.client; old != nil {
		old.send(taken, nil)
		old.gone = true
	}
	p := &peer{conn: conn, lost: lost}
	s.client = p
	if s.open {
		p.redraw = true
		s.greet(p)
	}
	s.changed.Broadcast()
	go s.write(p)
	go s.read(p)
}

// greet tells a Client that the program has the terminal, and in which modes it is.
func (s *Server) greet(p *peer) {
	p.send(begin, []byte{map[bool]byte{true: 1}[s.Suspends]})
	if modes := s.screen.Modes(); modes != "" {
		p.send(output, []byte(modes))
	}
}

func (p *peer) send(k kind, content []byte) { _ = writeFrames(&p.queue, k, content) } // never fails

// write passes on what waits for a Client until it is gone.
func (s *Server) write(p *peer) {
	defer p.conn.Close()
	for {
		s.mu.Lock()
		for p.queue.Len() == 0 && !p.gone {
			s.changed.Wait()
		}
		next := bytes.Clone(p.queue.Bytes())
		p.queue.Reset()
		s.changed.Broadcast()
		s.mu.Unlock()
		if len(next) == 0 {
			return
		}
		if _, err := p.conn.Write(next); err != nil {
			return
		}
	}
}

// read takes what a Client says until it is lost or leaves.
func (s *Server) read(p *peer) {
	buf := make([]byte, maxFrame)
	pastes := pastedPaths{find: s.Find}
	for {
		k, content, err := readFrame(p.conn, buf)
		if err != nil {
			s.lose(p)
			return
		}
		if k == input {
			content = pastes.take(content)
		}
		s.mu.Lock()
		detached := s.hear(p, k, content)
		s.mu.Unlock()
		if detached && s.OnDetach != nil {
			s.OnDetach()
		}
	}
}

// hear acts on one frame, and reports whether the Client left.
func (s *Server) hear(p *peer, k kind, content []byte) (detached bool) {
	defer s.changed.Broadcast()
	if s.client != p {
		return false
	}
	switch k {
	case input:
		if len(s.typed)+len(content) <= maxWaiting {
			s.typed = append(s.typed, content...)
		}
	case size:
		if size, ok := sizeOf(content); ok {
			s.resize(p, size)
		}
	case pause:
		p.paused = true
	case goOn:
		p.paused, p.redraw = false, true
		p.send(output, []byte(s.screen.Modes()))
	case received:
		if len(content) == 1 {
			s.signal(syscall.Signal(content[0]))
		}
	case detach:
		if s.open {
			p.send(words, []byte(s.Farewell))
			p.send(left, nil)
			s.client, p.gone = nil, true
			return true
		}
	}
	return false
}

// resize tells a size. A program draws its whole screen when the size has changed: to
// make it do so the size changes twice.
func (s *Server) resize(p *peer, to Size) {
	s.size = to
	if !p.redraw {
		push(s.sizes, to)
		return
	}
	p.redraw = false
	s.redraw(p, redrawTries, s.patience)
}

// redraw changes the size for a moment, again and again until the program has drawn its
// screen.
func (s *Server) redraw(p *peer, tries int, patience time.Duration) {
	if tries == 0 || s.client != p || s.over {
		return
	}
	s.redraws, s.undrawn = true, true
	push(s.sizes, Size{s.size.Columns, max(s.size.Rows, 2) - 1})
	s.after(patience, func() {
		s.redrawn()
		s.after(patience, func() {
			if s.undrawn {
				s.redraw(p, tries-1, 2*patience)
			}
		})
	})
}

// after calls f later, with the lock.
func (s *Server) after(d time.Duration, f func()) {
	time.AfterFunc(d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		f()
	})
}

// redrawn gives a program its right size after the other one.
func (s *Server) redrawn() {
	if s.redraws {
		s.redraws = false
		push(s.sizes, s.size)
	}
}

func push(sizes chan Size, newest Size) {
	select {
	case <-sizes:
	default:
	}
	sizes <- newest
}

func (s *Server) signal(sig os.Signal) {
	select {
	case s.signals <- sig:
	default: // there are enough
	}
}

// lose notes that a Client is lost.
func (s *Server) lose(p *peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.gone = true
	if s.client == p {
		s.client = nil
		if p.lost != nil && s.open && !p.paused {
			go p.lost(s.screen.modes.off()) // a terminal may have been stopped
		}
		if !s.over {
			s.signal(syscall.SIGHUP)
		}
	}
	s.changed.Broadcast()
}

// Begin gives the terminal to the program.
func (s *Server) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
	if s.client != nil {
		s.greet(s.client)
		s.changed.Broadcast()
	}
}

// Read reads what the person types.
func (s *Server) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.typed) == 0 && !s.over {
		s.changed.Wait()
	}
	if len(s.typed) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.typed)
	s.typed = s.typed[n:]
	return n, nil
}

// Write shows the program's output, as far as Filter lets it pass. It waits for a
// Client that is slow, and never fails.
func (s *Server) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown.Reset()
	_, _ = s.screen.Write(p)
	if s.First != "" && s.screen.modes.pastes() {
		s.typeFirst()
	}
	if s.undrawn && bytes.Contains(s.shown.Bytes(), []byte(cleared)) {
		s.undrawn = false
		s.redrawn()
	}
	for s.client != nil && !s.client.paused && s.client.queue.Len() > maxWaiting && !s.over {
		s.changed.Wait()
	}
	if s.client != nil && !s.client.paused && s.shown.Len() > 0 {
		s.client.send(output, s.shown.Bytes())
		s.changed.Broadcast()
	}
	return len(p), nil
}

// sendPause is the time after which Enter behind a pasted text is a key of its own.
const sendPause = 200 * time.Millisecond

// typeFirst types First.
func (s *Server) typeFirst() {
	text := strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, s.First)
	s.First = ""
	s.typed = append(s.typed, slices.Concat(pasteBegins, []byte(text), pasteEnds)...)
	s.changed.Broadcast()
	s.after(sendPause, func() {
		s.typed = append(s.typed, '\r')
		s.changed.Broadcast()
	})
}

// End takes the terminal back from the program: the person's is restored.
func (s *Server) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	s.open, s.over = false, true
	if s.client != nil {
		s.client.send(end, nil)
	}
	s.changed.Broadcast()
}

// Words are lines for the person; the Client prints them when its terminal is as it
// was.
func (s *Server) Words() io.Writer { return wordsWriter{s} }

type wordsWriter struct{ s *Server }

func (w wordsWriter) Write(p []byte) (int, error) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if c := w.s.client; c != nil && c.queue.Len() < maxWords {
		c.send(words, p)
		w.s.changed.Broadcast()
	}
	return len(p), nil
}

// Close tells the Client the supervisor's exit code, and returns when it knows or is
// gone.
func (s *Server) Close(code int) {
	s.End()
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.client
	if p == nil {
		return
	}
	p.send(exit, []byte{byte(code)})
	s.changed.Broadcast()
	for !p.gone { // it goes when it has read that
		s.changed.Wait()
	}
}
