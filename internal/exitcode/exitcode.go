package exitcode

import (
	"errors"
	"fmt"
	"syscall"
)

// Error is a failure together with the exit code that it stands for.
type Error struct {
	Code int
	Err  error // the failure to print; nil when nothing is left to say
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// With returns an error that ends the program with code. A nil err prints nothing.
func With(code int, err error) error { return &Error{code, err} }

// OfLost is the exit code of a program whose standard output could not be written, for
// the reason err: that of SIGPIPE where the reader has left, as head does.
func OfLost(err error) int {
	if errors.Is(err, syscall.EPIPE) {
		return Signal + int(syscall.SIGPIPE)
	}
	return CantWrite
}

// Of returns the exit code that err stands for and the error to print, nil when
// there is nothing to print. For nil it is 0, and for an error that carries no
// code it is otherwise.
func Of(err error, otherwise int) (code int, show error) {
	var exit *Error
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit):
		return exit.Code, exit.Err
	}
	return otherwise, err
}
