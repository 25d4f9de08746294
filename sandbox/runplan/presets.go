package runplan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/settings"
)

// devContainerPresets returns a project's presets without those that every dev
// container has and a run does not need, and of these the ones of git hosting,
// for people. A preset that the user named too stays.
//
// Leaving them out is narrower than the file asks. To refuse them, as all else
// that the file would open, would refuse every project that init has set up,
// and people would open github for a run that does not need it.
func devContainerPresets(presets, users []string) (kept, hosting []string) {
	left := func(p string, among []string) bool { return slices.Contains(among, p) && !slices.Contains(users, p) }
	for _, p := range presets {
		if left(p, settings.HostingPresets()) {
			hosting = append(hosting, p)
		}
	}
	kept = slices.DeleteFunc(slices.Clone(presets), func(p string) bool {
		return left(p, settings.HostingPresets()) || left(p, settings.SessionPresets())
	})
	return kept, hosting
}

// Gists is the host of pages that anybody with any token publishes, the shortest
// way out of what the preset github opens. The file that init writes denies it.
const Gists = "gist.github.com"

// ClosesGists reports whether a run keeps gists closed although its user opens
// github: unless the user allows them by name.
func ClosesGists(user firewall.Network) bool {
	byName := slices.ContainsFunc(user.Allow, func(entry string) bool {
		host, _, _ := strings.Cut(entry, ":")
		return strings.EqualFold(strings.TrimSuffix(host, "."), Gists)
	})
	return slices.Contains(user.Presets, "github") && !byName
}

// trustedPresets returns the presets of a file that the user has read. Those of
// a person's session are left out all the same: with the model's provider open,
// anyone with a key of his own can ask it past the proxy. A person who wants that in a
// run names the preset.
func trustedPresets(project settings.Settings, users []string) []string {
	return slices.DeleteFunc(slices.Clone(project.Network.Presets), func(p string) bool {
		return slices.Contains(settings.SessionPresets(), p) && !slices.Contains(users, p)
	})
}

// providersHost is where the model's provider takes requests with anybody's key.
const providersHost = "api.anthropic.com"

// providerWarning says that the agent itself reaches the model's provider: there it can send
// what it has, and have pages fetched, with a key that somebody gives it, past the proxy.
func providerWarning(p *firewall.Policy) []string {
	d := p.Decide(providersHost, netip.Addr{}, 443, firewall.TCP)
	if p.Mode() != firewall.ModeAllowlist || !d.Allowed() {
		return nil
	}
	return []string{fmt.Sprintf("%s is open (%s): the agent can send there what it has, with any key that somebody gives it, past the proxy "+
		"that meters and screens its requests; a run needs none of the provider's hosts", providersHost, d.Rule)}
}
