package detect

import (
	"slices"
	"testing"
)

// A line of a shell script gives hosts only when it holds nothing else.
func TestHostsOn(t *testing.T) {
	for line, want := range map[string][]string{
		`    "api.example.com" \`:                          {"api.example.com"},
		`    "api.example.com"; do`:                        {"api.example.com"},
		`for domain in a.example b.example.org; do`:        {"a.example", "b.example.org"},
		`ALLOWED=("a.example" 'b.example') # ours`:         {"a.example", "b.example"},
		`HOSTS="a.example b.example"`:                      {"a.example", "b.example"},
		`  docs.example.com`:                               {"docs.example.com"},
		`for domain in \`:                                  nil,
		`. init-firewall.sh`:                               nil,
		`init-firewall.sh`:                                 nil,
		`curl -s https://api.example.com/meta`:             nil,
		`echo "reaching a.example"`:                        nil,
		`iptables -A OUTPUT -d a.example -j ACCEPT`:        nil,
		`HOST_NETWORK=$(echo "$HOST_IP" | sed "s/1.0/2/")`: nil,
		`done`: nil,
		`)`:    nil,
		``:     nil,
	} {
		if got := hostsOn(line); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
