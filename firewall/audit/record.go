package audit

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/firewall"
)

// Layer names the part of the firewall that decided.
type Layer string

// The layers, in the order in which a connection meets them.
const (
	LayerDNS  Layer = "dns"
	LayerIP   Layer = "ip"
	LayerSNI  Layer = "sni"
	LayerHTTP Layer = "http"

	LayerLog Layer = "log" // the log itself, about its own completeness
)

// Protocols that records have in addition to firewall.TCP and firewall.UDP; of
// any other the record has the number.
const (
	ICMP   firewall.Proto = "icmp"
	ICMPv6 firewall.Proto = "icmpv6"
)

// Record is one decision, or several that are the same: one line of
// /run/sbx/audit.jsonl.
type Record struct {
	Time    time.Time        `json:"ts"`
	Verdict firewall.Verdict `json:"verdict"`
	Layer   Layer            `json:"layer"`
	Name    string           `json:"name,omitempty"`  // host name without the trailing dot
	Dst     string           `json:"dst,omitempty"`   // destination address
	Port    uint16           `json:"port,omitempty"`  // destination port
	Proto   firewall.Proto   `json:"proto,omitempty"` // tcp, udp, icmp, icmpv6, or an IP protocol's number
	UID     *int             `json:"uid,omitempty"`   // the asking process; absent when unknown
	PID     int              `json:"pid,omitempty"`
	Exe     string           `json:"exe,omitempty"`
	Cmd     string           `json:"cmd,omitempty"` // the command line, redacted and cut
	Rule    string           `json:"rule,omitempty"`
	Reason  string           `json:"reason"`
	Count   int              `json:"count,omitempty"` // how many decisions the line stands for; absent = 1

	// For a request to a host whose TLS is opened, LayerHTTP: operation.Decision's fields.
	Operation string `json:"operation,omitempty"` // such as "git push acme/app refs/heads/main"
	Wants     string `json:"wants,omitempty"`     // the narrowest entry that would allow it

	// Src is the asking socket's own address and SrcProto its protocol, by
	// which the process is found. Proto is the destination's.
	Src      netip.AddrPort `json:"-"`
	SrcProto firewall.Proto `json:"-"`

	// Found is a record that has the asking process, where it was looked for
	// before the decision was made; nil = it was not.
	Found *Record `json:"-"`
}

// LostRecords stands in the place of a host name in the record that says that
// others were overwritten or could not be written. It counts as denied: what is not known to
// have been allowed was not. No host is recorded under such a name, see
// resolver.Server.
const LostRecords = "(lost records)"

// NoQuestion stands in the place of a host name in the record of a message to
// the resolver that asks for nothing it understands.
const NoQuestion = "(no question)"

// lost is the record about a file of the log that is gone.
func lost(at time.Time) Record {
	return Record{
		Time: at, Verdict: firewall.Deny, Layer: LayerLog, Name: LostRecords,
		Reason: "so many decisions were recorded that the oldest are gone: this report does not hold every refusal",
	}
}

// unwritten is the record about decisions that found no room on the disk.
func unwritten(at time.Time, n int) Record {
	return Record{
		Time: at, Verdict: firewall.Deny, Layer: LayerLog, Name: LostRecords, Count: n,
		Reason: "decisions could not be written, as on a full disk; those that would have allowed something did not happen",
	}
}

// LostQuestions is the record about questions for names that came faster than
// the resolver could look at them. It counts as denied: none of them was
// answered, and none went on.
func LostQuestions(n int) Record {
	return Record{
		Verdict: firewall.Deny, Layer: LayerLog, Name: LostRecords, Count: n,
		Reason: "more names were asked for than could be looked at one by one: these questions had no answer, and this report does not name them",
	}
}

// Parse reads a line of a log; ok is false for what is no record: no JSON, or
// without a verdict and a layer of ours. A line of another writer must not count as a
// decision.
func Parse(line []byte) (r Record, ok bool) {
	if json.Unmarshal(line, &r) != nil || r.Verdict != firewall.Allow && r.Verdict != firewall.Deny {
		return Record{}, false
	}
	return r, slices.Contains([]Layer{LayerDNS, LayerIP, LayerSNI, LayerHTTP, LayerLog}, r.Layer)
}

// decisions is how many decisions the record stands for.
func (r Record) decisions() int { return max(r.Count, 1) }

// Why is the reason, with the operation in front of it unless the reason names it.
func (r Record) Why() string {
	if r.Operation == "" || strings.Contains(r.Reason, r.Operation) {
		return r.Reason
	}
	return r.Operation + ": " + r.Reason
}
