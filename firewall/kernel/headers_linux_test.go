package kernel

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestPacketsWithHeadersAreKnown(t *testing.T) {
	v4 := make([]byte, 28)
	v4[0], v4[9] = 0x45, unix.IPPROTO_UDP
	options := append([]byte(nil), v4...)
	options[0] = 0x46
	v6 := make([]byte, 64)
	v6[0], v6[6] = 0x60, unix.IPPROTO_UDP
	routed := append([]byte(nil), v6...)
	routed[6], routed[40] = unix.IPPROTO_ROUTING, unix.IPPROTO_UDP
	fragment := append([]byte(nil), v6...)
	fragment[6], fragment[40] = unix.IPPROTO_FRAGMENT, unix.IPPROTO_UDP
	for name, c := range map[string]struct {
		packet []byte
		want   bool
	}{"IPv4": {v4, false}, "options": {options, true}, "IPv6": {v6, false}, "routing": {routed, true}, "fragment": {fragment, false}} {
		if r, ok := parsePacket(c.packet); !ok || r.Headers != c.want || r.Proto != unix.IPPROTO_UDP {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
