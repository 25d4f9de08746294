//go:build unix

package detect

import "syscall"

// nonblock keeps an open of a pipe from waiting for its writer.
const nonblock = syscall.O_NONBLOCK
