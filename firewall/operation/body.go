package operation

import (
	"errors"
	"fmt"
	"io"
)

// ErrLong means that a body is longer than an operation may be.
var ErrLong = errors.New("the body is longer than this operation's may be")

// firstPeek is how much of a body is read first, in bytes.
const firstPeek = 4 << 10

// Body is the body of a request, of which judges look at the first bytes.
// Nothing is lost: Rest returns all of it.
type Body struct {
	from io.Reader
	read []byte
	end  error
}

// NewBody returns a body of which nothing is read yet.
func NewBody(from io.Reader) *Body { return &Body{from: from} }

// Peek returns the first n bytes, fewer with io.EOF when the body ends before.
func (b *Body) Peek(n int) ([]byte, error) {
	for n > len(b.read) && b.end == nil { // in steps: most bodies are far smaller than what is asked for
		had := len(b.read)
		b.read = append(b.read, make([]byte, min(n-had, max(had, firstPeek)))...)
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
