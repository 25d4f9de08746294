package audit

import (
	"bufio"
	"errors"
	"io"
)

// maxLineBytes bounds the memory that one line of a log can take. Our own
// lines stay far below: a name has at most 255 bytes.
const maxLineBytes = 64 << 10

// Read returns the records of a log in order. Lines that are no record (the
// last one of a writer that died, or one longer than 64 KiB) are left out. The
// error is that of the reader; the records before it are returned with it.
func Read(r io.Reader) ([]Record, error) {
	var records []Record
	err := Each(r, func(rec Record) { records = append(records, rec) })
	return records, err
}

// Each calls do with every record, in order, as Read would return them.
func Each(r io.Reader, do func(Record)) error {
	br := bufio.NewReaderSize(r, maxLineBytes)
	overlong := false
	for {
		line, err := br.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			overlong = true
			continue
		case err != nil && err != io.EOF:
			return err
		}
		if rec, ok := Parse(line); ok && !overlong {
			do(rec)
		}
		overlong = false
		if err == io.EOF {
			return nil
		}
	}
}

// RotatedSuffix is what a Log appends to its path for the file that is full.
const RotatedSuffix = ".1"
