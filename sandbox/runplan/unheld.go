package runplan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/shellword"
	"github.com/org/claude-sandbox/settings"
)

// unheld are the values of the user's own files and flags that a run with the settings s,
// as Effective returned them, does not have because of the project's file. Hosts that s
// opens by another entry are none of them.
func (o Options) unheld(s settings.Accepted) (out []settings.Value) {
	if o.Project == nil {
		return nil
	}
	alone := o
	alone.Project = nil
	without, err := alone.withoutProject()
	if err != nil {
		return nil
	}
	said, held := o.users(), s.Settings
	if s.Network.Mode == firewall.ModeNone && without.Network.Mode != firewall.ModeNone {
		held.Network.Presets, held.Network.Allow = nil, nil
	}
	never := settings.Missing(said, without) // such as what --no-secret takes away
	for _, v := range settings.Missing(said, held) {
		if slices.Contains(never, v) || v.Key == "network.mode" && o.User.Network.Mode != "" { // which modeWarnings tells
			continue
		}
		if n, ok := hostsOf(v); ok {
			if lacks, errs := s.Policy().Lacks(n); errs == nil && len(lacks) == 0 {
				continue
			}
		}
		out = append(out, v)
	}
	return out
}

// hostsOf is an entry of a list of hosts as a network; ok = false for any other value.
func hostsOf(v settings.Value) (n firewall.Network, ok bool) {
	n.Mode = firewall.ModeAllowlist
	switch v.Key {
	case "network.allow":
		n.Allow = []string{v.Text}
	case "network.presets":
		n.Presets = []string{v.Text}
	default:
		return n, false
	}
	return n, true
}

// maxUnheld bounds the values that a note lists.
const maxUnheld = 8

// UnheldNote says in a line which of the user's settings a run with the settings s does
// not have because of the project's file; "" = it has all of them.
func (o Options) UnheldNote(s settings.Accepted) string {
	unheld := o.unheld(s)
	if len(unheld) == 0 {
		return ""
	}
	var shown, flags []string
	for _, v := range unheld {
		text := v.Key
		if !strings.HasPrefix(v.Key, "env.") { // whose value may be a secret
			text += " " + v.Shown()
		}
		shown = append(shown, text)
		if flag := map[string]string{"network.allow": "--allow ", "network.presets": "--preset "}[v.Key]; flag != "" {
			flags = append(flags, flag+shellword.Quote(v.Shown()))
		}
	}
	more, open := "", ""
	if len(shown) > maxUnheld {
		more = fmt.Sprintf(" and %d more", len(shown)-maxUnheld)
		shown = shown[:maxUnheld]
	}
	if s.Network.Mode == firewall.ModeNone {
		open = "; its mode is none"
	} else if len(flags) > 0 {
		open = "; a run opens it with " + strings.Join(flags[:min(len(flags), maxUnheld)], " ")
	}
	return "the project's sandbox.jsonc has lists and values of its own, so this of yours does not hold here: " +
		strings.Join(shown, ", ") + more + open
}
