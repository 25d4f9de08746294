package sandbox

import (
	"net/http"
	"testing"
	"time"

	"github.com/org/claude-sandbox/credproxy"
)

// A failure that passes ends no run, and neither does one after an answer.
func TestModelAPIIsGivenUpOnlyIfItNeverAnswered(t *testing.T) {
	failed := credproxy.Entry{Method: http.MethodPost, Status: http.StatusBadGateway, Refused: "no route", Unreachable: true}
	answer := credproxy.Entry{Method: http.MethodPost, Status: http.StatusOK}
	for name, c := range map[string]struct {
		entries []credproxy.Entry
		long    bool // since the first failure
		lost    bool
	}{
		"never answered":         {[]credproxy.Entry{failed, failed, failed}, true, true},
		"not for long":           {[]credproxy.Entry{failed, failed, failed}, false, false},
		"one try that took long": {[]credproxy.Entry{failed}, true, false},
		"answered in the end":    {[]credproxy.Entry{failed, failed, failed, answer}, true, false},
		"answered before":        {[]credproxy.Entry{answer, failed, failed, failed, failed}, true, false},
	} {
		r := newReach()
		for _, e := range c.entries {
			r.note(e)
		}
		if c.long {
			r.mu.Lock()
			r.first = time.Now().Add(-unreachableAfter)
			r.mu.Unlock()
		}
		r.judge()
		select {
		case <-r.lost:
			if !c.lost {
				t.Errorf("%s: given up", name)
			}
		default:
			if c.lost {
				t.Errorf("%s: not given up", name)
			}
		}
	}
}

// The reason that the proxy gives begins with the same words.
func TestTheFailureSaysOnceWhatFailed(t *testing.T) {
	r := newReach()
	r.note(credproxy.Entry{Method: http.MethodPost, Refused: "the model API cannot be reached: no route", Unreachable: true})
	const want = "the model API cannot be reached: http://a.example: 1 attempt: no route"
	if got := r.failure("http://a.example").Error(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
