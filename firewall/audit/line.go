package audit

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/visible"
)

// EscapeJSON writes every character of a JSON text beyond visible ASCII as
// \uXXXX, which means the same: a name from the agent shall neither turn the
// reading direction nor drive the terminal of whoever looks at the raw text.
// Line ends stay.
func EscapeJSON(text []byte) []byte {
	const plain = 0x7f // the first character that is not
	if !slices.ContainsFunc(text, func(c byte) bool { return c >= plain }) {
		return text
	}
	out := make([]byte, 0, len(text)+16)
	for _, r := range string(text) { // what is not UTF-8 becomes U+FFFD, as in every JSON reader
		if r < plain {
			out = append(out, byte(r))
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			out = fmt.Appendf(out, "\\u%04x", unit)
		}
	}
	return out
}

// Line writes a record of a log for people, on one line with its end; "" for
// what is no record. Names come from the agent: nothing but visible ASCII is
// written of them. Times are those of where it is read.
func Line(line []byte) string {
	r, ok := Parse(line)
	if !ok {
		return ""
	}
	verdict := "allowed"
	if r.Verdict != firewall.Allow {
		verdict = "denied"
	}
	target := r.Name
	if r.Dst != "" {
		at := r.Dst
		if r.Port != 0 {
			at = net.JoinHostPort(r.Dst, strconv.Itoa(int(r.Port)))
		}
		target = strings.TrimSpace(target + " " + at)
	} else if r.Port != 0 {
		target = net.JoinHostPort(r.Name, strconv.Itoa(int(r.Port)))
	}
	if r.Proto != "" {
		target += "/" + string(r.Proto)
	}
	if target != "" {
		target += ": "
	}
	text := fmt.Sprintf("%s %-7s %-4s %s%s", r.Time.Local().Format(time.DateTime), verdict, r.Layer, target, r.Why())
	if r.Count > 1 {
		text += fmt.Sprintf(" (%d times)", r.Count)
	}
	switch {
	case r.PID == 0:
	case r.Exe != "":
		text += fmt.Sprintf(" [%s, pid %d]", r.Exe, r.PID)
	default:
		text += fmt.Sprintf(" [pid %d]", r.PID)
	}
	return visible.ASCII(text) + "\n"
}
