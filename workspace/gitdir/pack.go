package gitdir

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
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
	out    *bufio.Writer
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
	w := &packWriter{file: f, out: bufio.NewWriter(f), sum: sha1.New, left: maxInflated}
	if isSHA256 {
		w.sum = sha256.New
	}
	_, w.failed = w.out.Write(make([]byte, packHeader))
	return w, nil
}

// packHeader is how long a pack's header is, in bytes.
const packHeader = 12

// full reports whether nothing more can be added.
func (w *packWriter) full() bool { return w.failed != nil }

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
	// An object that is cut short must not be in the pack, so the object is read before.
	spool, err := spoolTo(in, size, filepath.Dir(w.file.Name()))
	if err != nil {
		return err
	}
	defer spool.close()
	w.left -= size
	w.count++
	w.failed = w.write(kind, size, spool)
	return w.failed
}

func (w *packWriter) write(kind byte, size int64, content *spool) error {
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
	if err := content.writeTo(z); err != nil {
		return err
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

// spool holds an object's content: a small one in memory, a large one in a file.
type spool struct {
	text []byte
	file *os.File
}

// maxInMemory is the largest object that is held in memory, in bytes.
const maxInMemory = 8 << 20

// spoolTo reads exactly size bytes. dir is for the file: that of the system may be in memory.
func spoolTo(in io.Reader, size int64, dir string) (*spool, error) {
	if size <= maxInMemory {
		text, err := io.ReadAll(io.LimitReader(in, size))
		if err == nil && int64(len(text)) != size {
			err = io.ErrUnexpectedEOF
		}
		return &spool{text: text}, err
	}
	f, err := os.CreateTemp(dir, "object-")
	if err != nil {
		return nil, err
	}
	s := &spool{file: f}
	if _, err = io.CopyN(f, in, size); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *spool) writeTo(w io.Writer) error {
	var err error
	if s.file != nil {
		_, err = io.Copy(w, s.file)
	} else {
		_, err = io.Copy(w, bytes.NewReader(s.text))
	}
	return err
}

func (s *spool) close() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
	}
}
