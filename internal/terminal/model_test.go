package terminal

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// outliving are programs that leave a terminal in another state than it was in, by the
// state. The first word of tmux's format is one that shows it there; "" = none does.
var outliving = map[string]string{
	"keys on both screens":          "\x1b[>1u\x1b[?1049h\x1b[>1u\x1b[<u\x1b[<u",
	"keys on the other screen":      "\x1b[?1049h\x1b[>5u\x1b[?1049l",
	"keys of the shell, taken":      "\x1b[>1u\x1b[<9u",
	"keys of the shell, driven out": strings.Repeat("\x1b[>1u", 20),
	"keys of the shell, changed":    "\x1b[=8;2u",
	"keys on a screen of old":       "\x1b[>1u\x1b[?47h\x1b[>3u\x1b[?47l\x1b[?1047h\x1b[>3u",
	"modified keys":                 "\x1b[>4;2m",
	"modified keys, one screen":     "\x1b[>4;2m\x1b[?1049h\x1b[>4m",
	"modified cursor keys":          "\x1b[>4;2m\x1b[>1;3m",
	"tab stops":                     "\x1b[3g\x1b[1;4H\x1bH",
	"repeated keys":                 "\x1b[?8l",
	"blinking":                      "\x1b[?12l",
	"the wheel":                     "\x1b[?1007l",
	"the backspace key":             "\x1b[?67l",
	"graphemes":                     "\x1b[?2027l",
	"a region":                      "\x1b[2;4r\x1b[?1049h\x1b[r",
	"mouse, focus, paste":           "\x1b[?1000;1002;1003;1006;1004;2004h",
	"mouse forms":                   "\x1b[?1005h\x1b[?1015h\x1b[?1016h",
	"cursor keys and keypad":        "\x1b[?1h\x1b=\x1b[?66h",
	"insertion and lines":           "\x1b[4;20h",
	"no cursor, no wrap":            "\x1b[?25l\x1b[?7l",
	"origin":                        "\x1b[2;4r\x1b[?6h",
	"drawn at once":                 "\x1b[?2026h",
	"dark and light":                "\x1b[?2031h",
	"the alphabet":                  "\x1b(0\x1b)0\x0e",
	"hidden letters":                "\x1b[8;31m",
	"the cursor's form":             "\x1b[3 q",
	"the screen":                    "\x1b[?1049h\x1b[8m",
	"a soft reset":                  "\x1b[?1;6;25h\x1b[2;5r\x1b[!p\x1b[?25l\x1b[!p",
}

// model is a terminal that knows what it was told, apart from the screen. The states of
// the terminals that there are differ in its fields.
type model struct {
	perScreen bool // keys, regions and modified keys are each screen's own
	old       bool // modes 47 and 1047 show the other screen
	deep      int  // entries of a stack of reports of keys

	shown  int // 1 = the alternate screen
	values map[string]string
	stacks [2][]string
}

func newModel(perScreen, old bool, deep int) *model {
	m := &model{perScreen: perScreen, old: old, deep: deep, values: map[string]string{"?7": "h", "?25": "h"}}
	for i := range m.stacks {
		m.stacks[i] = []string{"7", "9"} // the shell's
	}
	return m
}

// place is the name of a state of which some terminals have one for each screen.
func (m *model) place(name string) string {
	if m.perScreen {
		return name + strconv.Itoa(m.shown)
	}
	return name
}

func (m *model) stack() *[]string {
	if m.perScreen {
		return &m.stacks[m.shown]
	}
	return &m.stacks[0]
}

// hear reads what a Filter wrote; what it does not know is a fault.
func (m *model) hear(text string) error {
	for len(text) > 0 {
		b := text[0]
		text = text[1:]
		switch {
		case b == 0x0e || b == 0x0f:
			m.set("shift", "\x0f", string(b))
		case b != esc:
		case text[0] == '[':
			end := strings.IndexFunc(text[1:], func(r rune) bool { return r >= 0x40 }) + 1
			if err := m.control(text[1:end], text[end:end+1]); err != nil {
				return err
			}
			text = text[end+1:]
		case text[0] == '(' || text[0] == ')':
			m.set("set"+text[:1], "B", text[1:2])
			text = text[2:]
		case text[0] == '=' || text[0] == '>':
			m.set("keypad", ">", text[:1])
			text = text[1:]
		case strings.Contains("78DEM", text[:1]):
			text = text[1:]
		default:
			return fmt.Errorf("ESC %q", text[:1])
		}
	}
	return nil
}

func (m *model) set(name, initial, value string) {
	if value == initial {
		delete(m.values, name)
	} else {
		m.values[name] = value
	}
}

// everywhere are the private modes that have the same first value on all terminals.
var everywhere = strings.Fields("1 6 7 25 47 66 1000 1002 1003 1004 1005 1006 1015 1016 1047 1048 1049 2004 2026 2031")

func (m *model) control(params, final string) error {
	marker, params := split(params+final, "<=>?")
	params = strings.TrimSuffix(params, final)
	list := strings.Split(params, ";")
	switch marker + final {
	case "?h", "?l":
		for _, n := range list {
			switch {
			case !slices.Contains(everywhere, n):
				return fmt.Errorf("mode %s differs between terminals", n)
			case n == "1049" || m.old && (n == "47" || n == "1047"):
				m.shown = strings.Index("lh", final)
			case n == "1048" || n == "47" || n == "1047":
			default:
				m.set("?"+n, map[bool]string{true: "", false: "l"}[n == "7" || n == "25"], final)
				if n == "7" || n == "25" {
					m.values["?"+n] = final
				}
			}
		}
	case "h", "l":
		for _, n := range list {
			m.set(n, "l", final)
		}
	case ">u":
		s := m.stack()
		if *s = append(*s, params); len(*s) > m.deep {
			*s = (*s)[1:]
		}
	case "<u":
		n, _ := strconv.Atoi(list[0])
		s := m.stack()
		*s = (*s)[:max(0, len(*s)-max(n, 1))]
	case "=u":
		s := m.stack()
		if len(*s) == 0 {
			*s = []string{""}
		}
		(*s)[len(*s)-1] = params
	case ">m":
		name := m.place("modified" + list[0])
		m.set(name, "", strings.TrimPrefix(strings.TrimPrefix(params, list[0]), ";"))
	case "r":
		m.set(m.place("region"), "", params)
	case "m":
		m.set("style", "", strings.TrimLeft(params, "0"))
	case "q":
		m.set("cursor", "0 ", params)
	case "s", "u", "c", "?u", "?K", "?J":
	default:
		if marker != "" || !strings.Contains("@ABCDEFGHIJKLMPSTXZ`abdef", final) {
			return fmt.Errorf("CSI %s%s%s", marker, params, final)
		}
	}
	return nil
}

// state is all that outlives a program, the screen that is not shown included where
// another program comes to see it.
func (m *model) state() string {
	values := maps.Clone(m.values)
	for name, value := range values {
		if strings.HasSuffix(name, "region1") || value == "l" && name[0] == '?' && name != "?7" && name != "?25" {
			delete(values, name) // a program that shows that screen sets its own
		}
	}
	return fmt.Sprint(m.shown, values, m.stacks)
}

// asBefore fails when a text leaves one of the terminals in another state than it was in.
func asBefore(t *testing.T, text string) {
	t.Helper()
	for _, m := range models() {
		before := m.state()
		if err := m.hear(text); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if after := m.state(); after != before {
			t.Fatalf("%q on %+v:\nbefore %s\nafter  %s", text, *m, before, after)
		}
	}
}

func models() (all []*model) {
	for _, perScreen := range []bool{false, true} {
		for _, old := range []bool{false, true} {
			all = append(all, newModel(perScreen, old, 3), newModel(perScreen, old, 8))
		}
	}
	return all
}

// Attack: a state of the terminal outlives the program: every one that a program can
// change is undone, or it cannot change it. Without the Filter each program here leaves a
// terminal in another state.
func TestAttackAStateOutlivesTheProgram(t *testing.T) {
	for name, program := range outliving {
		out, f := filtered(program)
		asBefore(t, out+f.Undo())
		noticed := slices.ContainsFunc(models(), func(m *model) bool {
			before := m.state()
			return m.hear(program) != nil || m.state() != before
		})
		if !noticed && name != "a soft reset" {
			t.Errorf("%s: no terminal notices the attack without the Filter", name)
		}
	}
}
