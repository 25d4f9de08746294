package audit

import (
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/org/claude-sandbox/firewall"
)

// Line writes a record of a log for people, on one line with its end; "" for
// what is no record. Names come from the agent: nothing but visible ASCII is
// written of them. Times are those of where it is read.
func Line(line []byte) string {
	var r Record
	if json.Unmarshal(line, &r) != nil || r.Verdict == "" {
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
	text := fmt.Sprintf("%s %-7s %-4s %s%s", r.Time.Local().Format(time.DateTime), verdict, r.Layer, target, r.Reason)
	if r.Count > 1 {
		text += fmt.Sprintf(" (%d times)", r.Count)
	}
	if r.Exe != "" {
		text += fmt.Sprintf(" [%s, pid %d]", r.Exe, r.PID)
	}
	quoted := strconv.QuoteToASCII(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`) + "\n"
}
