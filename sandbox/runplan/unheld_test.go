package runplan

import (
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/settings"
)

// A project's lists take the place of the user's own, and that is never silent.
func TestWhatTheProjectTakesFromTheUserIsSaid(t *testing.T) {
	own := settings.Settings{
		Network: firewall.Network{Presets: []string{"npm"}, Allow: []string{"own.example", "docs.example", "a.own.example"},
			Deny: []string{"bad.example"}},
		Limits: settings.Limits{Timeout: time.Hour},
		Env:    map[string]string{"TOKEN": "s3cret"},
	}
	flags := network(firewall.Network{Allow: []string{"flag.example"}})
	narrower := settings.Settings{Network: firewall.Network{Allow: []string{"docs.example"}}, Limits: settings.Limits{Timeout: time.Minute}}
	wider := settings.Settings{Network: firewall.Network{Presets: []string{}, Allow: []string{"*.own.example"}},
		Env:       map[string]string{"TOKEN": "x"},
		Workspace: settings.Workspace{Mode: "bind"}}
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"no file":      {Options{Layers: Layers{Own: own, User: flags}}, ""},
		"an empty one": {Options{Layers: Layers{Own: own, User: flags, Project: &settings.Settings{}}}, ""},
		"narrower": {Options{Layers: Layers{Own: own, User: flags, Project: &narrower}},
			"network.allow own.example, network.allow a.own.example, limits.timeout runs of 1h0m0s; " +
				"a run opens it with --allow own.example --allow a.own.example"},
		"closed": {Options{Layers: Layers{Own: own, Project: &settings.Settings{Network: firewall.Network{Mode: firewall.ModeNone}}}},
			"network.presets npm, network.allow own.example, network.allow docs.example, network.allow a.own.example; its mode is none"},
		"accepted, a host opened by a wildcard": {Options{Layers: Layers{Own: own, User: flags, Project: &wider, TrustProject: true}},
			"network.presets npm, network.allow own.example, network.allow docs.example, env.TOKEN; " +
				"a run opens it with --preset npm --allow own.example"},
		"accepted, another mode": {
			Options{Layers: Layers{Own: settings.Settings{Workspace: settings.Workspace{Mode: "copy"}}, Project: &wider, TrustProject: true}},
			"workspace.mode copy"},
	} {
		s, err := c.o.Effective()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		note := c.o.UnheldNote(s)
		if (note == "") != (c.want == "") || !strings.Contains(note, c.want) || strings.Contains(note, "s3cret") {
			t.Errorf("%s: %q, want %q", name, note, c.want)
		}
		if c.o.Own.Network.Deny != nil && !strings.Contains(strings.Join(s.Network.Deny, " "), "bad.example") {
			t.Errorf("%s: the user's deny is gone: %q", name, s.Network.Deny)
		}
	}
}
