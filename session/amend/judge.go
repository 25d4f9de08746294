package amend

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/shellword"
	"github.com/org/claude-sandbox/settings"
)

// Request is what a person asks for.
type Request struct {
	List    string   // of "network": "presets", "allow" or "deny"
	Entries []string // as sandbox.jsonc writes them
	Remove  bool     // take them out of the list
	Private bool     // the names in Entries may lead to private addresses as well
}

// Change is the request as a change of settings.
func (r Request) Change() settings.Change {
	var l settings.Lists
	switch r.List {
	case "presets":
		l.Presets = r.Entries
	case "allow":
		l.Allow = r.Entries
	case "deny":
		l.Deny = r.Entries
	}
	if r.Private {
		for _, entry := range r.Entries {
			l.Private = append(l.Private, namesOf(entry)...)
		}
	}
	if r.Remove {
		return settings.Change{Remove: l}
	}
	return settings.Change{Add: l}
}

// namesOf are the names that an entry of "allow" is about; of a wildcard "*." and what
// follows.
func namesOf(entry string) (names []string) {
	if operation.Typed(entry) {
		rules, _ := operation.Compile([]string{entry}) // a wrong one has none
		for _, h := range rules.Hosts() {
			if h.Wildcard {
				h.Name = "*." + h.Name
			}
			names = append(names, h.Name)
		}
		return names
	}
	if t, err := firewall.ParseTarget(entry); err == nil && t.Name != "" {
		return []string{t.Name}
	}
	return nil
}

// Opens reports whether the request can open something.
func (r Request) Opens() bool { return r.Remove == (r.List == "deny") }

// Edit is a change of one settings file.
type Edit struct {
	Before, After []byte // the same text when nothing changes
	Notes         []string
	// Joining is about the dev container. Its edit of devcontainer.json is part of this one,
	// or comes in addition.
	Joining Joining
}

// Errors are everything that is wrong with a request, each with a hint where there
// is one.
type Errors []error

func (e Errors) Error() string {
	var texts []string
	for _, err := range e {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "; ")
}

// decide decides a request for a settings file that is valid, and returns the file as it becomes. It
// refuses entries that are none, allowed entries that the file denies, and entries to remove that are
// not there, all of them at once as Errors. An entry that needs no change is noted.
func decide(file *settings.File, r Request) (after *settings.File, notes []string, err error) {
	j := judge{file: file, policy: file.Settings.Policy().InMode(firewall.ModeAllowlist), request: r}
	r.Entries = slices.Clone(r.Entries)
	for i, entry := range r.Entries {
		r.Entries[i] = strings.TrimSpace(entry)
	}
	given := settings.Given{}
	given.Entries(r.List, "network."+r.List, r.Entries)
	if _, bad := given.Accept(); bad != nil {
		return nil, nil, Errors(bad)
	}
	for _, entry := range r.Entries {
		switch {
		case r.Remove:
			j.remove(entry)
		case r.List == "allow":
			j.allow(entry)
		case r.List == "deny":
			j.deny(entry)
		case slices.Contains(j.network().Presets, entry):
			j.note("%s has the preset %s already", j.at("presets", entry), entry)
		}
	}
	if len(j.bad) > 0 {
		return nil, nil, j.bad
	}
	isDone := func(entry string) bool { return slices.Contains(j.done, entry) }
	change := r.Change()
	change.Add.Allow = slices.DeleteFunc(slices.Clone(change.Add.Allow), isDone)
	change.Add.Deny = slices.DeleteFunc(slices.Clone(change.Add.Deny), isDone)
	if after, err = file.Amend(change); err != nil {
		return nil, nil, Errors{err}
	}
	// An entry may be valid and hardly meant, such as one of a host that anybody rents.
	for _, f := range after.Findings {
		if !slices.ContainsFunc(file.Findings, func(old diag.Finding) bool { return old.Message == f.Message }) {
			j.note("%s:%d: %s", f.File, f.Line, f.Message)
		}
	}
	return after, j.notes, nil
}

// judge looks at the entries of a request one by one.
type judge struct {
	file    *settings.File
	policy  *firewall.Policy // of the file, as in mode allowlist
	request Request
	done    []string // entries that the file needs no change for
	notes   []string
	bad     Errors
}

func (j *judge) network() firewall.Network { return j.file.Settings.Network }

func (j *judge) note(format string, args ...any) {
	j.notes = append(j.notes, fmt.Sprintf(format, args...))
}

func (j *judge) fail(hint, format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if hint != "" {
		err = diag.WithHint(err, "%s", hint)
	}
	j.bad = append(j.bad, err)
}

func (j *judge) allow(entry string) {
	if rule := j.policy.DeniedBy(entry); rule != "" {
		j.fail("take it out first: sbx-devc deny --remove "+shellword.Quote(rule),
			"%s would stay closed: %s denies %s, and deny wins over allow", entry, j.at("deny", rule), rule)
		return
	}
	if open, by := opens(j.policy, entry); open {
		if by == "" && operation.Typed(entry) && !j.policy.Operations().Covers(entry) {
			by = ", and all else at its host: take what opens that whole out first to have these operations alone" + j.whole(entry)
		}
		j.note("%s allows %s already%s", j.file.Path, entry, by)
		j.done = append(j.done, entry)
	}
	for _, name := range namesOf(entry) {
		local := firewall.IsLocalName(name) && !firewall.IsMetadataName(name)
		if local && !j.request.Private && j.policy.MayBePrivate(name) == "" {
			j.note("%s most likely leads to a private address, which stays closed: sbx-devc allow --private %s", name, shellword.Quote(entry))
		}
	}
}

// whole is ": COMMAND" that takes out what opens the host of a typed entry whole; ""
// when it has several hosts.
func (j *judge) whole(entry string) string {
	names := namesOf(entry)
	if len(names) != 1 {
		return ""
	}
	rule := j.policy.Decide(names[0], netip.Addr{}, 443, firewall.TCP).Rule
	if rest, ok := strings.CutPrefix(rule, "preset:"); ok {
		preset, _, _ := strings.Cut(rest, " ")
		return ": sbx-devc preset --remove " + preset
	}
	if rule == "" {
		return ""
	}
	return ": sbx-devc allow --remove " + shellword.Quote(rule)
}

func (j *judge) deny(entry string) {
	if rule := j.policy.DeniedBy(entry); rule != "" {
		j.note("%s denies %s already", j.at("deny", rule), entry)
		j.done = append(j.done, entry)
	}
}

func (j *judge) remove(entry string) {
	have := map[string][]string{"presets": j.network().Presets, "allow": j.network().Allow, "deny": j.network().Deny}[j.request.List]
	for _, e := range j.file.Settings.Entries() {
		if e.List != j.request.List || !settings.SameEntry(e.Text, entry) {
			continue
		}
		if e.File != j.file.Path {
			j.fail("take it out of that file", "%s comes from the list %s:%d", entry, e.File, e.Line)
		}
		return
	}
	hint := ""
	if near := diag.Suggest(entry, have); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	if open, by := opens(j.policy, entry); j.request.List == "allow" && open {
		hint = fmt.Sprintf("it is open%s; 'sbx-devc deny %s' closes it", by, shellword.Quote(entry))
	}
	j.fail(hint, "network.%s of %s has no %q", j.request.List, j.file.Path, entry)
}

// at names the place of an entry.
func (j *judge) at(list, entry string) string {
	for _, e := range j.file.Settings.Entries() {
		if e.List == list && settings.SameEntry(e.Text, entry) {
			return fmt.Sprintf("%s:%d", e.File, e.Line)
		}
	}
	return j.file.Path
}

// opens reports whether a policy lets out all that an entry of "allow" means, and by
// which entry where one host is asked for.
func opens(policy *firewall.Policy, entry string) (open bool, by string) {
	if lacks, bad := policy.Lacks(firewall.Network{Allow: []string{entry}}); bad != nil || len(lacks) > 0 {
		return false, ""
	}
	if policy.Mode() != firewall.ModeAllowlist {
		return true, ", by mode " + string(policy.Mode())
	}
	if t, err := firewall.ParseTarget(entry); err == nil {
		if t.Port == 0 {
			t.Port = 443
		}
		if rule := t.Decide(policy).Rule; rule != "" && !settings.SameEntry(rule, entry) {
			by = ", by " + rule
		}
	}
	return true, by
}
