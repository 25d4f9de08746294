package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/org/claude-sandbox/internal/redact"
)

// output passes the agent's standard output on, byte for byte, and keeps a copy
// without the secrets that the run knows. A reader that went away does not stop
// the run: the transcript goes on.
type output struct {
	to   io.Writer
	kept io.WriteCloser // writes to the transcript, nil = there is none
	lost error          // why something could not be passed on, nil = all was
	errs []error
	// unkept says that the transcript is not whole.
	unkept bool
}

// keep makes the copy.
func (o *output) keep(t *transcript, secrets *redact.Redactor) {
	o.kept = &closers{secrets.Writer(t), t.file}
}

// closers is a writer and what has to be closed after it.
type closers struct {
	io.WriteCloser
	next io.Closer
}

func (c *closers) Close() error { return errors.Join(c.WriteCloser.Close(), c.next.Close()) }

// transcript is a file that takes so many bytes and no more.
type transcript struct {
	file *os.File
	left int64
	full func() // called once when it has taken them
}

func (t *transcript) Write(p []byte) (int, error) {
	kept := p[:min(int64(len(p)), t.left)]
	if len(kept) < len(p) && t.full != nil {
		t.full()
		t.full = nil
	}
	t.left -= int64(len(kept))
	if len(kept) > 0 {
		if _, err := t.file.Write(kept); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// maxTranscript bounds the transcript, in bytes: the agent decides how much it
// prints, and the host's disk is not the agent's. An hour of work takes some MiB.
const maxTranscript = 512 << 20

func (o *output) Write(p []byte) (int, error) {
	if o.kept != nil {
		if _, err := o.kept.Write(p); err != nil {
			o.errs = append(o.errs, err, o.kept.Close())
			o.kept, o.unkept = nil, true
		}
	}
	if o.to != nil {
		if _, err := o.to.Write(p); err != nil {
			o.errs = append(o.errs, err)
			o.to, o.lost = nil, err
		}
	}
	return len(p), nil
}

func (o *output) close() error {
	if o.kept != nil {
		err := o.kept.Close()
		o.unkept = err != nil
		o.errs = append(o.errs, err)
	}
	return errors.Join(o.errs...)
}

// maxStderr bounds what is passed on of the agent's standard error, in bytes as
// they are shown: an escape takes four for one.
const maxStderr = 16 << 20

// limited passes text on up to a limit and says once that more came. Text that comes
// then is dropped, so that the agent never waits for its reader.
type limited struct {
	to   io.Writer
	left int64
	full bool
}

func (l *limited) Write(p []byte) (int, error) {
	kept := p[:min(int64(len(p)), l.left)]
	l.left -= int64(len(kept))
	_, err := l.to.Write(kept)
	if len(kept) < len(p) && !l.full && err == nil {
		l.full = true
		_, err = fmt.Fprintf(l.to, "\nclaude: … the agent's standard error is longer than %d MiB; the rest is dropped\n", maxStderr>>20)
	}
	return len(p), err
}
