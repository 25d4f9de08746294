package credproxy

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// peakMemory is the most that this process ever had resident, in bytes, since
// reset.
func peakMemory(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		testenv.Missing(t, "VmHWM in /proc/self/status", "the memory of the proxy is read there")
	}
	kilobytes, _ := strconv.ParseInt(string(found[1]), 10, 64)
	return kilobytes << 10
}

// Attack: whoever has the session token sends bodies that take many times their
// size when they are read, all at once, and so has the kernel kill the process
// that supervises the run. 140 of the first kind took 8 GB.
func TestTheAgentCannotTakeTheHostsMemory(t *testing.T) {
	testenv.Slow(t)
	const most = 700 << 20 // beside what the test itself holds
	size := DefaultMaxBody - 1<<20
	input := func(value string) []byte {
		return []byte(`{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"x","input":` + value + `}]}]}`)
	}
	for _, attack := range []struct {
		name     string
		requests int
		body     []byte
	}{
		{"objects with one name", 140, input("[" + strings.Repeat(`{"":0},`, 249_990) + "0]")},
		{"numbers", 140, input("[" + strings.Repeat("1,", 490_000) + "0]")},
		{"names", 140, input("{" + names(249_990) + `"":0}`)},
		{"the largest", 60, input(`"` + strings.Repeat("x", int(size)) + `"`)},
		{"the largest, of escapes", 60, input(`"` + strings.Repeat(`\n`, int(size/2)) + `"`)},
		{"the largest, no JSON", 60, bytes.Repeat([]byte("["), int(size))},
	} {
		t.Run(attack.name, func(t *testing.T) {
			release := make(chan struct{})
			settled := make(chan int, 2*attack.requests) // a status, or 0 for a request that the upstream has
			f := newFixture(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				settled <- 0
				<-release // the answer takes as long as it does
				_, _ = io.WriteString(w, "{}")
			}), nil)
			debug.FreeOSMemory()
			if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
				testenv.Missing(t, "/proc/self/clear_refs", err.Error())
			}
			before := peakMemory(t)
			var done sync.WaitGroup
			for range attack.requests {
				done.Go(func() {
					req, _ := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, f.url+"/v1/messages",
						bytes.NewReader(attack.body))
					req.Header.Set("X-Api-Key", testToken)
					resp, err := http.DefaultTransport.RoundTrip(req)
					if err != nil { // refused before all of it was sent
						settled <- -1
						return
					}
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
					settled <- resp.StatusCode
				})
			}
			refused := 0
			for range attack.requests {
				if <-settled != 0 {
					refused++
				}
			}
			close(release)
			done.Wait()
			grown := peakMemory(t) - before
			t.Logf("%d requests of %d bytes: %d MiB more, %d refused", attack.requests, len(attack.body), grown>>20, refused)
			if grown > most {
				t.Errorf("%d requests took %d MiB of this process", attack.requests, grown>>20)
			}
			f.front.Close()
			if n := f.proxy.buffered.Load(); n != 0 {
				t.Errorf("%d bytes stay reserved", n)
			}
		})
	}
}

// names are so many members with names of their own.
func names(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`"` + strconv.FormatInt(int64(i), 36) + `":0,`)
	}
	return b.String()
}
