package gitdir

import (
	"bufio"
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strconv"
	"strings"
)

// maxInflated bounds what loose objects unpack to, in bytes, all together.
const maxInflated = 4 << 30

// packWriter makes a pack (gitformat-pack(5)) of loose objects. git index-pack
// then names each by its content, so that the agent's names for them do not
// matter, and reads nothing of the agent's in any other form.
type packWriter struct {
	file   *os.File
	out    *bufio.Writer // empty between two objects
	end    int64         // of the last object
	sum    func() hash.Hash
	count  uint32
	left   int64
	failed error // of writing, or the bound was reached
}

// newPackWriter writes to a new file.
func newPackWriter(name string, isSHA256 bool) (*packWriter, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	w := &packWriter{file: f, out: bufio.NewWriter(f), end: packHeader, sum: sha1.New, left: maxInflated}
	if isSHA256 {
		w.sum = sha256.New
	}
	_, w.failed = f.Write(make([]byte, packHeader))
	return w, nil
}

// packHeader is how long a pack's header is, in bytes.
const packHeader = 12

// packTypes are the numbers of the types of objects.
var packTypes = map[string]byte{"commit": 1, "tree": 2, "blob": 3, "tag": 4}

// add adds a loose object. An error that leaves failed empty is about that
// object alone, which is left out.
func (w *packWriter) add(loose io.Reader) error {
	if w.failed != nil {
		return w.failed
	}
	z, err := zlib.NewReader(loose)
	if err != nil {
		return err
	}
	in := bufio.NewReader(io.LimitReader(z, w.left))
	kind, size, err := looseHeader(in)
	if err != nil {
		return err
	}
	if size > w.left {
		w.failed = fmt.Errorf("its objects are larger than %d MiB", maxInflated>>20)
		return w.failed
	}
	bad := w.write(kind, size, in)
	if w.failed = w.out.Flush(); w.failed != nil { // of this write or an earlier one
		return w.failed
	}
	if bad != nil { // an object that is cut short must not be in the pack
		_, err := w.file.Seek(w.end, io.SeekStart)
		w.failed = errors.Join(err, w.file.Truncate(w.end))
		return errors.Join(bad, w.failed)
	}
	w.left -= size
	w.count++
	w.end, w.failed = w.file.Seek(0, io.SeekCurrent)
	return w.failed
}

func (w *packWriter) write(kind byte, size int64, content io.Reader) error {
	n := uint64(size)
	b := kind<<4 | byte(n&15)
	for n >>= 4; n > 0; n >>= 7 {
		if err := w.out.WriteByte(b | 0x80); err != nil {
			return err
		}
		b = byte(n & 0x7f)
	}
	if err := w.out.WriteByte(b); err != nil {
		return err
	}
	z, err := zlib.NewWriterLevel(w.out, zlib.BestSpeed)
	if err != nil {
		return err
	}
	if copied, err := io.CopyN(z, content, size); err != nil {
		return fmt.Errorf("it has %d bytes, not %d: %w", copied, size, err)
	}
	return z.Close()
}

// close ends the pack and returns it from its start. Closing it is the caller's.
func (w *packWriter) close() (*os.File, error) {
	err := errors.Join(w.failed, w.out.Flush())
	header := append([]byte("PACK"), 0, 0, 0, 2)
	if err == nil {
		_, err = w.file.WriteAt(binary.BigEndian.AppendUint32(header, w.count), 0)
	}
	sum := w.sum()
	if err == nil {
		_, err = w.file.Seek(0, io.SeekStart)
	}
	if err == nil {
		_, err = io.Copy(sum, w.file)
	}
	if err == nil {
		_, err = w.file.Write(sum.Sum(nil))
	}
	if err == nil {
		_, err = w.file.Seek(0, io.SeekStart)
	}
	if err != nil {
		w.file.Close()
		return nil, err
	}
	return w.file, nil
}

// looseHeader reads "TYPE SIZE\0".
func looseHeader(in *bufio.Reader) (kind byte, size int64, err error) {
	const longest = 32
	var text strings.Builder
	for {
		c, err := in.ReadByte()
		if err != nil {
			return 0, 0, err
		}
		if c == 0 {
			break
		}
		if text.WriteByte(c); text.Len() > longest {
			return 0, 0, errors.New("it is no object")
		}
	}
	name, digits, _ := strings.Cut(text.String(), " ")
	kind, ok := packTypes[name]
	size, err = strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || size < 0 {
		return 0, 0, errors.New("it is no object")
	}
	return kind, size, nil
}
