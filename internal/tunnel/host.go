package tunnel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"sync"
)

// ErrClosed reports that the stream ended before the guest was ready.
var ErrClosed = errors.New("the tunnel's stream ended before the guest was ready")

// Host is the host's end of a tunnel. It serves from NewHost on until the
// stream ends or Close is called. All methods are safe for concurrent use.
type Host struct {
	conn  *streamConn
	ready chan struct{} // closed once the guest's port accepts connections
	end   chan struct{} // closed once every handler has returned
}

// NewHost serves handler on conn, whose other end is a guest's standard
// streams. It takes over conn and closes it in the end; conn.Close must make a
// Read under way return, as net.Conn and os.File pipes do.
func NewHost(conn io.ReadWriteCloser, handler http.Handler) *Host {
	h := &Host{
		conn:  newStreamConn(conn, conn, conn.Close),
		ready: make(chan struct{}),
		end:   make(chan struct{}),
	}
	announce := sync.OnceFunc(func() { close(h.ready) })
	var running sync.RWMutex // held for reading by each handler, and for good once no other may begin
	server := &http.Server{
		Protocols: onlyHTTP2(),
		HTTP2:     http2Config(),
		// net/http would write to the process's standard error, which
		// belongs to the user; a handler reports what it has to say itself.
		ErrorLog: log.New(io.Discard, "", 0),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Host == readyHost && r.URL.Path == readyPath {
				// Wait until the guest has read the answer, which it shows by
				// ending its body: somebody may act on readiness at once,
				// such as by ending the stream.
				_ = http.NewResponseController(w).Flush()
				if _, err := io.Copy(io.Discard, r.Body); err == nil {
					announce()
				}
				return
			}
			if running.TryRLock() {
				defer running.RUnlock()
				handler.ServeHTTP(w, r)
			}
		}),
	}
	go func() {
		_ = server.Serve(newOneListener(h.conn)) // ends with the connection
		_ = server.Close()
		running.Lock()
		close(h.end)
	}()
	return h
}

// WaitReady returns nil as soon as the guest's port accepts connections. It
// fails with ErrClosed when the stream ends before (the guest's standard error
// says why), or with ctx's error.
func (h *Host) WaitReady(ctx context.Context) error {
	select {
	case <-h.ready:
		return nil
	case <-h.conn.done:
		if h.conn.err != nil {
			return fmt.Errorf("%w: %w", ErrClosed, h.conn.err)
		}
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("waiting for the tunnel's guest: %w", context.Cause(ctx))
	}
}

// Done is closed when either side has ended the stream.
func (h *Host) Done() <-chan struct{} { return h.conn.done }

// Wait blocks until the stream is over and no handler runs any more. It
// returns nil after an orderly end (Close, or the guest left) and the
// stream's error otherwise.
func (h *Host) Wait() error {
	<-h.end
	return h.conn.err
}

// Close ends the stream, which makes the guest return, and waits for the
// handlers, whose contexts are cancelled.
func (h *Host) Close() error {
	_ = h.conn.Close()
	return h.Wait()
}
