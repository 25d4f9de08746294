package sparsefile

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Copy copies the content of from into to, which is empty, and returns how many bytes of
// data it has copied. It stops as soon as these are more than limit.
func Copy(to, from *os.File, limit int64) (n int64, err error) {
	info, err := from.Stat()
	if err != nil {
		return 0, err
	}
	size := info.Size()
	for at := int64(0); at < size; {
		begin, err := from.Seek(at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) { // a hole up to the end
			break
		}
		if err != nil { // a file system that does not tell
			begin = at
		}
		end, holeErr := from.Seek(begin, unix.SEEK_HOLE)
		if err != nil || holeErr != nil {
			end = size
		}
		if _, err := from.Seek(begin, io.SeekStart); err != nil {
			return n, err
		}
		if _, err := to.Seek(begin, io.SeekStart); err != nil {
			return n, err
		}
		copied, err := io.Copy(to, io.LimitReader(from, min(end-begin, limit-n+1)))
		if n += copied; err != nil || n > limit {
			return n, err
		}
		at = end
	}
	return n, to.Truncate(size)
}
