package terminal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// modes are the modes of a terminal that a program has changed.
type modes struct {
	private []int    // that are set and are not at first, and those in initial that are not; sorted
	plain   []int    // alike, without "?"
	flags   []string // of each change of the reports of keys (CSI > u), the newest last
	others  string   // parameters of CSI > m, for reports of keys with modifiers; "" = none
	cursor  string   // parameter of the cursor's form; "" = the user's
	drawing [2]bool
	shifted bool
	keypad  bool
	region  bool // lines scroll in a part of the screen
	styled  bool // colours or other attributes were chosen
	saved   bool // the terminal saved a cursor with them, which may come back
}

// initial are the private modes that a terminal has at first.
var initial = []int{7, 25}

// drawing modes: application cursor keys, origin, wrap, repeat, blink, cursor, backspace
// key, alternate screens, mouse, focus, wheel, paste, drawing at once, graphemes, and
// reports of dark and light.
var privateModes = []int{1, 6, 7, 8, 12, 25, 47, 66, 67, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016,
	1047, 1048, 1049, 2004, 2026, 2027, 2031}

// plainModes are insertion and new lines.
var plainModes = []int{4, 20}

// movements are the finals of sequences without marker and intermediate bytes that
// draw, move, scroll, or erase on the screen.
const movements = "@ABCDEFGHIJKLMPSTXZ`abdefgm"

// maxKeyboard bounds how many changes of the keyboard's reports are remembered; a
// terminal keeps fewer.
const maxKeyboard = 16

// judge returns the control sequence s, without ESC [, as it may be passed on; "" = it
// may not.
func (m *modes) judge(s string) string {
	marker, s := split(s, "<=>?")
	params, rest := split(s, "0123456789;:")
	inter, final := rest[:len(rest)-1], rest[len(rest)-1:]
	if len(marker) > 1 || len(inter) > 1 || inter >= "0" || !bounded(params) || final != "m" && strings.Contains(params, ":") {
		return ""
	}
	list := strings.Split(params, ";")
	whole := "\x1b[" + marker + params + inter + final
	switch marker + inter + final {
	case "h", "l":
		return set(&m.plain, list, plainModes, "\x1b[", final)
	case "?h", "?l":
		m.save(final == "h" && slices.ContainsFunc(list, func(p string) bool { return p == "1048" || p == "1049" }))
		return set(&m.private, list, privateModes, "\x1b[?", final)
	case "?K":
		return whole
	case "r":
		m.region = params != ""
		return whole
	case "s", "u", "c", "?u": // the last two ask what a terminal and its keyboard can do
		if params != "" && params != "0" {
			return ""
		}
		m.save(final == "s")
		return whole
	case " q":
		m.cursor = params
		return whole
	case "!p": // terminals differ in what it undoes
		return whole
	case ">m":
		m.others = params
		if !strings.Contains(params, ";") {
			m.others = ""
		}
		return whole
	case ">u":
		if len(m.flags) < maxKeyboard {
			m.flags = append(m.flags, params)
		}
		return whole
	case "<u":
		n := 1
		if params != "" {
			n, _ = strconv.Atoi(list[0])
		}
		m.flags = m.flags[:max(0, len(m.flags)-n)]
		return whole
	case "=u":
		if len(m.flags) == 0 {
			return "" // there is nothing of the program's to change
		}
		m.flags[len(m.flags)-1] = list[0]
		return whole
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

// set notes the modes of list that are known, and returns the sequence that sets them.
func set(changed *[]int, list []string, known []int, prefix, final string) string {
	var passed []string
	for _, p := range list {
		n, err := strconv.Atoi(p)
		if err != nil || !slices.Contains(known, n) {
			continue
		}
		passed = append(passed, strconv.Itoa(n))
		at, found := slices.BinarySearch(*changed, n)
		differs := (final == "h") != (prefix == "\x1b[?" && slices.Contains(initial, n))
		switch {
		case differs && !found:
			*changed = slices.Insert(*changed, at, n)
		case !differs && found:
			*changed = slices.Delete(*changed, at, at+1)
		}
	}
	if passed == nil {
		return ""
	}
	return prefix + strings.Join(passed, ";") + final
}

// save notes that the terminal saves its cursor, if it does, with attributes and modes.
func (m *modes) save(does bool) {
	unlike := m.styled || m.shifted || m.drawing != [2]bool{} || slices.Contains(m.private, 6) || slices.Contains(m.private, 7)
	m.saved = m.saved || does && unlike
}

// on sets the modes on a terminal that is as at first.
func (m *modes) on() string {
	var s strings.Builder
	for _, n := range m.private {
		fmt.Fprintf(&s, "\x1b[?%d%s", n, letter(!slices.Contains(initial, n)))
	}
	for _, n := range m.plain {
		fmt.Fprintf(&s, "\x1b[%dh", n)
	}
	for _, f := range m.flags {
		s.WriteString("\x1b[>" + f + "u")
	}
	if m.others != "" {
		s.WriteString("\x1b[>" + m.others + "m")
	}
	if m.cursor != "" {
		s.WriteString("\x1b[" + m.cursor + " q")
	}
	if m.keypad {
		s.WriteString("\x1b=")
	}
	return s.String()
}

// off undoes the modes. What concerns the keyboard comes before the alternate screen is
// left, because some terminals keep it for each screen.
func (m *modes) off() string {
	var s strings.Builder
	if n := len(m.flags); n > 0 {
		fmt.Fprintf(&s, "\x1b[<%du", n)
	}
	if m.others != "" {
		s.WriteString("\x1b[>4m")
	}
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
	if m.saved { // with the cursor of the first screen, modes may have come back
		s.WriteString("\x1b[?6l\x1b[?7h")
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
