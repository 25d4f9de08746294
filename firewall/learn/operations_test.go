package learn

import (
	"fmt"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// request is a record of a request to api.example.com.
func request(verdict firewall.Verdict, op, rule, wants string) audit.Record {
	return audit.Record{Verdict: verdict, Layer: audit.LayerHTTP, Name: "api.example.com", Port: 443, Proto: firewall.TCP,
		Operation: op, Rule: rule, Wants: wants, Reason: "r"}
}

func TestLessonOfOperations(t *testing.T) {
	const v1, post = "https://api.example.com GET /v1/**", "https://api.example.com POST /v2/x"
	typed := firewall.Network{Allow: []string{v1}}
	tried := web("api.example.com")
	for i := range 30 {
		tried = append(tried,
			request(firewall.Allow, fmt.Sprint("GET /x/", i), firewall.RuleUnlisted, fmt.Sprint("https://api.example.com GET /x/", i)))
	}
	for _, tc := range []struct {
		name    string
		records []audit.Record
		n       firewall.Network
		o       Options
		want    string
	}{
		{"let out by mode audit", append(web("api.example.com"), request(firewall.Allow, "POST /v2/x", firewall.RuleUnlisted, post)), typed,
			Options{},
			"allow " + post},
		{"twice",
			[]audit.Record{request(firewall.Allow, "POST /v2/x", firewall.RuleUnlisted, post),
				request(firewall.Allow, "POST /v2/x", firewall.RuleUnlisted, post)},
			typed, Options{}, "allow " + post},
		{"allowed already", []audit.Record{request(firewall.Allow, "GET /v1/a", v1, "")}, typed, Options{}, ""},
		{"allowed by another policy", append(web("api.example.com"), request(firewall.Allow, "GET /v1/a", v1, "")), firewall.Network{},
			Options{}, "allow " + v1},
		{"refused", []audit.Record{request(firewall.Deny, "POST /v2/x", "", post)}, typed, Options{}, ""},
		{"refused and asked for", []audit.Record{request(firewall.Deny, "POST /v2/x", "", post)}, typed, Options{Denied: true}, "allow " + post},
		{"no entry can", []audit.Record{request(firewall.Allow, "POST /a//b", firewall.RuleUnlisted, "")}, typed, Options{}, ""},
		{"open whole by now", []audit.Record{request(firewall.Allow, "POST /v2/x", firewall.RuleUnlisted, post)},
			firewall.Network{Allow: []string{"api.example.com"}}, Options{}, "left " + post},
		{"an entry about another host",
			[]audit.Record{request(firewall.Allow, "POST /v2/x", firewall.RuleUnlisted, "https://evil.example POST /**")}, typed, Options{}, ""},
		{"no typed entry", []audit.Record{request(firewall.Allow, "POST /v2/x", firewall.RuleUnlisted, "*.example.com")}, typed, Options{}, ""},
		{"quotes", []audit.Record{request(firewall.Allow, "POST /'", firewall.RuleUnlisted, "https://api.example.com POST /'")}, typed,
			Options{}, ""},
		{"another port of the host", append(web("api.example.com"), passed("api.example.com", "203.0.113.7", 22, firewall.TCP),
			request(firewall.Allow, "GET /v1/a", v1, "")), typed, Options{}, "allow api.example.com:22"},
		{"a search", tried, typed, Options{}, "left api.example.com"},
	} {
		if got := learned(t, tc.records, tc.n, tc.o).String(); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	if l := learned(t, tried, typed, Options{Data: true}); len(l.Add) != 30 {
		t.Errorf("%v", l)
	}
}
