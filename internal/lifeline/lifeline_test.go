package lifeline

import (
	"errors"
	"io"
	"testing"
	"time"
)

func TestAwaitEndsWithTheStream(t *testing.T) {
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Await(r, time.Hour, func() {}) }()
	if _, err := w.Write([]byte{'.'}); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		t.Fatalf("it ended with the stream open: %v", err)
	default:
	}
	w.Close()
	if err := <-ended; !errors.Is(err, ErrEnded) {
		t.Errorf("got %v", err)
	}
}

func TestAwaitEndsInSilence(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	if err := Await(r, time.Millisecond, func() {}); err == nil || errors.Is(err, ErrEnded) {
		t.Errorf("got %v", err)
	}
}

func TestKeepEndsWithItsStream(t *testing.T) {
	r, w := io.Pipe()
	r.Close()
	Keep(w)
}

func TestAwaitBeginsOnlyWhenToldTo(t *testing.T) {
	r, w := io.Pipe()
	begun := make(chan struct{}, 2)
	go func() { _ = Await(r, time.Hour, func() { begun <- struct{}{} }) }()
	for _, sign := range []byte{'.', '.', Begin, '.'} {
		if _, err := w.Write([]byte{sign}); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	<-begun
	if len(begun) > 0 {
		t.Error("one word begins it twice")
	}
}
