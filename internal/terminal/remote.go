package terminal

import (
	"io"
	"sync"
)

// Remote is a program that Attend runs, as its caller on the host has it. Output that it
// prints comes on other streams. It is safe for concurrent use.
type Remote struct {
	mu sync.Mutex
	to io.Writer
}

// NewRemote returns the caller's end of the stream from which Attend reads.
func NewRemote(to io.Writer) *Remote { return &Remote{to: to} }

func (r *Remote) send(k kind, content []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return writeFrames(r.to, k, content)
}

// Write is the program's input.
func (r *Remote) Write(p []byte) (int, error) {
	if err := r.send(input, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// CloseInput ends the program's input.
func (r *Remote) CloseInput() error { return r.send(noInput, nil) }

// Resize tells its terminal the size.
func (r *Remote) Resize(to Size) error { return r.send(size, to.bytes()) }
