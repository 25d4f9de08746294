package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// Row is what happened to one destination.
type Row struct {
	Host    string           `json:"host"`            // name, or the address when no name was asked for
	Port    uint16           `json:"port,omitempty"`  // 0 when only the name was looked up
	Proto   firewall.Proto   `json:"proto,omitempty"` // "" when only the name was looked up
	Verdict firewall.Verdict `json:"verdict"`
	Count   int              `json:"count"` // decisions, so one lookup of both address families counts twice
	Reason  string           `json:"reason"`
	// Operation is what a request asked for at a host whose TLS is opened, such as "GET /v1/models"; "" = there was no request.
	Operation string    `json:"operation,omitempty"`
	Rule      string    `json:"rule,omitempty"`    // the entry that decided; "" when none matched
	Fix       string    `json:"fix,omitempty"`     // the exact entry to add; "" when no entry would help
	FixList   string    `json:"fixList,omitempty"` // the list of "network" that Fix belongs to: "allow" or "private"
	Suspect   bool      `json:"suspect,omitempty"` // the name looks like data that somebody sends out: think twice before opening it
	First     time.Time `json:"first,omitzero"`    // of the first and the last record
	Last      time.Time `json:"last,omitzero"`
	Process   *Process  `json:"process,omitempty"` // the first that is known; nil = none is

	offer bool   // Fix was looked for; it is not beyond maxFixes
	marks []mark // when it happened, in the order of the records
}

// IsAbsent reports whether the name does not exist, so that nothing was reached by it.
func (r Row) IsAbsent() bool { return r.Rule == audit.RuleAbsent }

// Process is who asked, as far as the firewall could see. All of it but UID is
// the agent's own word: a program can name itself as it likes.
type Process struct {
	UID *int   `json:"uid,omitempty"` // nil = unknown
	PID int    `json:"pid,omitempty"` // 0 = unknown
	Exe string `json:"exe,omitempty"` // path of the executable
	Cmd string `json:"cmd,omitempty"` // its command line, redacted and cut

	at time.Time // of the record that named it
}

// before reports whether p, unless it is nil, is to be named rather than q: one
// that is known, and of those who came first.
func (p *Process) before(q *Process) bool {
	switch {
	case p == nil || q == nil:
		return p != nil
	case (p.PID != 0) != (q.PID != 0):
		return p.PID != 0
	}
	return p.at.Before(q.at)
}

// mark is a number of decisions at a time.
type mark struct {
	at time.Time
	n  int
}

// Report sums up an audit log for people.
type Report struct {
	Rows []Row // denied first, then by falling count, then by host
	More int   // rows that First left out, and records beyond maxRows
	Keys []Key // of the run, see SetKeys; of a dev container none

	from, to   time.Time // of the records; zero when there is none
	hasPrivate bool      // the policy in force has a list "private"
	mode       firewall.Mode
}

// New aggregates records into one row per host, port, protocol, verdict and
// reason. Names that a search domain completed are left out when the name
// itself was asked for too, as resolvers always do.
//
// inForce is the policy under which the records were made; an entry to add is
// offered only if it would open the destination there. With nil, where the
// policy is unknown, it need only be an entry that opens it.
func New(records []audit.Record, inForce *firewall.Policy) *Report {
	c := NewCollector(inForce)
	for _, r := range records {
		c.Add(r)
	}
	return c.Report()
}

// maxRows bounds a report, once for what was denied and once for what was
// allowed: an agent can try another host with every packet.
const maxRows = 5000

// Collector makes a report of records that come one by one, without keeping
// them. It is not safe for concurrent use.
type Collector struct {
	report *Report
	index  map[rowKey]int
	asked  map[string]bool // names that were looked up as they are, at most as many as rows
	rows   map[firewall.Verdict]int
	// completed are the rows of names that a search domain completed, with the
	// name itself.
	completed map[int]string
	inForce   *firewall.Policy
}

// rowKey is what a row stands for.
type rowKey struct {
	host         string
	port         uint16
	proto        firewall.Proto
	verdict      firewall.Verdict
	rule, reason string
	operation    string
}

// NewCollector begins a report; see New.
func NewCollector(inForce *firewall.Policy) *Collector {
	if inForce == nil {
		inForce = firewall.Closed()
	}
	network := inForce.Network()
	return &Collector{
		report: &Report{hasPrivate: len(network.Private) > 0, mode: network.Mode}, inForce: inForce,
		index: map[rowKey]int{}, asked: map[string]bool{}, rows: map[firewall.Verdict]int{}, completed: map[int]string{},
	}
}

// Add counts a record. Beyond maxRows destinations of a verdict it only counts
// in Report.More.
func (c *Collector) Add(r audit.Record) {
	c.report.extend(r.Time)
	host := cmp.Or(r.Name, r.Dst)
	k := rowKey{host, r.Port, r.Proto, r.Verdict, r.Rule, r.Reason, r.Operation}
	i, ok := c.index[k]
	if !ok {
		if c.rows[r.Verdict] >= maxRows && r.Layer != audit.LayerLog { // lost records are said in every case
			c.report.More++
			return
		}
		c.rows[r.Verdict]++
		i = len(c.report.Rows)
		c.index[k] = i
		if domain, ok := strings.CutPrefix(r.Rule, audit.SearchRule); ok {
			c.completed[i] = strings.TrimSuffix(r.Name, "."+domain)
		} else {
			c.asked[r.Name] = true
		}
		fix, list := fixFor(c.inForce, r)
		c.report.Rows = append(c.report.Rows, Row{
			Host: host, Port: r.Port, Proto: r.Proto, Verdict: r.Verdict,
			Reason: r.Why(), Operation: r.Operation, Rule: r.Rule, Fix: fix, FixList: list,
			Suspect: firewall.DataLike(r.Name),
		})
	}
	c.report.Rows[i].add(r)
}

// Report is the report of all records so far; nothing can be added then.
func (c *Collector) Report() *Report {
	report, rows := c.report, c.report.Rows[:0]
	for i, row := range c.report.Rows {
		if name, ok := c.completed[i]; !ok || !c.asked[name] {
			rows = append(rows, row)
		}
	}
	report.Rows = rows
	slices.SortStableFunc(report.Rows, func(a, b Row) int {
		return cmp.Or(
			cmp.Compare(rank(a.Verdict), rank(b.Verdict)),
			cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Host, b.Host),
			cmp.Compare(a.Port, b.Port),
			cmp.Compare(a.Reason, b.Reason),
		)
	})
	report.confirm(c.inForce)
	return report
}

// add counts a record of the row's.
func (row *Row) add(r audit.Record) {
	n := max(r.Count, 1)
	row.Count += n
	if row.Process == nil || row.Process.PID == 0 && r.PID != 0 {
		if r.UID != nil || r.PID != 0 {
			row.Process = &Process{UID: r.UID, PID: r.PID, Exe: r.Exe, Cmd: r.Cmd, at: r.Time}
		}
	}
	if r.Time.IsZero() {
		return
	}
	if row.First.IsZero() || r.Time.Before(row.First) {
		row.First = r.Time
	}
	if r.Time.After(row.Last) {
		row.Last = r.Time
	}
	row.marks = append(row.marks, mark{r.Time, n})
}

// extend makes the report's time reach to t.
func (r *Report) extend(t time.Time) {
	if t.IsZero() {
		return
	}
	if r.from.IsZero() || t.Before(r.from) {
		r.from = t
	}
	if t.After(r.to) {
		r.to = t
	}
}

func rank(v firewall.Verdict) int {
	if v == firewall.Deny {
		return 0
	}
	return 1
}

// First returns the report with its first n rows only; it says how many are
// left out.
func (r *Report) First(n int) *Report {
	short := *r
	if len(r.Rows) > n {
		short.Rows, short.More = r.Rows[:n], r.More+len(r.Rows)-n
	}
	return &short
}

// Denied returns the report with the denied rows only.
func (r *Report) Denied() *Report {
	short := *r
	end := slices.IndexFunc(r.Rows, func(row Row) bool { return row.Verdict != firewall.Deny })
	if end >= 0 {
		short.Rows = r.Rows[:end]
	}
	short.Keys = nil
	return &short
}

// DeniedHosts lists the hosts with at least one denied row, sorted, each once.
func (r *Report) DeniedHosts() []string {
	var hosts []string
	for _, row := range r.Rows {
		if row.Verdict == firewall.Deny && row.Host != "" {
			hosts = append(hosts, row.Host)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// Fixes returns the entries of the list, "allow" or "private", that would open
// what was denied; each once, in the order of the rows. Suspect names are left
// out: people must not paste them with the others.
func (r *Report) Fixes(list string) []string {
	var entries []string
	seen := map[string]bool{}
	for _, row := range r.Rows {
		if row.Fix != "" && row.FixList == list && !row.Suspect && !seen[row.Fix] {
			seen[row.Fix] = true
			entries = append(entries, row.Fix)
		}
	}
	return entries
}
