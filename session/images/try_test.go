package images

import (
	"bytes"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/session/volumes"
)

// The firewall is tried for real: it stands, does not where its programs are missing, and
// is not tried before there is an image.
func TestTheFirewallIsTried(t *testing.T) {
	i := bringer(t, &bytes.Buffer{})
	id, err := i.bringFirewall(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i.Cache = t.TempDir()
	if tried, err := i.TryFirewall(t.Context()); tried || err != nil {
		t.Errorf("without an image: tried %v, %v", tried, err)
	}
	note := volumes.NoteOf(i.Cache, i.Engine.Host(), "firewall", string(firewallDockerfile))
	broken := buildFrom(t, "sbx-images-broken:try", "FROM "+id+"\nRUN rm -f /usr/sbin/*tables*\n")
	for image, want := range map[string]string{id: "", broken: "iptables"} {
		if err := note.Write(image); err != nil {
			t.Fatal(err)
		}
		tried, err := i.TryFirewall(t.Context())
		if !tried || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: tried %v, %v", image, tried, err)
		}
	}
}
