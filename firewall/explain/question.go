package explain

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/internal/diag"
)

// Question is about an operation: everything that a typed entry names, or one request.
type Question struct {
	text    string             // as people write it
	entry   string             // typed; "" = it is about request
	hosts   []string           // that it is about
	request *operation.Request // nil = it is about entry
}

// isOperationURL reports whether an address can be that of an operation: https, on its own port.
func isOperationURL(at *url.URL) bool {
	return at.Scheme == "https" && at.User == nil && (at.Port() == "" || at.Port() == "443")
}

// ParseQuestion reads a typed entry in one or more words, or a URL with the method of
// a request for it. ok is false for a text that is neither and has no method: it is a
// host's.
func ParseQuestion(words []string, method string) (q Question, ok bool, err error) {
	method = strings.ToUpper(method)
	text := strings.Join(words, " ")
	typed := operation.Typed(text)
	switch {
	case typed && method != "":
		return q, true, diag.WithHint(fmt.Errorf("%q names its operations", text), "leave --method out")
	case typed:
		rules, problems := operation.Compile([]string{text})
		if len(problems) > 0 {
			return q, true, diag.WithHint(errors.New(problems[0].Message), "%s", cmp.Or(problems[0].Hint, "write it as an entry of the allowlist"))
		}
		q = Question{text: text, entry: text}
		for _, h := range rules.Hosts() {
			q.hosts = append(q.hosts, h.Name)
		}
		return q, true, nil
	case method == "" && len(words) == 1:
		return q, false, nil
	}
	const form = "write it as https://api.example.com/v1/models --method GET, " +
		"or as an entry: git:github.com/acme/app push refs/heads/main"
	at, err := url.Parse(text)
	if err != nil || len(words) != 1 || !isOperationURL(at) {
		return q, true, diag.WithHint(fmt.Errorf("%q is no operation", text), form)
	}
	host, err := firewall.CanonicalName(at.Hostname())
	if err != nil {
		return q, true, fmt.Errorf("%q names no host: %w", text, err)
	}
	path, err := operation.ParsePath(cmp.Or(at.EscapedPath(), "/"))
	if err != nil {
		err = fmt.Errorf("a request for %q is refused whatever the policy: %w", text, err)
		return q, true, diag.WithHint(err, "write the path in its plain form")
	}
	q = Question{text: method + " " + text, hosts: []string{host}}
	q.request = &operation.Request{Host: host, Port: 443, Method: method, Path: path, Query: at.RawQuery, Header: http.Header{}}
	return q, true, nil
}

// Answer is what a policy says of an operation.
type Answer struct {
	firewall.Decision
	Wants string // the narrowest entry that would allow it; "" = none can, or it is allowed

	sealed bool // the host is open whole: no request is read
}

// Decide asks the policy about an operation. A request is asked about without a body: what
// depends on one is refused, with the reason. Wants has been tried.
func (p Explainer) Decide(q Question) Answer {
	if !p.Resolves() {
		return Answer{Decision: p.DecideName(q.hosts[0])}
	}
	listed := p.InMode(firewall.ModeAllowlist)
	a := decide(listed, q)
	if a.Wants != "" {
		wider, bad := listed.With(firewall.Network{Allow: []string{a.Wants}})
		if bad != nil || !decide(wider, q).Allowed() {
			a.Wants = ""
		}
	}
	if p.Mode() == firewall.ModeAudit && !a.Allowed() && a.Wants != "" {
		a.Decision = firewall.Decision{Verdict: firewall.Allow, Rule: firewall.RuleUnlisted, Reason: "would be denied: " + a.Reason}
	}
	return a
}

// decide asks a policy in mode allowlist.
func decide(p *firewall.Policy, q Question) Answer {
	host := p.Decide(q.hosts[0], netip.Addr{}, 443, firewall.TCP)
	whole := Answer{sealed: true, Decision: firewall.Decision{Verdict: firewall.Allow, Rule: host.Rule,
		Reason: q.hosts[0] + " is open whole: its TLS stays sealed, and no request is judged"}}
	if q.request == nil {
		lacks, bad := p.Lacks(firewall.Network{Allow: []string{q.entry}})
		rule := p.Operations().CoveredBy(q.entry)
		switch {
		case len(bad) > 0:
			return Answer{Decision: firewall.Decision{Verdict: firewall.Deny, Reason: bad[0].Message}}
		case len(lacks) > 0 && p.DeniedBy(q.entry) != "":
			return Answer{Decision: firewall.Decision{Verdict: firewall.Deny, Rule: p.DeniedBy(q.entry), Reason: "its host is on the deny list"}}
		case len(lacks) > 0:
			return Answer{firewall.Decision{Verdict: firewall.Deny, Reason: "no one entry allows all of it"}, q.entry, false}
		case rule != "":
			return Answer{Decision: firewall.Decision{Verdict: firewall.Allow, Rule: rule, Reason: "an entry names it"}}
		}
		return whole
	}
	switch {
	case !host.Allowed():
		return Answer{host, q.narrowest(), false}
	case !p.Operations().Opens(q.hosts[0], 443):
		return whole
	}
	d := p.Operations().Decide(operation.NewMemory(), q.request, operation.NewBody(strings.NewReader("")))
	verdict := firewall.Deny
	if d.Allowed {
		verdict = firewall.Allow
	}
	return Answer{firewall.Decision{Verdict: verdict, Rule: d.Rule, Reason: d.Reason}, d.Wants, false}
}

// narrowest is the entry for what is asked about alone; "" = there is none.
func (q Question) narrowest() string {
	if q.request == nil {
		return q.entry
	}
	entry := "https://" + q.hosts[0] + " " + q.request.Method + " " + q.request.Path.Raw
	if _, problems := operation.Compile([]string{entry}); len(problems) > 0 || strings.Contains(entry, "*") {
		return ""
	}
	return entry
}

// String is the question as people write it.
func (q Question) String() string { return q.text }

// Hint says which entry would allow the operation; "" when none is offered.
func (p Explainer) Hint(a Answer) string {
	if a.Wants == "" {
		return ""
	}
	return fmt.Sprintf("to allow it, add to %s: %q", p.List("allow"), a.Wants)
}

// WriteOperation explains the decision about an operation, with the entries that speak
// of its hosts.
func (p Explainer) WriteOperation(w io.Writer, q Question) error {
	x := explanation{policy: p}
	a := p.Decide(q)
	var b strings.Builder
	fmt.Fprintf(&b, "%s (mode %s)\n", q, p.Mode())
	line := func(what, text string) { fmt.Fprintf(&b, "  %-9s %s\n", what, text) }
	line("decision", fmt.Sprintf("%s: %s%s", a.Verdict, a.Reason, x.origin(a.Decision)))
	if hint := p.Hint(a); hint != "" {
		line("", hint)
	}
	if text := p.keyOf(q, a); text != "" {
		line("key", text)
	}
	var shown []string
	for _, host := range q.hosts {
		for _, entry := range p.TypedEntries(host) {
			if !slices.Contains(shown, entry) {
				shown = append(shown, entry)
				text, _ := operation.Words(entry)
				line("may", text+x.origin(firewall.Decision{Verdict: firewall.Allow, Rule: entry}))
			}
		}
	}
	for _, note := range x.notes {
		fmt.Fprintf(&b, "  %s\n", note)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
