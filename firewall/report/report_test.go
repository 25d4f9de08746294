package report

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// newReport is a report on a sandbox whose policy nobody knows.
func policyOf(t *testing.T, n firewall.Network) *firewall.Policy {
	t.Helper()
	p, bad := firewall.NewPolicy(n)
	if bad != nil {
		t.Fatal(bad)
	}
	return p
}

func newReport(records []audit.Record) *Report { return New(records, nil) }

func deny(name, rule, reason string) audit.Record {
	return audit.Record{Verdict: firewall.Deny, Layer: audit.LayerDNS, Name: name, Rule: rule, Reason: reason}
}

func TestReportPutsDeniedFirstAndCounts(t *testing.T) {
	r := newReport([]audit.Record{
		{Verdict: firewall.Allow, Layer: audit.LayerDNS, Name: "ok.example", Rule: "ok.example", Reason: "on the allowlist"},
		deny("evil.example", "", "not on the allowlist"),
		{Verdict: firewall.Allow, Layer: audit.LayerDNS, Name: "ok.example", Rule: "ok.example", Reason: "on the allowlist"},
		deny("evil.example", "", "not on the allowlist"),
		deny("worse.example", "", "not on the allowlist"),
	})
	var got []string
	for _, row := range r.Rows {
		got = append(got, row.Host+" "+string(row.Verdict)+" "+strings.Repeat("x", row.Count))
	}
	want := []string{"evil.example deny xx", "worse.example deny x", "ok.example allow xx"}
	if !slices.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
	if got, want := r.DeniedHosts(), []string{"evil.example", "worse.example"}; !slices.Equal(got, want) {
		t.Errorf("denied hosts %q, want %q", got, want)
	}
}

func TestReportNamesWhatHasNoPortOrNoHost(t *testing.T) {
	var text strings.Builder
	report := newReport([]audit.Record{
		{Verdict: firewall.Deny, Layer: audit.LayerIP, Dst: "203.0.113.7", Proto: "icmp", Rule: "no icmp", Reason: "r"},
		{Verdict: firewall.Deny, Layer: audit.LayerIP, Rule: "flood", Reason: "r", Count: 7},
	})
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"203.0.113.7/icmp", "(many)"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "add this line") || len(report.DeniedHosts()) != 1 {
		t.Errorf("hosts %q, report\n%s", report.DeniedHosts(), text.String())
	}
}

func TestReportAddsTheCountsOfRepetitions(t *testing.T) {
	again := deny("evil.example", "", "r")
	again.Count = 41
	if r := newReport([]audit.Record{deny("evil.example", "", "r"), again}); len(r.Rows) != 1 || r.Rows[0].Count != 42 {
		t.Errorf("rows %+v, want one that counts 42", r.Rows)
	}
}

func TestReportNamesTheEntryThatWouldHelp(t *testing.T) {
	tests := []struct {
		name      string
		rec       audit.Record
		fix, list string
	}{
		{"a name nobody listed", deny("x.example", "", "r"), "x.example", "allow"},
		{"a port nobody listed", audit.Record{Verdict: firewall.Deny, Layer: audit.LayerIP, Name: "x.example", Port: 22, Proto: firewall.TCP},
			"x.example:22", "allow"},
		{"https", audit.Record{Verdict: firewall.Deny, Layer: audit.LayerIP, Name: "x.example", Port: 443, Proto: firewall.TCP}, "x.example",
			"allow"},
		{"quic", audit.Record{Verdict: firewall.Deny, Layer: audit.LayerIP, Name: "x.example", Port: 443, Proto: firewall.UDP},
			"x.example:443/udp", "allow"},
		{"https to an address", audit.Record{Verdict: firewall.Deny, Layer: audit.LayerIP, Dst: "203.0.113.7", Port: 443, Proto: firewall.TCP},
			"203.0.113.7:443", "allow"},
		{"a ping", audit.Record{Verdict: firewall.Deny, Layer: audit.LayerIP, Dst: "203.0.113.7", Proto: "icmp", Rule: "no icmp"}, "", ""},
		{"a port of an address that a name led to",
			audit.Record{Verdict: firewall.Deny, Layer: audit.LayerIP, Name: "x.example", Dst: "203.0.113.7", Port: 22, Proto: firewall.TCP},
			"x.example:22", "allow"},
		{"an IPv6 address", audit.Record{Verdict: firewall.Deny, Layer: audit.LayerIP, Dst: "2001:db8::1", Port: 22, Proto: firewall.TCP},
			"[2001:db8::1]:22", "allow"},
		{"a deny entry decided", deny("x.example", "deny x.example", "r"), "", ""},
		{"a type of question", deny("x.example", "x.example", "TXT is not answered"), "", ""},
		{"reverse lookups", deny("1.2.0.192.in-addr.arpa", "", "r"), "", ""},
		{"a private answer", audit.Record{Verdict: firewall.Deny, Layer: audit.LayerDNS, Name: "db.example", Dst: "10.0.0.5", Rule: "db.example"},
			"db.example", "private"},
		{"a metadata answer", audit.Record{Verdict: firewall.Deny, Layer: audit.LayerDNS, Name: "db.example", Dst: "169.254.169.254"}, "", ""},
		{"a metadata name", deny("metadata.google.internal", "", "r"), "", ""},
		{"something allowed", audit.Record{Verdict: firewall.Allow, Layer: audit.LayerDNS, Name: "x.example"}, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			row := newReport([]audit.Record{tt.rec}).Rows[0]
			if row.Fix != tt.fix || row.FixList != tt.list {
				t.Errorf("fix %q in %q, want %q in %q", row.Fix, row.FixList, tt.fix, tt.list)
			}
		})
	}
}

func TestReportDropsSearchDomainNoiseButNotAloneStandingNames(t *testing.T) {
	r := newReport([]audit.Record{
		deny("evil.example", "", "r"),
		deny("evil.example.corp.lan", audit.SearchRule+"corp.lan", "r"),
		deny("secret.corp.lan", audit.SearchRule+"corp.lan", "r"),
	})
	if got, want := r.DeniedHosts(), []string{"evil.example", "secret.corp.lan"}; !slices.Equal(got, want) {
		t.Errorf("denied hosts %q, want %q", got, want)
	}
}

func TestAttackHostNameWithTerminalEscapesAndMarkup(t *testing.T) {
	evil := "\x1b[2Jx\r\n| `</td><img src=//leak> @org/all\u202e.example"
	report := newReport([]audit.Record{deny(evil, "", "no entry matches "+evil)})
	var text, md, js bytes.Buffer
	for _, write := range []error{report.WriteText(&text), report.WriteMarkdown(&md), report.WriteJSON(&js)} {
		if write != nil {
			t.Fatal(write)
		}
	}
	for _, out := range []string{text.String(), md.String(), js.String()} {
		if strings.ContainsAny(out, "\x1b\r\u202e") {
			t.Errorf("a control character came through: %q", out)
		}
	}
	row := strings.Split(md.String(), "\n")[2]
	if n := strings.Count(strings.ReplaceAll(row, `\|`, ""), "|"); n != 6 {
		t.Errorf("the row has %d cell borders, want 6: %s", n, row)
	}
	if outside := strings.Split(row, "`")[2]; strings.Contains(outside, "<") || strings.Contains(outside, "@") {
		t.Errorf("markup outside the code span: %s", outside)
	}
	if !json.Valid(js.Bytes()) {
		t.Error("the JSON report is not JSON")
	}
}

// An entry that the policy in force makes worthless is not offered.
func TestReportOffersOnlyWhatTheMatcherConfirms(t *testing.T) {
	at := func(host, dst string, port uint16) audit.Record {
		return audit.Record{Verdict: firewall.Deny, Layer: audit.LayerIP, Name: host, Dst: dst, Port: port, Proto: firewall.TCP, Reason: "r"}
	}
	tests := []struct {
		name    string
		rec     audit.Record
		inForce firewall.Network
		fix     string
	}{
		{"beside other entries", deny("x.example", "", "r"), firewall.Network{Allow: []string{"y.example"}, Presets: []string{"github"}},
			"x.example"},
		{"beside another port of the name", at("x.example", "203.0.113.7", 22), firewall.Network{Allow: []string{"x.example"}}, "x.example:22"},
		{"under deny", deny("x.example", "", "r"), firewall.Network{Deny: []string{"x.example"}}, ""},
		{"under a wildcard of deny", deny("x.evil.example", "", "r"), firewall.Network{Deny: []string{"*.evil.example"}}, ""},
		{"in a network of deny", at("", "203.0.113.7", 22), firewall.Network{Deny: []string{"203.0.113.0/24"}}, ""},
		{"without any network", deny("x.example", "", "r"), firewall.Network{Mode: firewall.ModeNone}, ""},
		{"no name", deny("a b.example", "", "r"), firewall.Network{}, ""},
		{"a name with a line end", deny("x.example\n", "", "r"), firewall.Network{}, ""},
		{"DNS over TLS", at("x.example", "203.0.113.7", 853), firewall.Network{}, ""},
		{"a private answer", audit.Record{Verdict: firewall.Deny, Layer: audit.LayerDNS, Name: "db.example", Dst: "10.0.0.5", Rule: "db.example"},
			firewall.Network{Allow: []string{"db.example"}}, "db.example"},
		{"a private answer in a network of deny",
			audit.Record{Verdict: firewall.Deny, Layer: audit.LayerDNS, Name: "db.example", Dst: "10.0.0.5", Rule: "db.example"},
			firewall.Network{Allow: []string{"db.example"}, Deny: []string{"10.0.0.0/8"}}, ""},
		{"an IPv6 metadata address", audit.Record{Verdict: firewall.Deny, Layer: audit.LayerDNS, Name: "db.example", Dst: "fd00:ec2::254",
			Rule: "db.example"}, firewall.Network{Allow: []string{"db.example"}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// The others must neither lend it their entries nor spoil its own.
			others := []audit.Record{deny("not a name", "", "r"), deny("other.example", "", "r")}
			for _, row := range New(append(others, tt.rec), policyOf(t, tt.inForce)).Rows {
				if row.Host == tt.rec.Name+tt.rec.Dst || row.Host == tt.rec.Name && row.Host != "" {
					if row.Fix != tt.fix {
						t.Errorf("fix %q, want %q", row.Fix, tt.fix)
					}
					return
				}
			}
			t.Error("no row")
		})
	}
}

func TestReportNamesTheFirstProcess(t *testing.T) {
	uid := 1000
	user, whole := deny("x.example", "", "r"), deny("x.example", "", "r")
	user.UID = &uid
	whole.UID, whole.PID, whole.Exe, whole.Cmd = &uid, 7, "/usr/bin/curl", "curl x.example"
	later := whole
	later.PID = 8
	rows := newReport([]audit.Record{deny("x.example", "", "r"), user, whole, later}).Rows
	if p := rows[0].Process; p == nil || p.PID != 7 || p.Cmd != whole.Cmd || *p.UID != uid {
		t.Errorf("process %+v", rows[0].Process)
	}
	if p := newReport([]audit.Record{user}).Rows[0].Process; p == nil || *p.UID != uid {
		t.Errorf("process %+v", p)
	}
}

// A name with data in it is not among the lines to paste with the others.
func TestAttackDataInANameIsOfferedForPasting(t *testing.T) {
	data := strings.Repeat("c2Vj", 12) + ".example.org"
	r := newReport([]audit.Record{deny(data, "", "r"), deny("docs.example.com", "", "r")})
	var text, md strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteMarkdown(&md); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "think twice") || !slices.Equal(r.Fixes("allow"), []string{"docs.example.com"}) {
		t.Errorf("entries %q\n%s", r.Fixes("allow"), text.String())
	}
	if strings.Contains(md.String(), `"`+data) {
		t.Error(md.String())
	}
}

func TestShortReportSaysWhatItLeavesOut(t *testing.T) {
	records := []audit.Record{deny("a.example", "", "r"), deny("b.example", "", "r"), deny("c.example", "", "r")}
	var text strings.Builder
	if err := newReport(records).First(2).WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "and 1 more") || strings.Contains(text.String(), "c.example") {
		t.Error(text.String())
	}
}

func TestEmptyReport(t *testing.T) {
	var text, js bytes.Buffer
	r := newReport(nil)
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteJSON(&js); err != nil {
		t.Fatal(err)
	}
	if text.Len() == 0 || !strings.Contains(js.String(), `"rows": []`) {
		t.Errorf("text %q, JSON %q", text.String(), js.String())
	}
}

// Attack: the report of a run without a firewall passes for that of a quiet one.
func TestAttackRunWithoutAFirewallPassesForAQuietOne(t *testing.T) {
	for mode, want := range map[firewall.Mode]string{firewall.ModeHost: "here was no firewall", firewall.ModeNone: "here was no network",
		firewall.ModeAllowlist: "he agent tried to reach nothing but the model"} {
		r := New(nil, policyOf(t, firewall.Network{Mode: mode}))
		for form, write := range map[string]func(io.Writer) error{
			"text": r.WriteText, "markdown": r.WriteMarkdown, "HTML": func(w io.Writer) error { return r.WriteHTML(w, "") },
		} {
			var b strings.Builder
			if err := write(&b); err != nil || !strings.Contains(b.String(), want) {
				t.Errorf("%s, %s: it does not say %q: %v", mode, form, want, err)
			}
		}
		var b strings.Builder
		if err := r.WriteJSON(&b); err != nil || strings.Contains(b.String(), `"unwatched": true`) != (mode == firewall.ModeHost) {
			t.Errorf("%s: %s, %v", mode, b.String(), err)
		}
	}
}

// A request that was refused is a row of its own, with the entry for it alone. The
// record's words are the agent's, and what they offer is tried like any entry.
func TestAttackOperationReportedWithAnEntryThatOpensMore(t *testing.T) {
	inForce := policyOf(t, firewall.Network{Allow: []string{"https://api.example.com GET /v1/**"}})
	for _, tc := range []struct{ host, wants, fix string }{
		{"api.example.com", "https://api.example.com POST /v1/x", "https://api.example.com POST /v1/x"},
		{"api.example.com", "https://api.example.com GET /v1/x", ""}, // in force already, so something else refused
		{"api.example.com", "", ""},
		{"api.example.com", "api.example.com", ""},
		{"api.example.com", "https://evil.example POST /v1/x", ""},
		{"api.example.com", "https://api.example.com POST /'", ""},
		{"api.example.com", "https://api.example.com POST /v1/x\u202e", ""},
		{"api.example.com", "https://api.example.com POST /" + strings.Repeat("x", 400), ""},
		{"api.example.org", "https://api.example.org POST /v1/x", "https://api.example.org POST /v1/x"},
	} {
		r := New([]audit.Record{{Verdict: firewall.Deny, Layer: audit.LayerHTTP, Name: tc.host, Port: 443, Proto: firewall.TCP,
			Operation: "POST /v1/x", Reason: "no entry allows it", Wants: tc.wants}}, inForce)
		if len(r.Rows) != 1 || r.Rows[0].Fix != tc.fix || r.Rows[0].Reason != "POST /v1/x: no entry allows it" {
			t.Errorf("%q: %+v", tc.wants, r.Rows)
		}
	}
	record := audit.Record{Verdict: firewall.Deny, Layer: audit.LayerHTTP, Name: "api.example.com", Port: 443, Proto: firewall.TCP,
		Operation: "POST /v1/x", Reason: "no entry allows POST /v1/x at api.example.com", Wants: "https://api.example.com POST /v1/x"}
	other := record
	other.Operation = "POST /v1/y"
	r := New([]audit.Record{record, other, record}, inForce)
	var text strings.Builder
	if err := r.WriteRunText(&text, ""); err != nil {
		t.Fatal(err)
	}
	want := "to allow POST /v1/x at api.example.com: sbx-devc allow 'https://api.example.com POST /v1/x' " +
		"(for one run: --allow 'https://api.example.com POST /v1/x')\n"
	if len(r.Rows) != 2 || !strings.HasSuffix(text.String(), want) {
		t.Errorf("%d rows\n%s", len(r.Rows), text.String())
	}
}
