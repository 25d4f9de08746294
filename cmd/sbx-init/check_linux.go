package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// exitDenied is the exit code of check for a host that is not allowed.
const exitDenied = 1

// check says what the policy does with a host, with the matcher that enforces,
// and what else it was refused for lately.
func (p *program) check(args []string) error {
	fs := newFlags("check")
	path := fs.String("policy", "", "")
	log := fs.String("audit", "", "")
	rest, err := parseFlags(fs, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return usageError("check takes one HOST[:PORT]")
	}
	t, err := firewall.ParseTarget(rest[0])
	if err != nil {
		err = fmt.Errorf("check: %q is not a host: %w", rest[0], err)
		return exitWith(exitcode.Usage, diag.OrHint(err, "see 'sbx-init help'"))
	}
	if *path == "" {
		// A refusal under another policy says nothing about the one named.
		*log = cmp.Or(*log, defaultAudit)
		*path = filepath.Join(filepath.Dir(*log), effectivePolicy)
	}
	pol, err := p.loadPolicy(*path, nil, nil)
	if err != nil {
		return err
	}
	d := t.Decide(pol.Policy.Policy)
	word := "denied"
	if d.Allowed() {
		word = "allowed"
	}
	text := fmt.Sprintf("%s: %s\nreason: %s\n", word, rest[0], d.Reason)
	if d.Rule != "" {
		text += fmt.Sprintf("rule: %s\n", d.Rule)
	}
	switch fix, why := audit.Fix(pol.Policy.Policy, t); {
	case fix != "":
		text += fmt.Sprintf("to open it, add this line to \"allow\": %q,\n", fix)
	case why != "" && why != d.Reason:
		text += fmt.Sprintf("no line is offered: %s\n", why)
	}
	if *log != "" {
		refusals, err := audit.Refusals(*log, t, since(*path), maxOnRecord)
		if err != nil {
			return fmt.Errorf("check: %w", err)
		}
		text += onRecord(refusals, d, pol.Policy.Policy)
	}
	if _, err := fmt.Fprint(p.stdout, text); err != nil {
		return err
	}
	if !d.Allowed() {
		return exitWith(exitDenied, nil)
	}
	return nil
}

// maxOnRecord is how many refusals check shows.
const maxOnRecord = 3

// since is when the policy in a file was put in force; the zero time when that is
// not known.
func since(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// onRecord tells of the refusals that the policy's decision does not explain:
// where a name led, or how it was asked for.
func onRecord(refusals []audit.Record, d firewall.Decision, policy *firewall.Policy) string {
	var b strings.Builder
	fix := ""
	for _, r := range refusals {
		if r.Reason == d.Reason {
			continue
		}
		line, err := json.Marshal(r)
		if err != nil {
			continue
		}
		b.WriteString("on record: " + audit.Line(line))
		fix = cmp.Or(fix, audit.PrivateFix(policy, r))
	}
	if fix != "" {
		fmt.Fprintf(&b, "to let it lead to a private address, add this line to \"private\": %q,\n", fix)
	}
	return b.String()
}
