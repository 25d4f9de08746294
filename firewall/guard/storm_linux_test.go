package guard_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// storm makes connections of every kind for a while: whole ones and refused
// ones, aborted at any point, silent, half closed, small and large. It returns
// how many there were, and errs when one that had to work did not.
func storm(via string, length time.Duration, workers int) (string, error) {
	var wg sync.WaitGroup
	var made atomic.Int64
	var mu sync.Mutex
	var failure error
	end := time.Now().Add(length)
	for range workers {
		wg.Go(func() {
			for time.Now().Before(end) {
				kind := stormKinds[rand.IntN(len(stormKinds))]
				made.Add(1)
				if err := kind(via); err != nil {
					mu.Lock()
					failure = errors.Join(failure, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	wg.Wait()
	return fmt.Sprint(made.Load()), failure
}

var stormKinds = []func(via string) error{
	firstByte,
	firstByte,
	func(via string) error { // whole, both sides end in order
		conn, err := open(via, "echo.test")
		if err != nil {
			return err
		}
		defer conn.Close()
		_ = conn.SetLinger(0) // after the end was seen: no port may wait
		sent := string(yardHello("echo.test")) + strings.Repeat("x", rand.IntN(100000))
		go func() {
			_, _ = io.WriteString(conn, sent)
			_ = conn.CloseWrite()
		}()
		if back, err := io.ReadAll(conn); err != nil || string(back) != sent {
			return fmt.Errorf("%d bytes of %d came back: %v", len(back), len(sent), err)
		}
		return nil
	},
	func(via string) error { // a download that the client leaves
		conn, err := open(via, "bulk.test")
		if err != nil {
			return err
		}
		defer conn.Close()
		_ = conn.SetLinger(0)
		_, _ = conn.Write(yardHello("bulk.test"))
		_, err = io.CopyN(io.Discard, conn, rand.Int64N(8<<20))
		return err
	},
	func(via string) error { // refused, in TLS
		return stormRefused(via, string(yardHello("other.test")), "\x15")
	},
	func(via string) error { // refused, in HTTP
		return stormRefused(via, "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n", "HTTP/1.1 403")
	},
	func(via string) error { // cut off at any point
		conn, err := open(via, "echo.test")
		if err != nil {
			return err
		}
		defer conn.Close()
		if rand.IntN(2) == 0 {
			_ = conn.SetLinger(0)
		}
		whole := yardHello("echo.test")
		_, _ = conn.Write(whole[:rand.IntN(len(whole)+1)])
		return nil
	},
	func(via string) error { // a site that never answers
		conn, err := open(via, "half.test")
		if err != nil {
			return err
		}
		defer conn.Close()
		_ = conn.SetLinger(0)
		_, _ = conn.Write(append(yardHello("half.test"), make([]byte, rand.IntN(1<<20))...))
		return nil
	},
}

func stormRefused(via, sent, begin string) error {
	conn, err := open(via, "echo.test")
	if err != nil {
		return err
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, sent)
	back, err := io.ReadAll(conn)
	if !strings.HasPrefix(string(back), begin) {
		return fmt.Errorf("the refusal is %q, %v", back, err)
	}
	return nil
}
