package outsidetest

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"testing"
)

func TestEverythingThatArrivesIsNoted(t *testing.T) {
	var w World
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	want := []netip.Addr{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")}
	w.ServeNames(t, conn, func(name string) ([]netip.Addr, uint32, bool) { return want, 60, name == "here.test" })
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	got, err := resolver.LookupNetIP(t.Context(), "ip", "Here.TEST.")
	slices.SortFunc(got, netip.Addr.Compare)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := resolver.LookupNetIP(t.Context(), "ip", "nowhere.test."); err == nil {
		t.Errorf("nowhere.test is at %v", got)
	}
	if names := w.Names(); !slices.Contains(names, "here.test") || !slices.Contains(names, "nowhere.test") {
		t.Errorf("names: %q", names)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.ServeWeb(t, l, http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(out, "hello") }))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "evil.test"
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if got := w.Requests(); !slices.Equal(got, []Request{{l.Addr().String(), "evil.test"}}) {
		t.Errorf("requests: %+v", got)
	}
	if w.Forget(); len(w.Names())+len(w.Requests()) > 0 {
		t.Error("it does not forget")
	}
}
