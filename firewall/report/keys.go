package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/internal/visible"
)

// Key is what a key did, and what the firewall refused at its hosts: such requests did not
// leave, so the key went with none of them.
type Key struct {
	credential.Use
	Refused []credential.Requests `json:"refused,omitempty"` // the most first
}

// SetKeys adds to a report with all of its rows what the keys of its run did.
func (r *Report) SetKeys(uses []credential.Use) {
	r.Keys = nil
	for _, use := range uses {
		k := Key{Use: use}
		for _, row := range r.Rows {
			if row.Verdict == firewall.Deny && row.Operation != "" && use.At(row.Host, row.Port) {
				k.Refused = append(k.Refused, credential.Requests{Host: row.Host, Operation: row.Operation, Count: row.Count})
			}
		}
		r.Keys = append(r.Keys, k)
	}
}

// maxKinds bounds the kinds of requests that are shown of a key, once for those that it
// went with and once for those that were refused. The JSON form has all.
const maxKinds = 20

// lines say what the key did.
func (k Key) lines() (head string, all []string) {
	went, refused := total(k.Requests), total(k.Refused)
	head = fmt.Sprintf("key %s, for %s: went with %s", printable(k.Name), printable(k.For), visible.Count(went, "request"))
	if refused > 0 {
		head += fmt.Sprintf("; %d refused at its hosts", refused)
	}
	return head, slices.Concat(kinds("went", k.Requests), kinds("refused", k.Refused))
}

func total(list []credential.Requests) (n int) {
	for _, r := range list {
		n += r.Count
	}
	return n
}

func kinds(what string, list []credential.Requests) (lines []string) {
	for i, r := range list {
		if i == maxKinds {
			return append(lines, fmt.Sprintf("%s: %d more kinds", what, len(list)-i))
		}
		does := printable(r.Operation)
		switch {
		case r.Operation == "":
			does = "others at " + printable(r.Host)
		case !strings.Contains(r.Operation, r.Host):
			does += " at " + printable(r.Host)
		}
		lines = append(lines, fmt.Sprintf("%d %s: %s", r.Count, what, does))
	}
	return lines
}
