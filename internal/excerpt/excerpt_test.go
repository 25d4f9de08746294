package excerpt

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// Attack: a program writes without end. No more is kept than the bound says.
func TestAttackAProgramWritesWithoutEnd(t *testing.T) {
	head, tail := &Head{Most: 10}, &Tail{Most: 10}
	text := strings.Repeat("0123456789abcdefghij", 1000) + "END"
	for _, to := range []io.Writer{head, tail} {
		if n, err := io.Copy(to, struct{ io.Reader }{strings.NewReader(text)}); n != int64(len(text)) || err != nil {
			t.Errorf("%d bytes written: %v", n, err)
		}
	}
	if head.String() != "0123456789" || !head.Over() || tail.String() != "defghijEND" {
		t.Errorf("kept %q and %q", head.String(), tail.String())
	}
	for _, part := range []string{"a", "", "bc", "defghijk", "l"} {
		_, _ = io.WriteString(tail, part)
	}
	if tail.String() != "cdefghijkl" || cap(tail.text) > 100 {
		t.Errorf("kept %q in %d bytes", tail.String(), cap(tail.text))
	}
}

func TestTooMuchIsAnError(t *testing.T) {
	tooMuch := errors.New("too much")
	whole := &Head{Most: 3, TooMuch: tooMuch}
	if _, err := io.WriteString(whole, "abc"); err != nil || whole.Over() || whole.String() != "abc" {
		t.Errorf("as much as fits: %q, %v", whole.String(), err)
	}
	for range 2 {
		if _, err := io.WriteString(whole, "d"); !errors.Is(err, tooMuch) || !whole.Over() || whole.String() != "abc" {
			t.Errorf("more: %q, %v", whole.String(), err)
		}
	}
}
