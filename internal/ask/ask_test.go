package ask

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

var abc = []Option{{"a", "a"}, {"b", "b"}, {"c", "c"}}

func TestOne(t *testing.T) {
	for _, tt := range []struct {
		name, typed, proposed, want string
	}{
		{"Number", "3\n", "a", "c"},
		{"EmptyTakesTheProposed", "\n", "b", "b"},
		{"EmptyIsNoAnswerWithoutOne", "\n2\n", "", "b"},
		{"OutOfRangeIsAskedAgain", "0\n4\n-1\n99999999999999999999\n1\n", "b", "a"},
		{"WordIsAskedAgain", "b\n1 2\n3x\n2\n", "a", "b"},
		{"SpacesAroundIt", "  2\t\r\n", "a", "b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			got, err := New(strings.NewReader(tt.typed), &out).One(t.Context(), "Which?", abc, tt.proposed)
			if got != tt.want || err != nil {
				t.Errorf("got %q, %v, want %q:\n%s", got, err, tt.want, &out)
			}
			if asked := strings.Count(out.String(), "Which?: "); asked != strings.Count(tt.typed, "\n") {
				t.Errorf("asked %d times:\n%s", asked, &out)
			}
		})
	}
}

func TestSome(t *testing.T) {
	for _, tt := range []struct {
		name, typed string
		chosen      []string
		want        []string
	}{
		{"EnterChangesNothing", "\n", nil, nil},
		{"EnterKeepsTheChosen", "\n", []string{"b"}, []string{"b"}},
		{"OrderIsTheList's", "3 1\n\n", nil, []string{"a", "c"}},
		{"SecondTimeTurnsOff", "2\n1,2\n\n", nil, []string{"a"}},
		{"TwiceInALineIsOnAndOff", "2 2\n\n", nil, nil},
		{"WrongWordChangesNothing", "1 x\n1 4\n\n", []string{"c"}, []string{"c"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			got, err := New(strings.NewReader(tt.typed), &out).Some(t.Context(), "Which?", abc, tt.chosen)
			if !slices.Equal(got, tt.want) || err != nil {
				t.Errorf("got %q, %v, want %q:\n%s", got, err, tt.want, &out)
			}
		})
	}
}

func TestConfirm(t *testing.T) {
	for typed, want := range map[string][2]bool{ // with true and with false proposed
		"\n": {true, false}, "y\n": {true, true}, "YES\n": {true, true}, "n\n": {false, false}, "No\n": {false, false},
		"maybe\nn\n": {false, false},
	} {
		for i, proposed := range []bool{true, false} {
			got, err := New(strings.NewReader(typed), io.Discard).Confirm(t.Context(), "Write?", proposed)
			if got != want[i] || err != nil {
				t.Errorf("%q with %v proposed: got %v, %v", typed, proposed, got, err)
			}
		}
	}
}

// An end of the input is no agreement, not even after half a line.
func TestEndIsNoAnswer(t *testing.T) {
	for _, typed := range []string{"", "y", "1"} {
		terminal := func() *Terminal { return New(strings.NewReader(typed), io.Discard) }
		if _, err := terminal().Confirm(t.Context(), "Write?", true); !errors.Is(err, ErrEnded) {
			t.Errorf("Confirm after %q: %v", typed, err)
		}
		if _, err := terminal().One(t.Context(), "Which?", abc, "a"); !errors.Is(err, ErrEnded) {
			t.Errorf("One after %q: %v", typed, err)
		}
		if _, err := terminal().Some(t.Context(), "Which?", abc, nil); !errors.Is(err, ErrEnded) {
			t.Errorf("Some after %q: %v", typed, err)
		}
	}
}

// Answers that came with the line before are not lost between two questions.
func TestTypedAheadIsKept(t *testing.T) {
	terminal := New(strings.NewReader("2\n1\n\nn\n"), io.Discard)
	one, err1 := terminal.One(t.Context(), "Which?", abc, "a")
	some, err2 := terminal.Some(t.Context(), "Which?", abc, nil)
	yes, err3 := terminal.Confirm(t.Context(), "Write?", true)
	if one != "b" || !slices.Equal(some, []string{"a"}) || yes || errors.Join(err1, err2, err3) != nil {
		t.Errorf("got %q %q %v: %v", one, some, yes, errors.Join(err1, err2, err3))
	}
}

// Whoever waits for a line hears of the end of the context.
func TestContextEndsTheQuestion(t *testing.T) {
	in, typing := io.Pipe()
	defer typing.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	out, asked := io.Pipe()
	go func() {
		_, _ = out.Read(make([]byte, 1)) // the question is there
		cancel(stopped)
		_, _ = io.Copy(io.Discard, out)
	}()
	if yes, err := New(in, asked).Confirm(ctx, "Write?", true); yes || !errors.Is(err, stopped) {
		t.Errorf("got %v, %v", yes, err)
	}
	asked.Close()
}

func TestKey(t *testing.T) {
	var out strings.Builder
	got, err := New(strings.NewReader("\n?\nyes\nN\n"), &out).Key(t.Context(), "Keep it?", []Option{{"y", "keep it"}, {"n", "give it back"}})
	if got != "n" || err != nil || strings.Count(out.String(), "Keep it? [y,n,?] ") != 4 ||
		strings.Count(out.String(), "  n  give it back\n") != 3 {
		t.Errorf("%q %v\n%s", got, err, &out)
	}
	if _, err := New(strings.NewReader("y"), io.Discard).Key(t.Context(), "Keep it?", []Option{{"y", ""}}); !errors.Is(err, ErrEnded) {
		t.Error(err)
	}
}
