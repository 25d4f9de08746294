package pktline

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// MaxData is the longest data of one packet, in bytes.
const MaxData = 65516

// Kind is a packet's kind.
type Kind int

// The kinds. Flush ends a list, Delimiter a part of one (protocol v2), and End a
// response (protocol v2 over HTTP).
const (
	Data Kind = iota
	Flush
	Delimiter
	End
)

// Packet is one packet.
type Packet struct {
	Kind Kind
	Data []byte // of Data; may be empty
}

// ErrLength is the error of a length that is no length.
var ErrLength = errors.New("a packet's length is none")

// Read reads one packet. It reads no byte behind it. io.EOF means that there was
// none; a packet that ends early is io.ErrUnexpectedEOF.
func Read(from io.Reader) (Packet, error) {
	var digits [4]byte
	if _, err := io.ReadFull(from, digits[:]); err != nil {
		return Packet{}, err
	}
	var length [2]byte
	if _, err := hex.Decode(length[:], digits[:]); err != nil {
		return Packet{}, fmt.Errorf("%w: %q", ErrLength, digits)
	}
	switch n := int(length[0])<<8 | int(length[1]); {
	case n <= 2:
		return Packet{Kind: []Kind{Flush, Delimiter, End}[n]}, nil
	case n < 4 || n-4 > MaxData:
		return Packet{}, fmt.Errorf("%w: %d", ErrLength, n)
	default:
		data := make([]byte, n-4)
		if _, err := io.ReadFull(from, data); errors.Is(err, io.EOF) {
			return Packet{}, io.ErrUnexpectedEOF
		} else if err != nil {
			return Packet{}, err
		}
		return Packet{Data: data}, nil
	}
}

// Append appends a packet with data to out. Data longer than MaxData is cut.
func Append(out []byte, data string) []byte {
	data = data[:min(len(data), MaxData)]
	return append(fmt.Appendf(out, "%04x", len(data)+4), data...)
}

// AppendFlush appends a packet that ends a list to out.
func AppendFlush(out []byte) []byte { return append(out, "0000"...) }
