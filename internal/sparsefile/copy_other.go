//go:build !linux

package sparsefile

import (
	"io"
	"os"
)

// Copy copies the content of from into to, which is empty, and returns how many bytes it
// has copied. It stops as soon as these are more than limit.
func Copy(to, from *os.File, limit int64) (n int64, err error) {
	return io.Copy(to, io.LimitReader(from, limit+1))
}
