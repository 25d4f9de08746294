package firewall_test

import (
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
)

const readV1 = "https://api.example.com GET,HEAD /v1/**"

func TestTypedEntriesOpenTheirHostOnTheJudgedPort(t *testing.T) {
	p := policy(t, firewall.Network{Allow: []string{"docs.example.com", readV1, "https://*.hooks.example.org POST /**"}})
	for _, tc := range []struct {
		host   string
		port   uint16
		proto  firewall.Proto
		rule   string
		opened bool // its TLS
	}{
		{"api.example.com", 443, firewall.TCP, readV1, true},
		{"API.example.com.", 443, firewall.TCP, readV1, false}, // Opens takes canonical names
		{"api.example.com", 80, firewall.TCP, "", false},
		{"api.example.com", 443, firewall.UDP, "", false},
		{"x.api.example.com", 443, firewall.TCP, "", false},
		{"a.hooks.example.org", 443, firewall.TCP, "https://*.hooks.example.org POST /**", true},
		{"hooks.example.org", 443, firewall.TCP, "", false},
		{"docs.example.com", 443, firewall.TCP, "docs.example.com", false},
		{"docs.example.com", 80, firewall.TCP, "docs.example.com", false},
	} {
		d := p.Decide(tc.host, netip.Addr{}, tc.port, tc.proto)
		if d.Allowed() != (tc.rule != "") || d.Allowed() && d.Rule != tc.rule {
			t.Errorf("%s %d/%s: %+v, want rule %q", tc.host, tc.port, tc.proto, d, tc.rule)
		}
		if tc.proto == firewall.TCP && p.Operations().Opens(tc.host, tc.port) != tc.opened {
			t.Errorf("%s %d: the TLS is opened: %v", tc.host, tc.port, !tc.opened)
		}
	}
	if d := p.DecideName("api.example.com"); !d.Allowed() || !strings.Contains(d.Reason, "each request is judged") {
		t.Errorf("%+v", d)
	}
	if plain := policy(t, firewall.Network{Allow: []string{"docs.example.com"}}); plain.Operations() != nil {
		t.Error("a policy of hosts alone opens TLS")
	}
	denied := policy(t, firewall.Network{Allow: []string{readV1}, Deny: []string{"*.example.com"}})
	if d := denied.Decide("api.example.com", netip.Addr{}, 443, firewall.TCP); d.Allowed() || d.Rule != "*.example.com" {
		t.Errorf("deny does not win: %+v", d)
	}
}

// Each of these leads past the judgement of the operations, if it is taken.
func TestAttackOperationPassedBy(t *testing.T) {
	for _, tc := range []struct {
		name string
		n    firewall.Network
		list string
		at   int
		says string
	}{
		{"plain first", firewall.Network{Allow: []string{"api.example.com", readV1}}, "allow", 1, "opens the host whole"},
		{"plain last", firewall.Network{Allow: []string{readV1, "api.example.com"}}, "allow", 0, "opens the host whole"},
		{"in other letters", firewall.Network{Allow: []string{readV1, "API.Example.com."}}, "allow", 0, "opens the host whole"},
		{"wildcard", firewall.Network{Allow: []string{readV1, "*.example.com"}}, "allow", 0, "*.example.com opens"},
		{"under a typed wildcard", firewall.Network{Allow: []string{"https://*.example.com GET /**", "a.b.example.com"}}, "allow", 0,
			"a.b.example.com opens"},
		{"wildcard under a typed wildcard", firewall.Network{Allow: []string{"https://*.example.com GET /**", "*.b.example.com"}}, "allow", 0,
			"whole"},
		{"without TLS", firewall.Network{Allow: []string{readV1, "api.example.com:80"}}, "allow", 0, "opens the host whole"},
		{"HTTP/3", firewall.Network{Allow: []string{readV1, "api.example.com:443/udp"}}, "allow", 0, "opens the host whole"},
		{"plain 443", firewall.Network{Allow: []string{readV1, "api.example.com:443"}}, "allow", 0, "opens the host whole"},
		{"by a preset", firewall.Network{Presets: []string{"github"}, Allow: []string{"https://api.github.com GET /**"}}, "allow", 0,
			"preset:github *.github.com"},
		{"guard off", firewall.Network{Guard: firewall.GuardOff, Allow: []string{readV1}}, "allow", 0, "needs the guard"},
		{"another port", firewall.Network{Allow: []string{"https://api.example.com:8443 GET /**"}}, "allow", 0, "judged on port 443 alone"},
		{"port of DNS", firewall.Network{Allow: []string{"https://api.example.com:853 GET /**"}}, "allow", 0, "judged on port 443 alone"},
		{"port 80", firewall.Network{Allow: []string{"https://api.example.com:80 GET /**"}}, "allow", 0, "judged on port 443 alone"},
		{"a registry of names", firewall.Network{Allow: []string{"https://*.com GET /**"}}, "allow", 0, "public registry"},
		{"another registry", firewall.Network{Allow: []string{"https://*.co.uk GET /**"}}, "allow", 0, "public registry"},
		{"every name", firewall.Network{Allow: []string{"https://* GET /**"}}, "allow", 0, "is no host"},
		{"an address", firewall.Network{Allow: []string{"https://192.0.2.1 GET /**"}}, "allow", 0, "is an address"},
		{"mixed letters", firewall.Network{Allow: []string{"https://g\u0456thub.com GET /**"}}, "allow", 0, "several alphabets"},
		{"mixed letters, encoded", firewall.Network{Allow: []string{"https://xn--gthub-n2e.com GET /**"}}, "allow", 0, "several alphabets"},
		{"deny", firewall.Network{Deny: []string{readV1}}, "deny", 0, "deny holds hosts"},
		{"a preset", firewall.Network{Presets: []string{"npm", "npm:read"}}, "presets", 1, "is no preset"},
		{"private", firewall.Network{Private: []string{readV1}}, "private", 0, "private holds hosts"},
		{"two hosts", firewall.Network{Allow: []string{"https://a.example.com,https://evil.example GET /**"}}, "allow", 0, ""},
		{"a comma", firewall.Network{Allow: []string{"https://a.example.com,evil.example GET /**"}}, "allow", 0, ""},
		{"two entries in one", firewall.Network{Allow: []string{"https://a.example.com GET /a https://evil.example POST /**"}},
			"allow", 0, "is no path"},
		{"a line break", firewall.Network{Allow: []string{"https://a.example.com GET /a\n/**"}}, "allow", 0, "cannot see"},
		{"a tab", firewall.Network{Allow: []string{"https://a.example.com GET /a\t/**"}}, "allow", 0, "cannot see"},
		{"a space that is none", firewall.Network{Allow: []string{"https://a.example.com GET /a\u00a0/**"}}, "allow", 0, "cannot see"},
		{"a wide space", firewall.Network{Allow: []string{"https://a.example.com GET /a\u3000/**"}}, "allow", 0, "cannot see"},
		{"no width", firewall.Network{Allow: []string{"https://a.example.com\u200b GET /**"}}, "allow", 0, "cannot see"},
		{"right to left", firewall.Network{Allow: []string{"https://a.example.com GET /\u202ea/**"}}, "allow", 0, "cannot see"},
		{"no text", firewall.Network{Allow: []string{"https://a.example.com GET /\xff"}}, "allow", 0, "cannot see"},
		{"the kind in capitals", firewall.Network{Allow: []string{"HTTPS://api.example.com GET /**"}}, "allow", 0, "is a URL"},
		{"too many", firewall.Network{Allow: many(501)}, "allow", 500, "more than 500"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, errs := firewall.NewPolicy(tc.n)
			if p != nil || len(errs) != 1 || errs[0].List != tc.list || errs[0].Index != tc.at || !strings.Contains(errs[0].Message, tc.says) {
				t.Fatalf("policy %v, errors %+v; want %s[%d] %q", p != nil, errs, tc.list, tc.at, tc.says)
			}
			if errs[0].Hint == "" && tc.says != "is no host" && tc.says != "" {
				t.Errorf("no hint: %+v", errs[0])
			}
		})
	}
}

func many(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("https://h%d.example.com GET /**", i))
	}
	return out
}

// Whoever adds to a policy in force adds no way past it.
func TestAttackOperationPassedByWhatIsAdded(t *testing.T) {
	typed := policy(t, firewall.Network{Allow: []string{readV1}})
	for _, more := range []firewall.Network{
		{Allow: []string{"ok.example.org", "*.example.com"}}, {Allow: []string{"ok.example.org", "api.example.com:80"}},
	} {
		if p, errs := typed.With(more); p != nil || len(errs) != 1 || errs[0].Index != 1 {
			t.Errorf("%q: %+v", more.Allow, errs)
		}
	}
	github := policy(t, firewall.Network{Allow: []string{"https://api.github.com GET /**"}})
	if p, errs := github.With(firewall.Network{Presets: []string{"npm", "github"}}); p != nil || len(errs) != 1 ||
		errs[0].List != "presets" || errs[0].Index != 1 {
		t.Errorf("%+v", errs)
	}
	plain := policy(t, firewall.Network{Allow: []string{"*.example.com"}})
	if p, errs := plain.With(firewall.Network{Allow: []string{"ok.example.org", readV1}}); p != nil || len(errs) != 1 || errs[0].Index != 1 {
		t.Errorf("%+v", errs)
	}
	off := policy(t, firewall.Network{Guard: firewall.GuardOff})
	if p, errs := off.With(firewall.Network{Allow: []string{readV1}}); p != nil || len(errs) != 1 {
		t.Errorf("%+v", errs)
	}
	both, errs := typed.With(firewall.Network{Allow: []string{"https://api.example.org GET /**"}})
	if errs != nil || !both.Operations().Opens("api.example.com", 443) || !both.Operations().Opens("api.example.org", 443) {
		t.Fatal(errs)
	}
	if typed.Operations().Opens("api.example.org", 443) || typed.DecideName("api.example.org").Allowed() {
		t.Error("the policy that was added to changed")
	}
}

// Which of two policies lets out more, by operations.
func TestAttackOperationWidens(t *testing.T) {
	for _, tc := range []struct {
		base, p string // entries, separated by " | "
		want    string
	}{
		{"api.example.com", readV1, ""},
		{"*.example.com", readV1, ""},
		{"api.example.com:443", readV1, ""},
		{"api.example.com:80", readV1, readV1},
		{"api.example.com:443/udp", readV1, readV1},
		{"", readV1, readV1},
		{readV1, "", ""},
		{readV1, "api.example.com", "api.example.com"},
		{readV1, "api.example.com:443", "api.example.com:443"},
		{readV1, "*.example.com", "*.example.com"},
		{readV1, readV1, ""},
		{readV1, "https://API.example.com  HEAD,GET   /v1/**", ""},
		{readV1, "https://api.example.com GET /v1/models", ""},
		{readV1, "https://api.example.com GET /v1/*/x", ""},
		{readV1, "https://api.example.com GET,POST /v1/**", "https://api.example.com GET,POST /v1/**"},
		{readV1, "https://api.example.com GET /**", "https://api.example.com GET /**"},
		{readV1, "https://api.example.com GET /*/x", "https://api.example.com GET /*/x"},
		{readV1, "https://api.example.com GET /v1/a /v2/b", "https://api.example.com GET /v1/a /v2/b"},
		{readV1, "https://*.example.com GET /v1/**", "https://*.example.com GET /v1/**"},
		{readV1, "https://x.api.example.com GET /v1/**", "https://x.api.example.com GET /v1/**"},
		{"https://*.example.com GET /v1/**", readV1, readV1},
		{"https://*.example.com GET,HEAD /v1/**", readV1, ""},
		{"https://*.example.com GET,HEAD /v1/**", "https://*.b.example.com GET /v1/x", ""},
		{"https://api.example.com GET /v1/*", "https://api.example.com GET /v1/**", "https://api.example.com GET /v1/**"},
		{"https://api.example.com GET /v1/*", "https://api.example.com GET /v1/", "https://api.example.com GET /v1/"},
		{"https://api.example.com GET /v1/** | https://api.example.com POST /v2/**", "https://api.example.com POST /v2/x", ""},
	} {
		base, p := policy(t, firewall.Network{Allow: entries(tc.base)}), policy(t, firewall.Network{Allow: entries(tc.p)})
		if got := strings.Join(p.Wider(base), " | "); got != tc.want {
			t.Errorf("%q against %q: wider by %q, want %q", tc.p, tc.base, got, tc.want)
		}
	}
	deny := policy(t, firewall.Network{Allow: []string{readV1}, Deny: []string{"api.example.com"}})
	if wider := policy(t, firewall.Network{Allow: []string{readV1}}).Wider(deny); !slices.Equal(wider, []string{readV1}) {
		t.Errorf("a denial that is gone: %q", wider)
	}
}

func entries(text string) (out []string) {
	for e := range strings.SplitSeq(text, " | ") {
		if e != "" {
			out = append(out, e)
		}
	}
	return out
}

func TestReviewOfTypedEntries(t *testing.T) {
	for _, tc := range []struct {
		n    firewall.Network
		want []string
	}{
		{firewall.Network{Allow: []string{readV1, "https://api.example.com POST /v1/**"}}, nil},
		{firewall.Network{Allow: []string{readV1, readV1}}, []string{"allow[1] covered by"}},
		{firewall.Network{Allow: []string{"https://api.example.com GET /v1/x", "ok.example.org", "ok.example.org", readV1}},
			[]string{"allow[0] covered by " + readV1, "allow[2] listed already"}},
		{firewall.Network{Allow: []string{readV1}, Deny: []string{"*.example.com"}}, []string{"allow[0] no effect: *.example.com in deny wins"}},
		{firewall.Network{Allow: []string{"https://*.github.io GET /**"}}, []string{"allow[0] anybody can have a host"}},
		{firewall.Network{Allow: []string{"https://git.example.com GET /**", "git.example.com:22"}},
			[]string{"allow[0] git.example.com:22 opens 22/tcp there"}},
	} {
		var got []string
		for _, e := range policy(t, tc.n).Review() {
			got = append(got, fmt.Sprintf("%s[%d] %s", e.List, e.Index, e.Message))
			if e.Hint == "" {
				t.Errorf("%s lacks a hint", e.Message)
			}
		}
		if len(got) != len(tc.want) {
			t.Errorf("%q: %q, want %q", tc.n.Allow, got, tc.want)
			continue
		}
		for i, want := range tc.want {
			place, words, _ := strings.Cut(want, " ")
			if !strings.HasPrefix(got[i], place) || !strings.Contains(got[i], words) {
				t.Errorf("got %q, want %q", got[i], want)
			}
		}
	}
}

func TestTypedEntryThatADenialTakesAway(t *testing.T) {
	p := policy(t, firewall.Network{Deny: []string{"api.example.com"}})
	if by := p.DeniedBy(readV1); by != "api.example.com" {
		t.Errorf("%q", by)
	}
	if by := p.DeniedBy("https://x.example.com GET /**"); by != "" {
		t.Errorf("%q", by)
	}
}

// The page shows entries as they are written.
func TestEntriesOfThePage(t *testing.T) {
	page, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1]+cells[2], -1) {
			if !strings.Contains(m[1], ":") {
				continue
			}
			seen++
			if p, errs := firewall.NewPolicy(firewall.Network{Allow: []string{m[1]}}); errs != nil || p.Operations() == nil {
				t.Errorf("%s: %v", m[1], errs)
			}
		}
	}
	if seen < 10 {
		t.Errorf("the page has %d entries", seen)
	}
}
