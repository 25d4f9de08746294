package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/diag"
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
		return exitWith(exitUsage, diag.OrHint(err, "see 'sbx-init help'"))
	}
	if *path == "" {
		// What was refused under another policy says nothing about the one named.
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
		refusals, err := lately(*log, t, since(*path))
		if err != nil {
			return err
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

const (
	maxLately   = 4 << 20 // bytes at the end of the log that check reads
	maxOnRecord = 3       // refusals that it shows
)

// since is when the policy in a file was put in force; the zero time when nobody
// knows.
func since(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// lately returns the newest refusals of t that the log holds and that are no
// older than the policy, each reason once, the newest first. No log is no refusal.
func lately(path string, t firewall.Target, policy time.Time) ([]audit.Record, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > maxLately {
		_, _ = f.Seek(-maxLately, io.SeekEnd) // what is cut there is no record
	}
	records, err := audit.Read(f)
	if err != nil {
		return nil, fmt.Errorf("check: reading the audit log: %w", err)
	}
	var found []audit.Record
	seen := map[string]bool{}
	for _, r := range slices.Backward(records) {
		if r.Verdict == firewall.Deny && isAbout(r, t) && !r.Time.Before(policy) && !seen[r.Reason] && len(found) < maxOnRecord {
			seen[r.Reason] = true
			found = append(found, r)
		}
	}
	return found, nil
}

func isAbout(r audit.Record, t firewall.Target) bool {
	if t.Port != 0 && r.Port != 0 && (t.Port != r.Port || r.Proto != t.Proto) {
		return false
	}
	if t.Name != "" {
		return r.Name == t.Name
	}
	addr, err := netip.ParseAddr(r.Dst)
	return err == nil && addr == t.Addr
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
