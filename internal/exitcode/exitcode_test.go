package exitcode

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestOf(t *testing.T) {
	plain := errors.New("plain")
	for name, c := range map[string]struct {
		err  error
		code int
		show error
	}{
		"success":                {nil, 0, nil},
		"an error without code":  {plain, 70, plain},
		"an error with a code":   {With(65, plain), 65, plain},
		"a code alone":           {With(1, nil), 1, nil},
		"a code inside an error": {fmt.Errorf("above: %w", With(65, plain)), 65, plain},
		"a code behind another":  {With(64, With(65, plain)), 64, With(65, plain)},
	} {
		code, show := Of(c.err, 70)
		if code != c.code || fmt.Sprint(show) != fmt.Sprint(c.show) {
			t.Errorf("%s: got %d %v, want %d %v", name, code, show, c.code, c.show)
		}
	}
}

func TestErrorSpeaksForItsCause(t *testing.T) {
	if err := With(3, fmt.Errorf("reading: %w", io.EOF)); err.Error() != "reading: EOF" || !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
	if err := With(3, nil); err.Error() != "exit 3" {
		t.Errorf("got %v", err)
	}
}
