package settings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// fields maps the names that an object may have to what reads their values.
type fields map[string]func(*jsonc.Node)

// place is where a finding points.
type place struct {
	doc        *jsonc.Document
	start, end int
	pointer    string
}

func (d *decoder) placeOf(n *jsonc.Node) place { return place{d.doc, n.Start, n.End, n.Pointer} }

func (d *decoder) at(p place, rule, message, hint string) {
	d.findings = append(d.findings, p.doc.Finding(p.start, p.end, diag.Finding{
		Rule: rule, Severity: diag.SeverityError, Pointer: p.pointer, Message: message, Hint: hint}))
}

// warn is at for what does not make the settings unusable.
func (d *decoder) warn(p place, rule, message, hint string) {
	d.findings = append(d.findings, p.doc.Finding(p.start, p.end, diag.Finding{
		Rule: rule, Severity: diag.SeverityWarning, Pointer: p.pointer, Message: message, Hint: hint}))
}

func (d *decoder) node(n *jsonc.Node, rule, message, hint string) {
	d.at(d.placeOf(n), rule, message, hint)
}

func quote(s string) string { return strconv.Quote(s) }

func (d *decoder) wrongType(n *jsonc.Node, want string) {
	d.node(n, RuleType, fmt.Sprintf("%s must be %s, not %s", n.Where(), want, n.Kind.WithArticle()), "")
}

func (d *decoder) want(n *jsonc.Node, kind jsonc.Kind, what string) bool {
	if n.Kind != kind {
		d.wrongType(n, what)
		return false
	}
	return true
}

// object reads the members of n by known and reports every name that known
// lacks and every required one that is missing.
func (d *decoder) object(n *jsonc.Node, known fields, required ...string) {
	d.objectWith(func(string) string { return "" }, n, known, required...)
}

// objectWith is object with a hint for some of the names that known lacks; "" = none.
func (d *decoder) objectWith(hintOf func(name string) string, n *jsonc.Node, known fields, required ...string) {
	names := slices.Sorted(maps.Keys(known))
	if !d.want(n, jsonc.Object, "an object") {
		return
	}
	for _, m := range n.Members {
		if read, ok := known[m.Name]; ok {
			read(m.Value)
			continue
		}
		hint := "accepted: " + strings.Join(names, ", ")
		if best := diag.Suggest(m.Name, names); best != "" {
			hint = fmt.Sprintf("did you mean %q?", best)
		}
		hint = cmp.Or(hintOf(m.Name), hint)
		d.at(place{d.doc, m.NameStart, m.NameEnd, m.Value.Pointer}, RuleUnknown, "unknown setting "+quote(m.Name), hint)
	}
	for _, name := range required {
		if n.Member(name) == nil {
			d.node(n, RuleValue, n.Where()+" lacks "+quote(name), "")
		}
	}
}

func (d *decoder) each(n *jsonc.Node, read func(*jsonc.Node)) {
	if !d.want(n, jsonc.Array, "an array") {
		return
	}
	for _, e := range n.Elements {
		read(e)
	}
}

func (d *decoder) text(n *jsonc.Node, to *string) bool {
	if !d.want(n, jsonc.String, "a string") {
		return false
	}
	// A NUL ends a text for the kernel and for every C program behind it.
	if strings.ContainsRune(n.Text, 0) {
		d.node(n, RuleValue, n.Where()+" holds a NUL character", "")
		return false
	}
	*to = n.Text
	return true
}

func (d *decoder) nonEmpty(n *jsonc.Node, to *string) {
	if d.text(n, to) && *to == "" {
		d.node(n, RuleValue, n.Where()+" is empty", "")
	}
}

func (d *decoder) boolean(n *jsonc.Node, to *bool) {
	if d.want(n, jsonc.Bool, "true or false") {
		*to = n.Is(true)
	}
}

func (d *decoder) choice(n *jsonc.Node, to *string, accepted ...string) {
	if !d.text(n, to) || slices.Contains(accepted, *to) {
		return
	}
	d.node(n, RuleValue, fmt.Sprintf("%s cannot be %q", n.Where(), *to), "accepted: "+strings.Join(accepted, ", "))
}

func (d *decoder) positive(n *jsonc.Node, to *float64) {
	if !d.want(n, jsonc.Number, "a number") {
		return
	}
	v, _ := strconv.ParseFloat(n.Text, 64) // JSON's numbers are Go's; one that is too large is an infinity
	if bad := checkPositive(v); bad != nil {
		d.value(n, RuleValue, bad)
		return
	}
	*to = v
}

func (d *decoder) count(n *jsonc.Node, to *int64) {
	if !d.want(n, jsonc.Number, "a number") {
		return
	}
	v, err := strconv.ParseInt(n.Text, 10, 64)
	if err != nil || v <= 0 {
		d.node(n, RuleValue, n.Where()+" must be a whole number greater than 0", "leave it out for the default")
		return
	}
	*to = v
}

func (d *decoder) duration(n *jsonc.Node, to *time.Duration) {
	var text string
	if !d.text(n, &text) {
		return
	}
	v, err := time.ParseDuration(text)
	if err != nil || v <= 0 {
		d.node(n, RuleValue, fmt.Sprintf("%s: %q is not a duration", n.Where(), text),
			`accepted: a number and ms, s, m or h, as in "30m" or "1h30m"`)
		return
	}
	*to = v
}

func (d *decoder) size(n *jsonc.Node, to *int64) {
	var text string
	if !d.text(n, &text) {
		return
	}
	var bad *problem
	if *to, bad = parseSize(text); bad != nil {
		d.value(n, RuleValue, bad)
	}
}

// usable judges a limit.
func (d *decoder) usable(n *jsonc.Node, l Limits) {
	if err := l.Usable(); err != nil {
		d.value(n, RuleValue, &problem{err.Error(), diag.HintOf(err)})
	}
}

// value says what is wrong with a value.
func (d *decoder) value(n *jsonc.Node, rule string, bad *problem) {
	d.node(n, rule, n.Where()+": "+bad.message, bad.hint)
}
