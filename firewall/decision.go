package firewall

import "strconv"

// Verdict is the outcome of a decision.
type Verdict string

// The two verdicts. There is no third: what is not allowed is denied.
const (
	Allow Verdict = "allow"
	Deny  Verdict = "deny"
)

// Decision is a verdict together with what led to it, so that a refusal can
// be explained to the person who meets it.
type Decision struct {
	Verdict Verdict
	Rule    string // the entry that decided, as written ("*.example.org", "preset:github *.github.com"); "" when none matched
	Reason  string // one sentence for people; lower case, no full stop
}

// Allowed reports whether the verdict is Allow.
func (d Decision) Allowed() bool { return d.Verdict == Allow }

// Proto is a transport protocol.
type Proto string

// The transport protocols that an entry can name.
const (
	TCP Proto = "tcp"
	UDP Proto = "udp"
)

// Port is a destination port of one protocol.
type Port struct {
	Number uint16 // 1 to 65535
	Proto  Proto
}

// String prints the port as an allowlist entry writes it: "443/tcp".
func (p Port) String() string {
	return strconv.Itoa(int(p.Number)) + "/" + string(p.Proto)
}
