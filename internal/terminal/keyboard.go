package terminal

import (
	"fmt"
	"strconv"
)

// keyboard is what a program wants of the reports of keys. Terminals that have kitty's
// protocol keep a short stack of flags for each of their two screens. They drop the oldest
// entry of a full one, and a program can take away the entries of others. So the program's
// stacks are here, and the terminal gets one entry: the newest, while its screen is shown.
// Then the entries of the user's shell stay, and one step undoes it.
type keyboard struct {
	flags     [2][]int // of the main and the alternate screen, the newest last
	alternate int      // 1 = that screen is shown
	others    int      // the value of modifyOtherKeys plus one; 0 = the user's
}

// Bounds of a program's stack, and of flags.
const (
	maxKeyboard = 16
	allFlags    = 31
)

// judge acts on a control sequence with that marker and final, and returns the one that
// the terminal gets; "" = none.
func (k *keyboard) judge(kind string, list []string) string {
	first, second := number(list, 0), number(list, 1)
	stack := &k.flags[k.alternate]
	depth := len(*stack)
	switch kind {
	case ">u":
		if *stack = append(*stack, first&allFlags); depth == maxKeyboard {
			*stack = (*stack)[1:]
		}
		return k.entry(depth)
	case "<u":
		*stack = (*stack)[:max(0, depth-max(first, 1))]
		return k.entry(depth)
	case "=u":
		if depth == 0 {
			*stack = append(*stack, 0)
		}
		top := &(*stack)[len(*stack)-1]
		switch second {
		case 2:
			first |= *top
		case 3:
			first = *top &^ first
		}
		*top = first & allFlags
		return k.entry(depth)
	}
	if first != 0 && first != 4 || second > 3 { // another setting of XTMODKEYS
		return ""
	}
	if len(list) < 2 || list[1] == "" {
		k.others = 0
		return "\x1b[>4m"
	}
	k.others = second + 1
	return fmt.Sprintf("\x1b[>4;%dm", second)
}

// entry returns the sequence that brings the terminal's entry to where the program's stack
// is, which had another depth before.
func (k *keyboard) entry(before int) string {
	stack := k.flags[k.alternate]
	switch {
	case len(stack) == 0 && before == 0:
		return ""
	case len(stack) == 0:
		return "\x1b[<u"
	case before == 0:
		return fmt.Sprintf("\x1b[>%du", stack[len(stack)-1])
	}
	return fmt.Sprintf("\x1b[=%du", stack[len(stack)-1])
}

// across returns a sequence that shows one of the screens, with what comes before and after
// it.
func (k *keyboard) across(sequence string, alternate bool) string {
	before := k.off()
	k.alternate = 0
	if alternate {
		k.alternate = 1
	}
	return before + sequence + k.on()
}

// on sets on a terminal what the program wants of it.
func (k *keyboard) on() (s string) {
	if k.others > 0 {
		s = fmt.Sprintf("\x1b[>4;%dm", k.others-1)
	}
	return k.entry(0) + s
}

// off undoes it.
func (k *keyboard) off() (s string) {
	if len(k.flags[k.alternate]) > 0 {
		s = "\x1b[<u"
	}
	if k.others > 0 {
		s += "\x1b[>4m"
	}
	return s
}

// number is the value of the parameter at a place; 0 = it is not there.
func number(list []string, at int) int {
	if at >= len(list) {
		return 0
	}
	n, _ := strconv.Atoi(list[at]) // digits, see bounded
	return n
}
