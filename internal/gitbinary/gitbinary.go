// Package gitbinary writes and reads the content of binary files as git's patches have it:
// a whole content ("literal"), deflated, in base 85. A reader of a stranger's text takes
// nothing that differs from what it says of itself. The other form of git, a delta to the
// former content, is not read.
package gitbinary

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // git's own names of blobs
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

// alphabet is git's base 85 (base85.c).
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// lineBytes are in one line of a patch, but for the last one.
const lineBytes = 52

// ErrForm is the error of lines that are not in the form.
var ErrForm = errors.New("it is no binary content as git writes it")

// Name is git's name of a content, as the index lines of patches have it: 40 digits.
func Name(content []byte) string {
	h := sha1.New() //nolint:gosec // as above
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// None stands in the place of a Name for a side that has no file.
var None = strings.Repeat("0", 2*sha1.Size)

// Append writes the lines of a content behind "literal SIZE", without an empty line at the
// end.
func Append(out *bytes.Buffer, content []byte) {
	var deflated bytes.Buffer
	z := zlib.NewWriter(&deflated)
	_, _ = z.Write(content) // into memory
	_ = z.Close()
	for rest := deflated.Bytes(); len(rest) > 0; {
		n := min(len(rest), lineBytes)
		if n <= 26 {
			out.WriteByte('A' + byte(n) - 1)
		} else {
			out.WriteByte('a' + byte(n) - 27)
		}
		for at := 0; at < n; at += 4 {
			var four [4]byte
			copy(four[:], rest[at:n])
			v := binary.BigEndian.Uint32(four[:])
			var digits [5]byte
			for i := 4; i >= 0; i-- {
				digits[i] = alphabet[v%85]
				v /= 85
			}
			out.Write(digits[:])
		}
		out.WriteByte('\n')
		rest = rest[n:]
	}
}

// Reader reads one content, line by line.
type Reader struct{ deflated []byte }

// Line takes a line, without its end.
func (r *Reader) Line(line []byte) error {
	if len(line) == 0 {
		return ErrForm
	}
	n := 0
	switch c := line[0]; {
	case 'A' <= c && c <= 'Z':
		n = int(c-'A') + 1
	case 'a' <= c && c <= 'z':
		n = int(c-'a') + 27
	}
	if n == 0 || len(line)-1 != (n+3)/4*5 {
		return ErrForm
	}
	var bytes []byte
	for at := 1; at < len(line); at += 5 {
		var v uint64
		for _, c := range line[at : at+5] {
			digit := strings.IndexByte(alphabet, c)
			if digit < 0 {
				return ErrForm
			}
			v = v*85 + uint64(digit)
		}
		if v > 1<<32-1 {
			return ErrForm
		}
		bytes = binary.BigEndian.AppendUint32(bytes, uint32(v))
	}
	r.deflated = append(r.deflated, bytes[:n]...)
	return nil
}

// Content is what the lines hold, which must be size bytes and nothing behind them. No more
// than that is ever made of them.
func (r *Reader) Content(size int64) ([]byte, error) {
	source := bytes.NewReader(r.deflated)
	z, err := zlib.NewReader(source)
	if err != nil {
		return nil, ErrForm
	}
	var content bytes.Buffer
	_, err = io.Copy(&content, io.LimitReader(z, size+1))
	switch {
	case int64(content.Len()) > size || err == nil && int64(content.Len()) < size:
		return nil, fmt.Errorf("%w: it has another size than it says", ErrForm)
	case err != nil || source.Len() > 0: // also a wrong sum at its end
		return nil, ErrForm
	}
	return content.Bytes(), nil
}
