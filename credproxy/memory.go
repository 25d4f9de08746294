package credproxy

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/org/claude-sandbox/internal/apierror"
)

// Bounds of what the requests of an agent take of this process. Nothing else
// limits the host's side of a run: a container's limits end at its tunnel.
const (
	// maxBuffered bounds the bodies of all requests together, in bytes: those
	// that arrive and those that are held until their answers end. Beyond it a
	// request is answered 529, which claude repeats.
	maxBuffered = 96 << 20
	// maxInFlight bounds the requests that wait for the upstream or hear its
	// answer. Claude asks for some ten at a time.
	maxInFlight = 64
	// maxReading bounds the bodies that are read for what they ask at a time;
	// more wait.
	maxReading = 4
	// firstBuffer is what a body takes before any of it has arrived, in bytes.
	// It grows with what arrives: to announce a length costs nothing.
	firstBuffer = 16 << 10
)

// take reserves n bytes for a body and reports whether there was room.
func (p *Proxy) take(n int64) bool {
	if p.buffered.Add(n) > maxBuffered {
		p.buffered.Add(-n)
		return false
	}
	return true
}

// bodyBuffer is a request's body in memory.
type bodyBuffer struct {
	bytes []byte
	proxy *Proxy
}

// free ends the reservation. The bytes must not be used afterwards.
func (b *bodyBuffer) free() {
	b.proxy.buffered.Add(-int64(cap(b.bytes)))
	b.bytes = nil
}

// grow makes room for more, at most for limit bytes.
func (b *bodyBuffer) grow(limit int64) bool {
	size := min(max(2*int64(cap(b.bytes)), firstBuffer), limit)
	if !b.proxy.take(size) {
		return false
	}
	old := b.bytes
	b.bytes = append(make([]byte, 0, size), old...)
	// A slice of bytes is made in the size that was asked for or a little more.
	b.bytes = b.bytes[:len(old):size]
	b.proxy.buffered.Add(-int64(cap(old)))
	return true
}

// readBody reads the body of r. It is held in memory until its answer ends, so
// that the transport can repeat a request that a dying connection lost.
func (p *Proxy) readBody(w http.ResponseWriter, r *http.Request) (*bodyBuffer, *refusal) {
	limit := p.maxBody + 1 // one byte tells a body that is too long
	if r.ContentLength >= 0 {
		limit = max(r.ContentLength, 1)
	}
	// Not every ResponseWriter has deadlines; then the client's patience costs
	// what it has sent.
	deadlines := http.NewResponseController(w)
	_ = deadlines.SetReadDeadline(time.Now().Add(bodyTimeout))
	body := &bodyBuffer{proxy: p}
	for {
		if len(body.bytes) == cap(body.bytes) && int64(len(body.bytes)) < limit && !body.grow(limit) {
			body.free()
			return nil, &refusal{status: 529, kind: apierror.Overloaded, message: "too many large requests at a time"}
		}
		n, err := r.Body.Read(body.bytes[len(body.bytes):cap(body.bytes)])
		body.bytes = body.bytes[:len(body.bytes)+n]
		if int64(len(body.bytes)) > p.maxBody {
			body.free()
			return nil, p.tooLarge()
		}
		if errors.Is(err, io.EOF) || r.ContentLength >= 0 && int64(len(body.bytes)) == r.ContentLength {
			break
		}
		if err != nil {
			body.free()
			return nil, &refusal{status: http.StatusRequestTimeout, kind: apierror.InvalidRequest, message: "the request's body did not arrive"}
		}
	}
	_ = deadlines.SetReadDeadline(time.Time{})
	return body, nil
}
