package main

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/diag"
)

// exitDenied is the exit code of check for a host that is not allowed.
const exitDenied = 1

// check says what the policy does with a host, with the matcher that enforces.
func (p *program) check(args []string) error {
	fs := newFlags("check")
	path := fs.String("policy", filepath.Join(filepath.Dir(defaultAudit), effectivePolicy), "")
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
		return exitWith(exitUsage, diag.WithHint(err, "%s", cmp.Or(diag.HintOf(err), "see 'sbx-init help'")))
	}
	pol, err := p.loadPolicy(*path, nil)
	if err != nil {
		return err
	}
	d := t.Decide(pol.Policy)
	word := "denied"
	if d.Allowed() {
		word = "allowed"
	}
	text := fmt.Sprintf("%s: %s\nreason: %s\n", word, rest[0], d.Reason)
	if d.Rule != "" {
		text += fmt.Sprintf("rule: %s\n", d.Rule)
	}
	if fix := audit.Fix(pol.network, t); fix != "" {
		text += fmt.Sprintf("to open it, add this line to \"allow\": %q,\n", fix)
	}
	if _, err := fmt.Fprint(p.stdout, text); err != nil {
		return err
	}
	if !d.Allowed() {
		return exitWith(exitDenied, nil)
	}
	return nil
}
