package report_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/report"
	"github.com/org/claude-sandbox/settings"
)

// The lines of a report are pasted where it says, as they stand there, into
// files with and without such entries: each is read then, and opens the host.
func TestLinesOfAReportCanBePasted(t *testing.T) {
	records := []audit.Record{
		{Verdict: firewall.Deny, Layer: audit.LayerDNS, Name: "one.example.com", Reason: "r"},
		{Verdict: firewall.Deny, Layer: audit.LayerDNS, Name: "two.example.com", Reason: "r"},
		{Verdict: firewall.Deny, Layer: audit.LayerIP, Dst: "2001:db8::7", Port: 8443, Proto: firewall.TCP, Reason: "r"},
	}
	private := audit.Record{Verdict: firewall.Deny, Layer: audit.LayerDNS, Name: "db.example.com", Dst: "10.1.2.3", Reason: "r"}
	for name, source := range map[string]string{
		"empty list":    `{"network": {"mode": "allowlist", "allow": []}}`,
		"one in a line": `{"network": {"mode": "allowlist", "allow": ["db.example.com"]}}`,
		"lists of lines": "{\"network\": {\n  \"allow\": [\n    // ours\n    \"db.example.com\"\n  ],\n  \"private\": [\n" +
			"    \"other.example.com\"\n  ]\n}}",
		"no such private": "{\"network\": {\n  \"allow\": [\"db.example.com\"],\n  \"deny\": []\n}}",
	} {
		t.Run(name, func(t *testing.T) {
			s, findings := settings.Parse("sandbox.jsonc", []byte(source), nil)
			if s == nil {
				t.Fatal(findings)
			}
			records := slices.Clone(records)
			if len(s.Network.Allow) > 0 {
				records = append(records, private)
			}
			r := report.New(records, s.Policy())
			var text, md strings.Builder
			if err := r.WriteText(&text); err != nil {
				t.Fatal(err)
			}
			if err := r.WriteMarkdown(&md); err != nil {
				t.Fatal(err)
			}
			lines := regexp.MustCompile(`(?m)add this line to "(\w+)": (.*)$`).FindAllStringSubmatch(text.String(), -1)
			blocks := regexp.MustCompile("(?s)`(\\w+)`[^`]*:\n\n```jsonc\n(.*?)```\n").FindAllStringSubmatch(md.String(), -1)
			if len(lines) != len(records) || len(blocks) == 0 {
				t.Fatalf("%d lines, %d blocks of %d records\n%s\n%s", len(lines), len(blocks), len(records), text.String(), md.String())
			}
			for form, pastes := range map[string][][]string{"text": lines, "markdown": blocks} {
				pasted := source
				for _, m := range pastes {
					pasted = paste(pasted, m[1], m[2])
				}
				after, findings := settings.Parse("sandbox.jsonc", []byte(pasted), nil)
				if after == nil {
					t.Fatalf("%s: %v\n%s", form, findings, pasted)
				}
				p, errs := firewall.NewPolicy(after.Network)
				if len(errs) > 0 {
					t.Fatal(errs)
				}
				for _, r := range records {
					target := firewall.Target{Name: r.Name, Port: r.Port, Proto: r.Proto}
					if r.Name == "" {
						target = mustTarget(t, "[2001:db8::7]:8443")
					}
					if d := target.Decide(p); !d.Allowed() {
						t.Errorf("%s: %s is refused: %s\n%s", form, r.Name+r.Dst, d.Reason, pasted)
					}
				}
			}
		})
	}
}

func mustTarget(t *testing.T, s string) firewall.Target {
	target, err := firewall.ParseTarget(s)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// paste puts text at the beginning of a list, or of an object, of that name.
func paste(source, name, text string) string {
	at := regexp.MustCompile(`"` + name + `":\s*[\[{]`).FindStringIndex(source)
	if at == nil { // "add it" means to make it
		return paste(source, "network", `"`+name+`": [`+text+`],`)
	}
	return source[:at[1]] + "\n" + text + "\n" + source[at[1]:]
}
