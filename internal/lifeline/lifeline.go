package lifeline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// Pause is the time between two signs of life.
	Pause = 10 * time.Second
	// Silence is how long none may come. It is long enough for a loaded machine
	// and for somebody who stops the program for a moment to look at something.
	Silence = 2 * time.Minute
)

// Begin is the sign with which the supervisor lets the agent's command begin. Every
// other byte is a sign of life alone.
const Begin = 'b'

// A firewall that is told to end writes its audit log to its supervisor. LogEnd is the line
// behind it, without which it is not the whole log; one of more than MaxLog bytes has none.
const (
	LogEnd = `{"log":"whole"}`
	MaxLog = 1 << 20
)

// ErrEnded reports that the stream is over: the supervisor ended or was killed.
var ErrEnded = errors.New("the run's supervisor is gone")

// Keep writes signs of life to w, one at once and then one each Pause, until w
// takes none.
func Keep(w io.Writer) {
	tick := time.NewTicker(Pause)
	defer tick.Stop()
	for {
		if _, err := w.Write([]byte{'.'}); err != nil {
			return
		}
		<-tick.C
	}
}

// Await returns when r is over, with an error that wraps ErrEnded, or when
// nothing came from it for the time silence. It goes on reading r after that. It
// calls begin, in another goroutine, each time that it reads Begin.
func Await(r io.Reader, silence time.Duration, begin func()) error {
	signs, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		buf := make([]byte, 512)
		for {
			n, err := r.Read(buf)
			if bytes.IndexByte(buf[:n], Begin) >= 0 {
				begin()
			}
			if n > 0 {
				select {
				case signs <- struct{}{}:
				case <-time.After(silence): // the receiver has returned
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	late := time.NewTimer(silence)
	defer late.Stop()
	for {
		select {
		case <-signs:
			late.Reset(silence)
		case <-over:
			return ErrEnded
		case <-late.C:
			return fmt.Errorf("the run's supervisor has given no sign of life for %s", silence)
		}
	}
}
