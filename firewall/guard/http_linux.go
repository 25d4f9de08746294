package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// serveHTTP judges every request of an HTTP/1 connection before any byte of it
// is passed on. The server's bytes flow back meanwhile, unread.
func (c *conn) serveHTTP(ctx context.Context) error {
	for first := true; ; first = false {
		websocket, err := c.passRequest(ctx, first)
		if err != nil {
			return c.lastReply(err)
		}
		c.settle()
		if c.backward == nil {
			switched, err := c.answerSwitches(websocket)
			if err == nil && switched {
				err = c.carry(nil)
			}
			if err != nil || switched {
				return err
			}
			c.startBackward()
		}
	}
}

// passRequest reads, judges and passes on one request with its body. The
// replies begin to flow with the first request's head, since a client may want
// one before it sends the body ("Expect: 100-continue"). Only when that request
// asks for WebSocket they wait for answerSwitches, and its key is returned.
func (c *conn) passRequest(ctx context.Context, first bool) (websocket string, err error) {
	h, size, err := c.readHead()
	if err != nil {
		return "", err
	}
	if err := c.judgeRequest(ctx, h); err != nil {
		return "", err
	}
	if first && h.length == 0 {
		websocket = h.websocket
	}
	// The buffer stays as it is, with the next requests in it, unless it must not.
	if head := h.rewritten(c.client.buf[:size], websocket != ""); !bytes.Equal(head, c.client.buf[:size]) {
		c.client.buf = append(head, c.client.buf[size:]...)
		size = len(head)
	}
	if err := c.client.pass(c.upstream, size); err != nil {
		return "", err
	}
	c.settle()
	if first && websocket == "" {
		c.startBackward()
	}
	err = c.passBody(h.length)
	var bad *bodyError
	if errors.As(err, &bad) {
		err = &refusal{name: h.host, rule: ruleGuard, why: err.Error()}
	}
	return websocket, err
}

// startBackward lets the server's bytes flow to the client.
func (c *conn) startBackward() {
	done := make(chan error, 1)
	c.backward = done
	go func() { done <- c.back() }()
}

// judgeRequest judges a request and, for the first one, connects.
func (c *conn) judgeRequest(ctx context.Context, h head) error {
	if h.port != 0 && h.port != c.dst.Port() {
		return &refusal{name: h.host, rule: ruleGuard, why: fmt.Sprintf("the request is for port %d and went to port %d", h.port, c.dst.Port())}
	}
	addrs, err := c.judge(ctx, h.host)
	if err != nil || c.upstream != nil {
		return err
	}
	defer c.watch()()
	return c.dial(ctx, addrs)
}

// readHead waits for a request and reads its whole head into the client's
// buffer. io.EOF means that the client ended between two requests.
func (c *conn) readHead() (head, int, error) {
	if len(c.client.buf) == 0 {
		// A connection may rest between two requests as long as the server likes.
		if err := c.client.SetReadDeadline(time.Time{}); err != nil {
			return head{}, 0, err
		}
		if err := c.client.fill(); err != nil {
			return head{}, 0, err
		}
	}
	if err := c.awaitWords(); err != nil {
		return head{}, 0, err
	}
	refuse := func(err error) (head, int, error) {
		return head{}, 0, &refusal{rule: ruleGuard, why: err.Error()}
	}
	scanned, lineRead := 0, false
	for {
		size, err := headEnd(c.client.buf, scanned)
		// The first line is judged as soon as it is there: what speaks another
		// protocol may never send an empty one.
		if line, _, ok := bytes.Cut(c.client.buf, []byte("\r\n")); err == nil && ok && !lineRead {
			lineRead = true
			_, _, _, err = parseRequestLine(string(line))
		}
		if err != nil {
			return refuse(err)
		}
		if size > 0 {
			h, err := parseHead(c.client.buf[:size])
			if err != nil {
				return refuse(err)
			}
			return h, size, c.client.SetReadDeadline(time.Time{})
		}
		scanned = len(c.client.buf)
		if err := c.more(); err != nil {
			return head{}, 0, c.unfinished(err, "the request")
		}
	}
}

// passBody passes a request's body on, as far as its framing says and no byte
// further.
func (c *conn) passBody(length int64) error {
	if length != chunked {
		return c.client.passAll(c.upstream, length)
	}
	for {
		size, line, err := c.chunkLine()
		if err != nil {
			return err
		}
		if size == 0 {
			return c.passTrailers(line)
		}
		if err := c.client.pass(c.upstream, line); err != nil {
			return err
		}
		if err := c.client.passAll(c.upstream, size); err != nil {
			return err
		}
		for len(c.client.buf) < 2 {
			if err := c.client.fill(); err != nil {
				return errGone
			}
		}
		if string(c.client.buf[:2]) != "\r\n" {
			return &bodyError{errChunk}
		}
		if err := c.client.pass(c.upstream, 2); err != nil {
			return err
		}
	}
}

func (c *conn) chunkLine() (size int64, line int, err error) {
	for {
		if size, line, err = parseChunkLine(c.client.buf); err != nil {
			return 0, 0, &bodyError{err}
		}
		if line > 0 {
			return size, line, nil
		}
		if err := c.more(); err != nil {
			return 0, 0, c.unfinished(err, "the request's body")
		}
	}
}

// passTrailers passes the last chunk's line and what follows it on.
func (c *conn) passTrailers(line int) error {
	for {
		rest := c.client.buf[line:]
		if bytes.HasPrefix(rest, []byte("\r\n")) {
			return c.client.pass(c.upstream, line+2)
		}
		size, err := headEnd(rest, 0)
		if err == nil && size > 0 {
			err = checkTrailers(rest[:size])
		}
		if err != nil {
			return &bodyError{err}
		}
		if size > 0 {
			return c.client.pass(c.upstream, line+size)
		}
		if err := c.more(); err != nil {
			return c.unfinished(err, "the request's body")
		}
	}
}

// answerSwitches passes the begin of the reply to the first request, which had
// this Sec-WebSocket-Key, on and reports whether the server leaves HTTP with it.
// Only then may what the client sends next be something else than a request.
func (c *conn) answerSwitches(key string) (bool, error) {
	defer c.watch()()
	if err := c.upstream.SetDeadline(time.Now().Add(c.server.opts.Timeout)); err != nil {
		return false, err
	}
	up := stream{TCPConn: c.upstream}
	size, scanned := 0, 0
	for size == 0 && strings.HasPrefix(switchBegins, string(up.buf[:min(len(up.buf), len(switchBegins))])) {
		if err := up.fill(); err != nil {
			return false, errGone
		}
		var err error
		if size, err = headEnd(up.buf, scanned); err != nil {
			break // no head that we understand
		}
		scanned = len(up.buf)
	}
	switched := size > 0 && agreesToWebSocket(up.buf[:size], key)
	if err := up.pass(c.client, len(up.buf)); err != nil {
		return false, err
	}
	return switched, c.upstream.SetDeadline(time.Time{})
}

// bodyError is a body whose end cannot be told for sure.
type bodyError struct{ error }

// replyTime is how long the server has to finish its replies to earlier
// requests when a later one is refused.
const replyTime = 5 * time.Second

// lastReply ends the client's direction for cause and waits for the server's.
// A refusal of a later request can only be told behind the replies to the
// earlier ones, and where those end only the server knows: it closes when it
// hears that nothing more comes.
func (c *conn) lastReply(cause error) error {
	var no *refusal
	refused := errors.As(cause, &no)
	if c.backward == nil || !refused && !errors.Is(cause, io.EOF) {
		if c.upstream != nil {
			reset(c.upstream)
		}
		if c.backward != nil {
			<-c.backward
		}
		return cause
	}
	c.holdEnd.Store(refused)
	if err := ended(c.upstream.CloseWrite()); err != nil {
		reset(c.upstream)
	}
	if !refused {
		return <-c.backward
	}
	select {
	case <-c.backward:
	case <-time.After(replyTime):
		reset(c.upstream)
		reset(c.client.TCPConn)
		<-c.backward
	}
	return cause
}
