package operation

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// endless is a body without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// Attack: many bodies at a time, each of which is within the bound of its kind.
func TestAttackManyBodies(t *testing.T) {
	room := NewRoom()
	var all []*Body
	held, refused := 0, 0
	for range 4 * maxHeld / maxAPIBody {
		b := room.Body(endless{})
		read, err := b.Peek(maxAPIBody)
		if held += len(read); errors.Is(err, ErrNoRoom) {
			refused++
		}
		all = append(all, b)
	}
	if held > maxHeld || refused == 0 {
		t.Errorf("%d bytes are held, and %d bodies are refused", held, refused)
	}
	for _, b := range all {
		b.Free()
	}
	if read, err := room.Body(endless{}).Peek(maxAPIBody); err != nil || len(read) != maxAPIBody {
		t.Errorf("after all of them ended: %d bytes, %v", len(read), err)
	}
}

// Attack: a text of which a parser makes many times its size, many times at once.
func TestAttackManyValues(t *testing.T) {
	text := "[" + strings.Repeat(`{"":0},`, maxAPIBody/8) + "0]"
	if _, err := NewBody(strings.NewReader("")).parse([]byte(`{"a":` + text + `}`)); err == nil {
		t.Error("it is parsed")
	}
	room := NewRoom()
	for range maxParsing {
		if _, err := room.Body(strings.NewReader("")).parse([]byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	b, begun := room.Body(bytes.NewReader(nil)), make(chan struct{})
	go func() { _, _ = b.parse([]byte("{}")); close(begun) }()
	select {
	case <-begun:
		t.Error("one more is parsed")
	case room.parsing <- struct{}{}:
		t.Error("there is room for one more")
	default:
	}
	<-room.parsing // one of them is judged
	<-begun
}
