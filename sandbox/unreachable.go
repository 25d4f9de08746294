package sandbox

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/visible"
)

// When a model API that has never answered is given up: Claude asks again after
// half a second, one, two and so on, eleven times within three minutes. A failure
// that passes within seconds, such as a name server that starts, ends no run.
const (
	unreachableAfter = 10 * time.Second
	unreachableTries = 3
)

// reach follows whether the model API answers at all. Once it has answered, it is
// Claude who decides how often it is asked again.
type reach struct {
	mu       sync.Mutex
	answered bool
	tries    int
	first    time.Time     // of the tries
	why      string        // the last one failed
	lost     chan struct{} // closed when it is given up
	once     sync.Once
}

func newReach() *reach { return &reach{lost: make(chan struct{})} }

// note takes a request that the proxy has answered.
func (r *reach) note(e credproxy.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case e.Unreachable:
		if r.tries++; r.tries == 1 {
			r.first = time.Now()
			time.AfterFunc(unreachableAfter, r.judge)
		}
		r.why = e.Refused
		go r.judge()
	case e.Refused == "" && e.Method == http.MethodPost:
		r.answered = true
	}
}

// judge gives the API up when it is time.
func (r *reach) judge() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.answered && r.tries >= unreachableTries && time.Since(r.first) >= unreachableAfter {
		r.once.Do(func() { close(r.lost) })
	}
}

// failure says what cannot be reached, and why.
func (r *reach) failure(upstream string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	why := strings.TrimPrefix(r.why, ErrUpstream.Error()+": ")
	err := fmt.Errorf("%w: %s: %s: %s", ErrUpstream, upstream, visible.Count(r.tries, "attempt"), why)
	return diag.WithHint(err, "check this machine's network and proxy settings, and SBX_DEVC_UPSTREAM or ANTHROPIC_BASE_URL if set")
}
