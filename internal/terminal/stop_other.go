//go:build !unix

package terminal

import "os"

const canStop = false

func notifyResize(chan<- os.Signal) {}
func notifyStop(chan<- os.Signal)   {}
func stopSelf()                     {}

// waiter returns ready, which reports true until stop was called; the read that follows
// waits.
func waiter(Input) (ready func() bool, stop func(), err error) {
	stopped := make(chan struct{})
	return func() bool {
		select {
		case <-stopped:
			return false
		default:
			return true
		}
	}, func() { close(stopped) }, nil
}

func forgetTyped(Input) {}

// Rescue returns nil: here no supervisor outlives a Client.
func Rescue(Input, Output) func(undo string) { return nil }
