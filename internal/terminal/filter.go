package terminal

import (
	"bytes"
	"encoding/base64"
	"io"
	"strings"
	"unicode/utf8"
)

// Bounds of what a Filter keeps, in bytes.
const (
	maxSequence  = 256       // of a control sequence; colours take some 40
	maxClipboard = 128 << 10 // of a text for the clipboard, encoded
)

// Filter passes a program's output on to a terminal. Characters, colours, movements of
// the cursor, the alternate screen and reports of keys and the mouse pass. It drops
// everything that acts on more than the screen:
//
//   - strings to the terminal (OSC, DCS, APC, PM, SOS): the title, the clipboard,
//     colours of the palette, notifications, links whose target is not their text,
//     pictures, files
//   - questions whose answer the terminal types, but for CSI c and CSI ? u, whose
//     answers are a few digits that no program chooses
//   - the deletion of what was on the terminal before, printing, resizing, locking the
//     keyboard, tab stops, and every sequence that is not known to draw
//   - states of which no sequence is known that brings every terminal back, see modes
//   - bidirectional overrides, which show a text as another one, and C1 controls
//
// The output is UTF-8. Pieces may end anywhere. It is not safe for concurrent use.
type Filter struct {
	// Clipboard lets the program write the clipboard (OSC 52). It can never read it.
	Clipboard bool

	to    io.Writer
	out   bytes.Buffer
	state state
	seq   []byte // the sequence, string or character that has begun, without ESC
	cut   bool   // seq is longer than its bound, and will be dropped
	modes modes
}

// state is what a byte is a part of.
type state int

const (
	ground      state = iota
	escape            // ESC came
	designation       // ESC and an intermediate byte
	control           // ESC [
	text              // ESC ], P, X, ^, _ or k: a string
	textEscape        // ESC in a string
)

// NewFilter returns a Filter that writes to to.
func NewFilter(to io.Writer) *Filter { return &Filter{to: to} }

// Write passes on what p may say.
func (f *Filter) Write(p []byte) (int, error) {
	f.out.Reset()
	for _, b := range p {
		f.byte(b)
	}
	if f.out.Len() > 0 {
		if _, err := f.to.Write(f.out.Bytes()); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

const (
	bel, cancel, substitute, esc, del = 0x07, 0x18, 0x1a, 0x1b, 0x7f
)

func (f *Filter) byte(b byte) {
	switch {
	case f.state == ground && b >= 0x80, f.state == ground && len(f.seq) > 0:
		f.character(b)
	case b == cancel || b == substitute:
		f.begin(ground)
	case b == esc && f.state == text:
		f.state = textEscape
	case b == esc:
		f.begin(escape)
	case f.state == ground:
		f.plain(b)
	case f.state == escape:
		f.escape(b)
	case f.state == text && b == bel:
		f.endText()
	case f.state == textEscape && b == '\\':
		f.endText()
	case f.state == textEscape: // the string is given up
		f.begin(escape)
		f.escape(b)
	case f.state == text:
		f.keep(b, maxClipboard)
	case b < 0x20: // controls within a sequence
	case b >= del:
		f.begin(ground)
	case f.state == designation:
		f.designate(b)
	case b < 0x40:
		f.keep(b, maxSequence)
	default:
		f.keep(b, maxSequence)
		f.endControl()
	}
}

// begin gives up what has begun.
func (f *Filter) begin(s state) { f.state, f.seq, f.cut = s, f.seq[:0], false }

func (f *Filter) keep(b byte, limit int) {
	if len(f.seq) >= limit {
		f.cut = true
		return
	}
	f.seq = append(f.seq, b)
}

// plain passes a byte of ASCII outside of a sequence.
func (f *Filter) plain(b byte) {
	switch {
	case b >= 0x20 && b < del, b >= bel && b <= '\r': // BEL, BS, HT, LF, VT, FF, CR
		f.out.WriteByte(b)
	case b == 0x0e || b == 0x0f: // the other set of characters, and back
		f.modes.shifted = b == 0x0e
		f.out.WriteByte(b)
	}
}

// character takes a byte of a character that is no ASCII.
func (f *Filter) character(b byte) {
	if len(f.seq) > 0 && (b < 0x80 || b >= 0xc0) { // the one before does not end
		f.begin(ground)
		f.out.WriteRune(utf8.RuneError)
		f.byte(b)
		return
	}
	f.seq = append(f.seq, b)
	if !utf8.FullRune(f.seq) {
		return
	}
	r, n := utf8.DecodeRune(f.seq)
	if whole := n == len(f.seq); !whole || !isDirection(r) && (r < 0x80 || r > 0x9f) {
		f.out.WriteRune(r)
	}
	f.begin(ground)
}

// isDirection reports whether r changes the order in which a text is shown.
func isDirection(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// escape takes the byte after ESC.
func (f *Filter) escape(b byte) {
	switch {
	case b == '[':
		f.begin(control)
	case strings.IndexByte("]PX^_k", b) >= 0:
		f.begin(text)
		f.seq = append(f.seq, b)
	case b >= 0x20 && b < 0x30:
		f.begin(designation)
		f.seq = append(f.seq, b)
	case strings.IndexByte("78=>DEM", b) >= 0: // cursor saved and restored, keypad, index
		f.begin(ground)
		if b == '=' || b == '>' {
			f.modes.keypad = b == '='
		}
		f.modes.save(b == '7')
		f.out.Write([]byte{esc, b})
	case b < 0x20: // a control in between
	default:
		f.begin(ground)
	}
}

// designate takes what follows ESC and an intermediate byte: which characters a set
// has. Line drawing is the one that programs use.
func (f *Filter) designate(b byte) {
	if b < 0x30 {
		f.keep(b, maxSequence)
		return
	}
	if len(f.seq) == 1 && (f.seq[0] == '(' || f.seq[0] == ')') && (b == '0' || b == 'B') {
		f.modes.drawing[f.seq[0]-'('] = b == '0'
		f.out.Write([]byte{esc, f.seq[0], b})
	}
	f.begin(ground)
}

// endControl judges the control sequence in seq.
func (f *Filter) endControl() {
	if !f.cut {
		f.out.WriteString(f.modes.judge(string(f.seq)))
	}
	f.begin(ground)
}

// endText judges the string in seq: the clipboard's, when the user allows it.
func (f *Filter) endText() {
	const prefix = "]52;"
	if rest, ok := strings.CutPrefix(string(f.seq), prefix); ok && f.Clipboard && !f.cut {
		_, data, _ := strings.Cut(rest, ";")
		if plain, err := base64.StdEncoding.DecodeString(data); err == nil && len(plain) > 0 {
			f.out.WriteString("\x1b]52;c;" + base64.StdEncoding.EncodeToString(plain) + "\a")
		}
	}
	f.begin(ground)
}

// Modes are sequences that bring another terminal to where this one is: its modes, and
// not its screen.
func (f *Filter) Modes() string { return f.modes.on() }

// Undo are sequences that take a terminal out of every mode that it is in. The Filter
// begins again.
func (f *Filter) Undo() string {
	undo := f.modes.off()
	f.modes = modes{saved: f.modes.saved, savedOrigin: f.modes.savedOrigin}
	f.begin(ground)
	return undo
}
