package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// modes are the states of a terminal that a program has changed. Each state that can be
// changed is undone by off; a sequence for any other one does not pass:
//
//	state                                 | undone by
//	--------------------------------------|---------------------------------------------------
//	private modes in privateModes         | their first value, which is the same on all terminals
//	other private modes                   | not passed: terminals and users differ in their first value
//	insertion, new lines                  | CSI 4 l, CSI 20 l
//	reports of keys (kitty), each screen  | keyboard: one entry of the program's, taken from the stack again
//	modifyOtherKeys; other XTMODKEYS      | CSI > 4 m; not passed, as formatOtherKeys
//	lines that scroll; margins            | CSI r on both screens; not passed
//	colours and attributes                | CSI m
//	character sets, shift; others         | ESC ( B, ESC ) B, SI; not passed
//	the cursor's form                     | CSI 0 SP q
//	the keypad                            | ESC >
//	tab stops, palette, titles and their stack, protected cells, C1 forms: not passed
type modes struct {
	private     []int // that are set and are not at first, and those in initial that are not; sorted
	plain       []int // alike, without "?"
	keys        keyboard
	cursor      string // parameter of the cursor's form; "" = the user's
	drawing     [2]bool
	shifted     bool
	keypad      bool
	region      bool // once lines scrolled in a part of a screen
	styled      bool // colours or other attributes were chosen
	saved       bool // the terminal saved a cursor with them, which may come back
	savedOrigin bool // the same of mode 6, whose end moves the cursor
}

// initial are the private modes that a terminal has at first.
var initial = []int{7, 25}

// privateModes are application cursor keys, origin, wrap, cursor, alternate screens, the
// keypad, mouse, focus, paste, drawing at once, and reports of dark and light. Not here
// are those with another first value on some terminals, so that they could not be undone:
// repeating keys (8), blinking (12), the backspace key (67), the wheel (1007), graphemes
// (2027).
var privateModes = []int{1, 6, 7, 25, 47, 66, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 1047, 1048, 1049, 2004, 2026, 2031}

// plainModes are insertion and new lines.
var plainModes = []int{4, 20}

// screenModes show the alternate screen.
var screenModes = []int{47, 1047, 1049}

// softModes are the private ones that a soft reset undoes.
var softModes = []int{1, 6, 7, 25}

// movements are the finals of sequences without marker and intermediate bytes that
// draw, move, scroll, or erase on the screen.
const movements = "@ABCDEFGHIJKLMPSTXZ`abdefm"

// judge returns the control sequence s, without ESC [, as it may be passed on; "" = it
// may not.
func (m *modes) judge(s string) string {
	marker, s := split(s, "<=>?")
	params, rest := split(s, "0123456789;:")
	inter, final := rest[:len(rest)-1], rest[len(rest)-1:]
	known := len(marker) <= 1 && len(inter) <= 1 && inter < "0"
	subparams := strings.Contains(params, ":")
	if !known || !bounded(params) || subparams && final != "m" {
		return ""
	}
	list := strings.Split(params, ";")
	whole := "\x1b[" + marker + params + inter + final
	switch marker + inter + final {
	case "h", "l":
		return m.setPlain(list, final == "h")
	case "?h", "?l":
		return m.setPrivate(list, final == "h")
	case "?K":
		return whole
	case "r":
		m.region = m.region || params != ""
		return whole
	case "s", "u", "c", "?u": // the last two ask what a terminal and its keyboard can do
		if params != "" && params != "0" {
			return ""
		}
		m.save(final == "s")
		return whole
	case " q":
		m.cursor = cmp.Or(params, "0")
		return whole
	case "!p":
		return m.softReset()
	case ">m", ">u", "<u", "=u":
		return m.keys.judge(marker+final, list)
	}
	switch {
	case marker+inter+final != "?J" && (marker != "" || inter != "" || !strings.Contains(movements, final)):
		return ""
	case final == "J" && slices.ContainsFunc(list, func(p string) bool { return strings.TrimLeft(p, "0") == "3" }):
		return "" // what the terminal showed before is not the program's
	case final == "T" && len(list) > 1: // mouse tracking that waits for an answer
		return ""
	case final == "m":
		m.styled = params != "" && params != "0"
	}
	return whole
}

// split cuts s behind its first bytes of set; the last byte stays in rest.
func split(s, set string) (first, rest string) {
	n := 0
	for n < len(s)-1 && strings.IndexByte(set, s[n]) >= 0 {
		n++
	}
	return s[:n], s[n:]
}

// bounded reports whether no parameter is so large that a terminal would be busy with
// it.
func bounded(params string) bool {
	for p := range strings.FieldsFuncSeq(params, func(r rune) bool { return r == ';' || r == ':' }) {
		if len(p) > 4 {
			return false
		}
	}
	return true
}

// setPrivate notes the modes of list that are known, and returns the sequences that set
// or reset them, one for each.
func (m *modes) setPrivate(list []string, on bool) string {
	var s strings.Builder
	for _, n := range known(list, privateModes) {
		m.save(on && (n == 1048 || n == 1049))
		note(&m.private, n, on != slices.Contains(initial, n))
		sequence := fmt.Sprintf("\x1b[?%d%s", n, letter(on))
		if slices.Contains(screenModes, n) {
			sequence = m.keys.across(sequence, on)
		}
		s.WriteString(sequence)
	}
	return s.String()
}

func (m *modes) setPlain(list []string, on bool) string {
	var s strings.Builder
	for _, n := range known(list, plainModes) {
		note(&m.plain, n, on)
		fmt.Fprintf(&s, "\x1b[%d%s", n, letter(on))
	}
	return s.String()
}

// known are the numbers in list that are in modes.
func known(list []string, modes []int) (numbers []int) {
	for _, p := range list {
		if n, err := strconv.Atoi(p); err == nil && slices.Contains(modes, n) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// note adds n to a sorted list, or removes it.
func note(list *[]int, n int, in bool) {
	at, found := slices.BinarySearch(*list, n)
	switch {
	case in && !found:
		*list = slices.Insert(*list, at, n)
	case !in && found:
		*list = slices.Delete(*list, at, at+1)
	}
}

// softReset returns the sequences for what a soft reset undoes, because terminals differ in
// what theirs undoes.
func (m *modes) softReset() string {
	var s strings.Builder
	for _, n := range softModes {
		if slices.Contains(m.private, n) {
			s.WriteString(m.setPrivate([]string{strconv.Itoa(n)}, slices.Contains(initial, n)))
		}
	}
	s.WriteString(m.setPlain([]string{"4"}, false))
	if m.region {
		m.save(true)
		s.WriteString("\x1b7\x1b[r\x1b8")
	}
	m.keypad, m.drawing, m.shifted, m.styled = false, [2]bool{}, false, false
	return s.String() + "\x1b>\x1b(B\x1b)B\x0f\x1b[m"
}

// save notes that the terminal saves its cursor, if it does, with attributes and modes.
func (m *modes) save(does bool) {
	unlike := m.styled || m.shifted || m.drawing != [2]bool{} || slices.Contains(m.private, 6) || slices.Contains(m.private, 7)
	m.saved = m.saved || does && unlike
	m.savedOrigin = m.savedOrigin || does && slices.Contains(m.private, 6)
}

// pastes reports whether the program takes pasted texts as such.
func (m *modes) pastes() bool { return slices.Contains(m.private, 2004) }

// on sets the modes on a terminal that is as at first.
func (m *modes) on() string {
	var s strings.Builder
	for _, n := range m.private {
		fmt.Fprintf(&s, "\x1b[?%d%s", n, letter(!slices.Contains(initial, n)))
	}
	for _, n := range m.plain {
		fmt.Fprintf(&s, "\x1b[%dh", n)
	}
	s.WriteString(m.keys.on())
	if m.cursor != "" {
		s.WriteString("\x1b[" + m.cursor + " q")
	}
	if m.keypad {
		s.WriteString("\x1b=")
	}
	return s.String()
}

// off undoes the modes. The reports of keys end before the alternate screen is left,
// because some terminals keep them for each screen.
func (m *modes) off() string {
	var s strings.Builder
	s.WriteString(m.keys.off())
	if m.region {
		s.WriteString("\x1b7\x1b[r\x1b8")
	}
	if m.keypad {
		s.WriteString("\x1b>")
	}
	for _, n := range m.plain {
		fmt.Fprintf(&s, "\x1b[%dl", n)
	}
	for _, n := range slices.Backward(m.private) { // the screen after what has higher numbers
		fmt.Fprintf(&s, "\x1b[?%d%s", n, letter(slices.Contains(initial, n)))
	}
	if m.region { // some terminals keep it for each screen
		s.WriteString("\x1b7\x1b[r\x1b8")
	}
	if m.saved { // with the cursor of the first screen, modes may have come back
		if m.savedOrigin { // it moves the cursor to the corner, over what the user had there
			s.WriteString("\x1b[?6l")
		}
		s.WriteString("\x1b[?7h")
	}
	if m.saved || m.drawing != [2]bool{} {
		s.WriteString("\x1b(B\x1b)B")
	}
	if m.saved || m.shifted {
		s.WriteString("\x0f")
	}
	if m.saved || m.styled {
		s.WriteString("\x1b[m")
	}
	if m.cursor != "" {
		s.WriteString("\x1b[0 q")
	}
	return s.String()
}

func letter(set bool) string {
	if set {
		return "h"
	}
	return "l"
}
