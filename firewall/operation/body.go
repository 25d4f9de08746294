package operation

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/org/claude-sandbox/firewall/operation/strictjson"
)

// ErrLong means that a body is longer than an operation may be.
var ErrLong = errors.New("the body is longer than this operation's may be")

// ErrNoRoom means that bodies that are judged take all the memory that there is for them.
var ErrNoRoom = errors.New("too many large requests at a time")

// firstPeek is how much of a body is read first, in bytes.
const firstPeek = 4 << 10

const (
	maxHeld    = 64 << 20 // bytes of all bodies together
	maxParsing = 4        // bodies at a time: what is made of one takes many times its size
)

// Room bounds the memory that the bodies of many requests take together. It is safe for
// concurrent use.
type Room struct {
	held    atomic.Int64  // bytes
	parsing chan struct{} // holds a value for each body that is parsed
}

// NewRoom returns a room in which there is nothing.
func NewRoom() *Room { return &Room{parsing: make(chan struct{}, maxParsing)} }

// Body is the body of a request, of which judges look at the first bytes.
// Nothing is lost: Rest returns all of it.
type Body struct {
	from io.Reader
	read []byte
	end  error

	room    *Room
	held    int // bytes of the room
	parsing bool
}

// NewBody returns a body in a room of its own, of which nothing is read yet.
func NewBody(from io.Reader) *Body { return NewRoom().Body(from) }

// Body returns a body of which nothing is read yet. Free ends it.
func (r *Room) Body(from io.Reader) *Body { return &Body{from: from, room: r} }

// hold takes n bytes of the room.
func (b *Body) hold(n int) bool {
	if b.room.held.Add(int64(n)) > maxHeld {
		b.room.held.Add(-int64(n))
		return false
	}
	b.held += n
	return true
}

// Judged lets other bodies be parsed. The caller has the decision.
func (b *Body) Judged() {
	if b.parsing {
		b.parsing = false
		<-b.room.parsing
	}
}

// Free gives back what the body holds. Its bytes must not be used afterwards.
func (b *Body) Free() {
	b.Judged()
	b.room.held.Add(-int64(b.held))
	b.read, b.held, b.end = nil, 0, io.EOF
}

// parse waits until there is room for what becomes of a text, until Judged.
func (b *Body) parse(text []byte) (map[string]any, error) {
	b.beginParsing()
	return strictjson.Object(text)
}

func (b *Body) beginParsing() {
	if !b.parsing {
		b.room.parsing <- struct{}{}
		b.parsing = true
	}
}

// Peek returns the first n bytes, fewer with io.EOF when the body ends before.
func (b *Body) Peek(n int) ([]byte, error) {
	for n > len(b.read) && b.end == nil { // in steps: most bodies are far smaller than what is asked for
		had := len(b.read)
		more := min(n-had, max(had, firstPeek))
		if !b.hold(more) {
			return b.read, ErrNoRoom
		}
		b.read = append(b.read, make([]byte, more)...)
		got, err := io.ReadFull(b.from, b.read[had:])
		b.read = b.read[:had+got]
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.EOF
		}
		b.end = err
	}
	if n > len(b.read) {
		return b.read, b.end
	}
	return b.read[:n], nil
}

// Whole returns the whole body, or ErrLong when it has more than limit bytes.
func (b *Body) Whole(limit int) ([]byte, error) {
	all, err := b.Peek(limit + 1)
	switch {
	case err == nil:
		return nil, fmt.Errorf("%w: %d bytes", ErrLong, limit)
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	return all, nil
}

// Rest returns a reader of the whole body. Nothing may be peeked afterwards.
func (b *Body) Rest() io.Reader {
	head := &prefix{b.read}
	if b.end != nil {
		return io.MultiReader(head, failing{b.end})
	}
	return io.MultiReader(head, b.from)
}

type prefix struct{ rest []byte }

func (p *prefix) Read(into []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(into, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Prefix returns a reader of the first limit bytes, behind which it fails with
// ErrLong. It takes nothing from the body.
func (b *Body) Prefix(limit int) io.Reader { return &peeker{body: b, limit: limit} }

type peeker struct {
	body      *Body
	at, limit int
}

func (p *peeker) Read(into []byte) (int, error) {
	if len(into) == 0 {
		return 0, nil
	}
	if p.at == p.limit {
		return 0, ErrLong
	}
	want := min(p.at+len(into), p.limit)
	seen, err := p.body.Peek(want)
	n := copy(into, seen[min(p.at, len(seen)):])
	if p.at += n; n > 0 {
		return n, nil
	}
	return 0, err
}
