package session

import (
	"slices"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

func TestServicesNetwork(t *testing.T) {
	service := func(name string, running bool, networks ...string) engine.Container {
		return engine.Container{Labels: map[string]string{composeService: name}, Running: running, Networks: networks}
	}
	all := []engine.Container{
		service("db", true, "app_back", "app_default"), service("cache", true, "app_back"), service("mail", false, "app_mail"),
		service("web", true, "app_default"),
		service("proxy", true, "host"), service("proxy", true, "none"),
	}
	for _, c := range []struct {
		wanted, found []string
		network       string
	}{
		{[]string{"db", "cache"}, []string{"cache", "db"}, "app_back"},
		{[]string{"db"}, []string{"db"}, "app_back"},
		{[]string{"mail"}, nil, ""}, // it does not run
		{[]string{"other"}, nil, ""},
		{[]string{"proxy"}, nil, ""}, // the firewall would close this machine's network
	} {
		network, found := servicesNetwork(all, c.wanted)
		if slices.Sort(found); network != c.network || !slices.Equal(found, c.found) {
			t.Errorf("%q: in %q are %q", c.wanted, network, found)
		}
	}
}

// A run joins no network for a name that its user has not opened, or has not let lead
// to private addresses.
func TestOpenServices(t *testing.T) {
	for _, c := range []struct {
		allow, private, want []string
	}{
		{[]string{"db:5432"}, []string{"db"}, []string{"db"}},
		{[]string{"db"}, []string{"db"}, []string{"db"}},
		{[]string{"db:5432"}, nil, nil},
		{nil, []string{"db"}, nil},
		{[]string{"db.internal:5432"}, []string{"db.internal"}, nil},
		{[]string{"db:5432"}, []string{"*", "10.0.0.0/8"}, nil},
	} {
		p := &runplan.Plan{Network: firewall.Network{Allow: c.allow, Private: c.private}}
		if got := openServices(p); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
