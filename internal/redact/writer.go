package redact

import (
	"bytes"
	"io"
	"strings"
)

// Writer returns a writer that passes on to w what it is given, without the
// secrets. The output does not depend on how the input is cut into pieces, but for Flow. It
// holds back only bytes that may turn out to begin a secret; Close writes
// those, and does not close w. It is not safe for concurrent use.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser {
	return &writer{r: r, w: w}
}

type writer struct {
	r *Redactor
	w io.Writer

	held    []byte    // input not yet decided
	covered int       // so many bytes of held are known to be secret
	tails   alphabets // of matches that go on as long as the text does
	inRun   bool      // the last byte written was secret
	shown   int       // so many bytes of held are written already
	out     bytes.Buffer
}

func (w *writer) Write(p []byte) (int, error) {
	if err := w.advance(string(w.held)+string(p), false); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *writer) Close() error { return w.advance(string(w.held), true) }

// advance decides byte for byte of text whether it is secret, and writes what is
// decided and holds the rest. A byte is secret if any match covers it, so that two secrets which
// overlap leave nothing of either.
func (w *writer) advance(text string, last bool) error {
	i := 0
	for i < len(text) {
		if w.tails == 0 && w.covered == 0 && w.shown == 0 {
			if plain := w.r.plain(text[i:]); plain > 0 {
				w.out.WriteString(text[i : i+plain])
				w.inRun = false
				i += plain
				continue
			}
		}
		if w.tails &= classes[text[i]]; w.tails != 0 {
			w.covered = max(w.covered, 1)
		}
		if w.r.starts[text[i]] {
			n, open, undecided := w.r.longest(text[i:], w.tails)
			if undecided && !last {
				break
			}
			w.covered = max(w.covered, n)
			w.tails |= open
		}
		w.emit(text[i], w.covered > 0)
		w.covered = max(w.covered-1, 0)
		i++
	}
	w.held = append(w.held[:0], text[i:]...)
	if !last && w.r.mayShow(text[i:]) {
		for ; w.shown < len(w.held); w.shown++ {
			w.put(w.held[w.shown], w.shown < w.covered)
		}
	}
	if w.out.Len() == 0 {
		return nil
	}
	_, err := w.w.Write(w.out.Bytes())
	w.out.Reset()
	return err
}

// plain returns the number of bytes before the first that may begin a match.
func (r *Redactor) plain(text string) int {
	for i := range len(text) {
		if r.starts[text[i]] && (i == len(text)-1 || r.seconds[text[i]].has(text[i+1])) {
			return i
		}
	}
	return len(text)
}

// emit writes a byte, unless it is written already.
func (w *writer) emit(b byte, secret bool) {
	if w.shown > 0 {
		w.shown--
		w.inRun = secret
		return
	}
	w.put(b, secret)
}

// The part of a secret that Flow shows: one of shownPart, and at most mostShown bytes.
const (
	shownPart = 8
	mostShown = 4
)

// mayShow reports whether the last bytes of a text need not wait for more.
func (r *Redactor) mayShow(tail string) bool {
	if !r.flow || len(tail) > mostShown {
		return false
	}
	for i := range tail {
		for _, s := range r.exact {
			if strings.HasPrefix(s, tail[i:]) && len(tail)-i > len(s)/shownPart {
				return false
			}
		}
	}
	return true
}

func (w *writer) put(b byte, secret bool) {
	switch {
	case !secret:
		w.out.WriteByte(b)
	case w.r.mask:
		w.out.WriteByte('*')
	case !w.inRun:
		w.out.WriteString(Placeholder)
	}
	w.inRun = secret
}

// longest returns the length of the longest match at the start of text and
// the alphabets of matches that reach text's end. undecided means that more
// text could make another match. Patterns with an alphabet in under are not
// looked for: a match under way covers what they would.
func (r *Redactor) longest(text string, under alphabets) (n int, open alphabets, undecided bool) {
	for _, s := range r.exact {
		switch {
		case len(text) < len(s):
			undecided = undecided || strings.HasPrefix(s, text)
		case strings.HasPrefix(text, s):
			n = max(n, len(s))
		}
		escaped, wait := matchEscaped(text, s)
		n, undecided = max(n, escaped), undecided || wait
	}
	for _, p := range r.patterns[text[0]] {
		if p.alphabet&under != 0 {
			continue
		}
		m, wait, reaches := p.match(text)
		undecided = undecided || wait
		n = max(n, m)
		if reaches {
			open |= p.alphabet
		}
	}
	return n, open, undecided
}
