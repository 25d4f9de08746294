package tunnel

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"
)

// Names inside the stream. They are never resolved: the transport finds the
// one connection under streamHost. A request of the agent carries agentHost
// whatever it asked for, so readyHost is the guest's own.
const (
	streamHost = "stream.sbx.invalid"
	agentHost  = "agent.sbx.invalid"
	readyHost  = "tunnel.sbx.invalid"
	readyPath  = "/ready"
)

// http2Config sets large frames and windows. With net/http's defaults a bulk
// download through the stream is many times slower: every 16 KiB frame costs
// a system call on each side of the engine. Buffers must stay under 4 MiB,
// or net/http falls back to its defaults.
func http2Config() *http.HTTP2Config {
	return &http.HTTP2Config{
		MaxReadFrameSize:              1 << 20,
		MaxReceiveBufferPerStream:     4<<20 - 1,
		MaxReceiveBufferPerConnection: 4<<20 - 1,
		MaxConcurrentStreams:          1000,
		StrictMaxConcurrentRequests:   true, // more requests wait; there is no second connection
	}
}

func onlyHTTP2() *http.Protocols {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return p
}

// streamConn makes a net.Conn of a byte stream. Deadlines are not supported
// and not needed: net/http implements per-request deadlines of HTTP/2 itself.
type streamConn struct {
	r     io.Reader
	w     io.Writer
	close func() error

	once sync.Once
	done chan struct{} // closed when the stream is over in either direction
	err  error         // why; nil for an orderly end; set before done closes
}

// NewConn makes a connection of a byte stream, without deadlines.
func NewConn(stream io.ReadWriteCloser) net.Conn { return newStreamConn(stream, stream, stream.Close) }

func newStreamConn(r io.Reader, w io.Writer, closeStream func() error) *streamConn {
	return &streamConn{r: r, w: w, close: closeStream, done: make(chan struct{})}
}

func (c *streamConn) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if err != nil {
		c.finish(err)
	}
	return n, err
}

func (c *streamConn) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if err != nil {
		c.finish(err)
	}
	return n, err
}

// Close ends both directions. It is idempotent.
func (c *streamConn) Close() error { c.finish(nil); return nil }

func (c *streamConn) finish(err error) {
	c.once.Do(func() {
		if !orderly(err) {
			c.err = err
		}
		_ = c.close() // the stream is over either way
		close(c.done)
	})
}

// orderly reports whether err says no more than that an end was closed. A
// writer learns of it as EPIPE.
func orderly(err error) bool {
	for _, end := range []error{io.EOF, io.ErrClosedPipe, net.ErrClosed, os.ErrClosed, syscall.EPIPE} {
		if errors.Is(err, end) {
			return true
		}
	}
	return err == nil
}

func (c *streamConn) LocalAddr() net.Addr              { return streamAddr{} }
func (c *streamConn) RemoteAddr() net.Addr             { return streamAddr{} }
func (c *streamConn) SetDeadline(time.Time) error      { return os.ErrNoDeadline }
func (c *streamConn) SetReadDeadline(time.Time) error  { return os.ErrNoDeadline }
func (c *streamConn) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }

type streamAddr struct{}

func (streamAddr) Network() string { return "stream" }
func (streamAddr) String() string  { return "stream" }

// oneListener hands out its connection once; the next Accept waits for that
// connection's end, which ends http.Server.Serve.
type oneListener struct {
	conn   *streamConn
	handed chan struct{} // holds one token until the connection is handed out
}

func newOneListener(c *streamConn) *oneListener {
	l := &oneListener{conn: c, handed: make(chan struct{}, 1)}
	l.handed <- struct{}{}
	return l
}

func (l *oneListener) Accept() (net.Conn, error) {
	select {
	case <-l.handed:
		return l.conn, nil
	case <-l.conn.done:
		return nil, net.ErrClosed
	}
}

func (l *oneListener) Close() error   { return l.conn.Close() }
func (l *oneListener) Addr() net.Addr { return streamAddr{} }
