package terminal

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Size is that of a screen, in characters.
type Size struct{ Columns, Rows uint16 }

// kind is what a frame says.
type kind byte

// From the Client.
const (
	input    kind = 'i' // keys
	size     kind = 's' // the screen's: columns and rows, 2 bytes each
	detach   kind = 'd' // the person leaves, and the program goes on
	pause    kind = 'z' // the person suspends the Client: nothing is shown
	goOn     kind = 'c' // the Client is back
	received kind = 'k' // a signal of the Client's, 1 byte
	noInput  kind = 'n' // of a Remote: the program's input ends
)

// From the Server.
const (
	begin  kind = 'b' // the program has the terminal from here on; 1 byte: 1 = the suspend key is ours
	output kind = 'o' // of the program
	end    kind = 'e' // it has the terminal no more
	words  kind = 't' // for the person, on standard error
	left   kind = 'D' // detached: the supervisor goes on alone
	taken  kind = 'w' // another Client took the terminal
	exit   kind = 'x' // the supervisor's last frame: its exit code, 1 byte
)

// maxFrame bounds a frame's content, in bytes.
const maxFrame = 64 << 10

// writeFrames writes p in as many frames as it takes, one at least.
func writeFrames(w io.Writer, k kind, p []byte) error {
	for {
		n := min(len(p), maxFrame)
		frame := make([]byte, 5, 5+n)
		frame[0] = byte(k)
		binary.BigEndian.PutUint32(frame[1:], uint32(n))
		if _, err := w.Write(append(frame, p[:n]...)); err != nil {
			return err
		}
		if p = p[n:]; len(p) == 0 {
			return nil
		}
	}
}

// readFrame reads one frame. buf holds maxFrame bytes, and the content until the next
// call.
func readFrame(r io.Reader, buf []byte) (kind, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxFrame {
		return 0, nil, fmt.Errorf("a frame of %d bytes is none of ours", n)
	}
	_, err := io.ReadFull(r, buf[:n])
	return kind(head[0]), buf[:n], err
}

func (s Size) bytes() []byte {
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, s.Columns), s.Rows)
}

func sizeOf(p []byte) (s Size, ok bool) {
	if len(p) != 4 {
		return Size{}, false
	}
	return Size{binary.BigEndian.Uint16(p), binary.BigEndian.Uint16(p[2:])}, true
}
