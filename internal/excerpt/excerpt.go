// Package excerpt keeps a part of what another program writes, within a bound: its end,
// where it says why it failed, its beginning, or all of it unless that is too much.
//
//	program's output ──► Head: the first bytes; the rest is dropped, or an error
//	                └──► Tail: the last bytes
package excerpt

import (
	"strings"
	"sync"
)

// Head is a writer that keeps the beginning. It is safe for concurrent use.
type Head struct {
	Most int // bytes that it keeps
	// TooMuch is what a write beyond Most errs with, and every later one; nil = what is
	// beyond it is dropped.
	TooMuch error

	mu   sync.Mutex
	text strings.Builder
	over bool
}

// Write keeps what has room. It errs with TooMuch alone.
func (h *Head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	room := h.Most - h.text.Len()
	if h.over = h.over || len(p) > room; h.over && h.TooMuch != nil {
		return 0, h.TooMuch
	}
	h.text.Write(p[:min(len(p), room)])
	return len(p), nil
}

// String is what is kept.
func (h *Head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// Over reports whether more was written than is kept.
func (h *Head) Over() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.over
}

// Tail is a writer that keeps the end. It is safe for concurrent use.
type Tail struct {
	Most int // bytes that it keeps

	mu   sync.Mutex
	text []byte
}

// Write keeps the last bytes. It never errs.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[max(0, len(p)-t.Most):]...)
	if over := len(t.text) - t.Most; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

// String is what is kept.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
