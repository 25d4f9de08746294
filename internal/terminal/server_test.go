package terminal

import (
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// far is a Client's end of a connection, by hand.
type far struct {
	t    *testing.T
	conn net.Conn
	buf  []byte
}

func newFar(t *testing.T, s *Server) *far {
	t.Helper()
	here, there := net.Pipe()
	s.Serve(there, nil)
	t.Cleanup(func() { here.Close() })
	return &far{t, here, make([]byte, maxFrame)}
}

// expect reads frames up to one of kind k, and returns all output on the way.
func (f *far) expect(k kind) (shown string) {
	f.t.Helper()
	_ = f.conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	for {
		got, content, err := readFrame(f.conn, f.buf)
		if err != nil {
			f.t.Fatalf("waiting for %c: %v", k, err)
		}
		if got == output || got == words {
			shown += string(content)
		}
		if got == k {
			return shown
		}
	}
}

func (f *far) send(k kind, content string) {
	f.t.Helper()
	if err := writeFrames(f.conn, k, []byte(content)); err != nil {
		f.t.Fatal(err)
	}
}

func TestAServersClientsComeAndGo(t *testing.T) {
	s := NewServer()
	s.Farewell = "bye"
	gone := make(chan bool, 1)
	s.OnDetach = func() { gone <- true }
	one := newFar(t, s)
	s.Begin()
	one.expect(begin)
	one.send(input, "typed")
	if buf := make([]byte, 10); true {
		if n, err := s.Read(buf); err != nil || string(buf[:n]) != "typed" {
			t.Errorf("%q %v", buf[:n], err)
		}
	}
	_, _ = s.Write([]byte("\x1b[?1049h\x1b]0;EVIL\ahello"))
	if shown := one.expect(output); shown != "\x1b[?1049hhello" {
		t.Errorf("%q", shown)
	}
	one.send(detach, "")
	if shown := one.expect(left); !strings.Contains(shown, "bye") {
		t.Errorf("%q", shown)
	}
	<-gone
	_, _ = s.Write([]byte("nobody sees this")) // and it does not wait
	two := newFar(t, s)
	two.expect(begin)
	if modes := two.expect(output); modes != "\x1b[?1049h" {
		t.Errorf("the modes are %q", modes)
	}
	two.send(size, string(Size{80, 24}.bytes()))
	if first := <-s.Sizes(); first != (Size{80, 23}) {
		t.Errorf("%v", first)
	}
	_, _ = s.Write([]byte(cleared))
	if second := <-s.Sizes(); second != (Size{80, 24}) {
		t.Errorf("%v", second)
	}
	three := newFar(t, s)
	two.expect(taken)
	three.send(received, string([]byte{byte(syscall.SIGTERM)}))
	if sig := <-s.Signals(); sig != syscall.SIGTERM {
		t.Error(sig)
	}
	three.conn.Close()
	if sig := <-s.Signals(); sig != os.Signal(syscall.SIGHUP) {
		t.Error(sig)
	}
	s.End()
	if _, err := s.Read(make([]byte, 1)); err != io.EOF {
		t.Error(err)
	}
	s.Close(3) // nobody waits
}

// A program that is too busy to see the size that makes it draw gets it again, until it
// has drawn, and no more then.
func TestABusyProgramDrawsItsScreen(t *testing.T) {
	s := NewServer()
	s.patience = 50 * time.Millisecond
	s.Begin()
	one := newFar(t, s)
	one.expect(begin)
	one.send(size, string(Size{80, 24}.bytes()))
	for _, want := range []uint16{23, 24, 23} {
		for got := (Size{}); got != (Size{80, want}); { // a reader that is late misses one
			select {
			case got = <-s.Sizes():
			case <-time.After(10 * time.Second):
				t.Fatalf("it never has %d rows", want)
			}
		}
	}
	_, _ = s.Write([]byte(cleared))
	if got := <-s.Sizes(); got != (Size{80, 24}) {
		t.Errorf("%v when it has drawn", got)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.undrawn || s.redraws {
		t.Error("it is asked to draw again")
	}
}

// A person's first words are typed when the program takes a pasted text, and none of them
// is a key of its own. A text for the clipboard passes here: each Client decides for its
// terminal.
func TestAServerTypesTheFirstWords(t *testing.T) {
	s := NewServer()
	s.First = "fix\x1b[201~\x03 the\ntests\r"
	one := newFar(t, s)
	s.Begin()
	one.expect(begin)
	_, _ = s.Write([]byte("starting\x1b]52;c;aGk=\a"))
	if shown := one.expect(output); !strings.HasSuffix(shown, "\x1b]52;c;aGk=\a") {
		t.Errorf("%q", shown)
	}
	_, _ = s.Write([]byte("\x1b[?2004h\x1b[?2004l\x1b[?2004h"))
	got := ""
	for buf := make([]byte, 100); !strings.HasSuffix(got, "\r"); {
		n, err := s.Read(buf)
		if got += string(buf[:n]); err != nil {
			t.Fatal(err)
		}
	}
	if got != "\x1b[200~fix[201~ the\ntests\x1b[201~\r" {
		t.Errorf("%q", got)
	}
}

// The supervisor waits until the person knows how the run ended, and no longer.
func TestAServersExitCodeArrives(t *testing.T) {
	s := NewServer()
	one := newFar(t, s)
	s.Begin()
	closed := make(chan bool)
	go func() { s.Close(7); close(closed) }()
	one.expect(end)
	one.expect(exit)
	if one.buf[0] != 7 {
		t.Errorf("the code is %d", one.buf[0])
	}
	one.conn.Close()
	<-closed
}
