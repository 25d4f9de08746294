package audit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
)

func deny(name, rule, reason string) Record {
	return Record{Verdict: firewall.Deny, Layer: LayerDNS, Name: name, Rule: rule, Reason: reason}
}

func TestReadSkipsACutLastLineAndOverlongLines(t *testing.T) {
	log := `{"verdict":"deny","layer":"dns","name":"a.example","reason":"r"}` + "\n" +
		"not json\n" + strings.Repeat("x", 3*maxLineBytes) + "\n" +
		`{"verdict":"allow","layer":"dns","name":"b.example","reason":"r"}` + "\n" +
		`{"verdict":"deny","layer":"dns","na`
	records, err := Read(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != 2 || records[0].Name != "a.example" || records[1].Name != "b.example" {
		t.Errorf("read %+v, want a.example and b.example", records)
	}
}

func TestReportPutsDeniedFirstAndCounts(t *testing.T) {
	r := NewReport([]Record{
		{Verdict: firewall.Allow, Layer: LayerDNS, Name: "ok.example", Rule: "ok.example", Reason: "on the allowlist"},
		deny("evil.example", "", "not on the allowlist"),
		{Verdict: firewall.Allow, Layer: LayerDNS, Name: "ok.example", Rule: "ok.example", Reason: "on the allowlist"},
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
	report := NewReport([]Record{
		{Verdict: firewall.Deny, Layer: LayerIP, Dst: "203.0.113.7", Proto: "icmp", Rule: "no icmp", Reason: "r"},
		{Verdict: firewall.Deny, Layer: LayerIP, Rule: "flood", Reason: "r", Count: 7},
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
	if r := NewReport([]Record{deny("evil.example", "", "r"), again}); len(r.Rows) != 1 || r.Rows[0].Count != 42 {
		t.Errorf("rows %+v, want one that counts 42", r.Rows)
	}
}

func TestReportNamesTheEntryThatWouldHelp(t *testing.T) {
	tests := []struct {
		name      string
		rec       Record
		fix, list string
	}{
		{"a name nobody listed", deny("x.example", "", "r"), "x.example", "allow"},
		{"a port nobody listed", Record{Verdict: firewall.Deny, Layer: LayerIP, Name: "x.example", Port: 22, Proto: firewall.TCP}, "x.example:22", "allow"},
		{"https", Record{Verdict: firewall.Deny, Layer: LayerIP, Name: "x.example", Port: 443, Proto: firewall.TCP}, "x.example", "allow"},
		{"quic", Record{Verdict: firewall.Deny, Layer: LayerIP, Name: "x.example", Port: 443, Proto: firewall.UDP}, "x.example:443/udp", "allow"},
		{"https to an address", Record{Verdict: firewall.Deny, Layer: LayerIP, Dst: "203.0.113.7", Port: 443, Proto: firewall.TCP}, "203.0.113.7:443", "allow"},
		{"a ping", Record{Verdict: firewall.Deny, Layer: LayerIP, Dst: "203.0.113.7", Proto: "icmp", Rule: "no icmp"}, "", ""},
		{"a port of an address that a name led to", Record{Verdict: firewall.Deny, Layer: LayerIP, Name: "x.example", Dst: "203.0.113.7", Port: 22, Proto: firewall.TCP}, "x.example:22", "allow"},
		{"an IPv6 address", Record{Verdict: firewall.Deny, Layer: LayerIP, Dst: "2001:db8::1", Port: 22, Proto: firewall.TCP}, "[2001:db8::1]:22", "allow"},
		{"a deny entry decided", deny("x.example", "deny x.example", "r"), "", ""},
		{"a type of question", deny("x.example", "x.example", "TXT is not answered"), "", ""},
		{"reverse lookups", deny("1.2.0.192.in-addr.arpa", "", "r"), "", ""},
		{"a private answer", Record{Verdict: firewall.Deny, Layer: LayerDNS, Name: "db.example", Dst: "10.0.0.5", Rule: "db.example"}, "db.example", "private"},
		{"a metadata answer", Record{Verdict: firewall.Deny, Layer: LayerDNS, Name: "db.example", Dst: "169.254.169.254"}, "", ""},
		{"something allowed", Record{Verdict: firewall.Allow, Layer: LayerDNS, Name: "x.example"}, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			row := NewReport([]Record{tt.rec}).Rows[0]
			if row.Fix != tt.fix || row.FixList != tt.list {
				t.Errorf("fix %q in %q, want %q in %q", row.Fix, row.FixList, tt.fix, tt.list)
			}
		})
	}
}

func TestReportDropsSearchDomainNoiseButNotAloneStandingNames(t *testing.T) {
	r := NewReport([]Record{
		deny("evil.example", "", "r"),
		deny("evil.example.corp.lan", SearchRule+"corp.lan", "r"),
		deny("secret.corp.lan", SearchRule+"corp.lan", "r"),
	})
	if got, want := r.DeniedHosts(), []string{"evil.example", "secret.corp.lan"}; !slices.Equal(got, want) {
		t.Errorf("denied hosts %q, want %q", got, want)
	}
}

func TestAttackHostNameWithTerminalEscapesAndMarkup(t *testing.T) {
	evil := "\x1b[2Jx\r\n| `</td><img src=//leak> @org/all\u202e.example"
	report := NewReport([]Record{deny(evil, "", "no entry matches "+evil)})
	var text, md, js bytes.Buffer
	for _, write := range []error{report.WriteText(&text), report.WriteMarkdown(&md), report.WriteJSON(&js)} {
		if write != nil {
			t.Fatal(write)
		}
	}
	for _, out := range []string{text.String(), md.String()} {
		if strings.ContainsAny(out, "\x1b\r\u202e") {
			t.Errorf("a control character came through: %q", out)
		}
	}
	row := strings.Split(md.String(), "\n")[2]
	if n := strings.Count(strings.ReplaceAll(row, `\|`, ""), "|"); n != 5 {
		t.Errorf("the row has %d cell borders, want 5: %s", n, row)
	}
	if outside := strings.Split(row, "`")[2]; strings.Contains(outside, "<") || strings.Contains(outside, "@") {
		t.Errorf("markup outside the code span: %s", outside)
	}
	if !json.Valid(js.Bytes()) {
		t.Error("the JSON report is not JSON")
	}
}

func TestEmptyReport(t *testing.T) {
	var text, js bytes.Buffer
	r := NewReport(nil)
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
