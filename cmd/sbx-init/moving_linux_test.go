package main

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// A site that moves to another address after each request, and is gone from where
// it was: a client that resolves its name each time finds it each time, through the
// guard.
func TestSiteThatMovesIsFound(t *testing.T) {
	in := newInternet(t)
	places := []string{okAddr, otherAddr, thirdAddr, newAddr}
	var visits atomic.Int64
	here := func() string { return places[int(visits.Load())%len(places)] }
	in.mu.Lock()
	in.moves = here
	in.pages = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, _, _ := net.SplitHostPort(r.Context().Value(http.LocalAddrContextKey).(net.Addr).String())
		if at != here() {
			http.Error(w, "moved away from "+at, http.StatusGone)
			return
		}
		visits.Add(1)
	})
	in.mu.Unlock()
	b := newBox(t, in.Sandbox, openPolicy)
	curl, bash := testenv.Program(t, "curl"), testenv.Program(t, "bash")
	const times = 10
	r := b.run(bash, "-c",
		`for i in {1..10}; do `+curl+` -4 -sS --fail-with-body --noproxy '*' --max-time 10 http://moving.wild.test/ || echo; done`)
	r.mustExit(t, 0)
	if n := visits.Load(); n != times || strings.TrimSpace(r.stdout) != "" {
		t.Errorf("%d of %d requests found the site: %s%s", n, times, r.stdout, r.stderr)
	}
}
