package credproxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/fakeapi"
)

// Attack: whoever has the session token goes on asking after Claude's own limits
// are reached. Judged by the requests that arrive at the model.
func TestTheTokenAsksNoMoreThanTheLimitsAllow(t *testing.T) {
	const tries = 150
	loop := fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{"true"}}}}
	// One answer of the scripted model, at the dearest price, in US dollars.
	const each = (15*fakeapi.InputTokens + 75*fakeapi.OutputTokens + 1.5*fakeapi.CacheReadTokens + 30*fakeapi.CacheWriteTokens) / 1e6
	for name, c := range map[string]struct {
		limits  Limits
		header  []string
		body    string
		arrive  int
		reached Reached
	}{
		"no limit":                {Limits{}, nil, asked(0, true), tries, ""},
		"turns":                   {Limits{Turns: 3}, nil, asked(0, true), 19, ReachedTurns},
		"turns, said to be a sub": {Limits{Turns: 1}, []string{agentHeader, "a1"}, asked(0, true), 100, ReachedTurns},
		"turns, without a tool":   {Limits{Turns: 1}, nil, hello, 100, ReachedTurns},
		"budget":                  {Limits{BudgetUSD: 4.5 * each}, nil, asked(0, true), 5, ReachedBudget},
		"budget, in plain":        {Limits{BudgetUSD: 4.5 * each}, nil, asked(0, false), 5, ReachedBudget},
	} {
		t.Run(name, func(t *testing.T) {
			api := &fakeapi.Server{Script: loop}
			f := newFixture(t, api, func(o *Options) { o.Limits = c.limits })
			refused := 0
			for range tries {
				if got := f.ask(t, c.body, c.header...); got.status != http.StatusOK {
					wantRefusal(t, "over the limit", got, http.StatusPaymentRequired)
					if refused++; got.header.Get("X-Should-Retry") != "false" {
						t.Errorf("claude would try again: %v", got.header)
					}
				}
			}
			if n := len(api.Requests()); n != c.arrive || refused != tries-c.arrive {
				t.Errorf("%d requests arrived, want %d; %d were refused", n, c.arrive, refused)
			}
			if got := f.proxy.Reached(); got != c.reached {
				t.Errorf("reached %q, want %q", got, c.reached)
			}
			if got := f.do(t, http.MethodPost, "/v1/messages/count_tokens", c.body, "X-Api-Key", testToken); got.status != http.StatusOK {
				t.Errorf("counting tokens: %d", got.status)
			}
		})
	}
}

// An upstream that refuses costs nothing and is no turn.
func TestRefusedRequestsAreNoTurns(t *testing.T) {
	api := &fakeapi.Server{Faults: []fakeapi.Fault{{Status: 529}, {Status: 529}, {Status: 529}, {Status: 529}}}
	f := newFixture(t, api, func(o *Options) { o.Limits = Limits{Turns: 1} })
	for i := range 4 + 13 {
		if got := f.ask(t, asked(0, true)); got.status != 529 && got.status != 200 {
			t.Errorf("request %d: %d", i, got.status)
		}
	}
	if got := f.ask(t, asked(0, true)); got.status != http.StatusPaymentRequired {
		t.Errorf("one more: %d", got.status)
	}
}

// Attack: the client hangs up before the answer says what it cost.
func TestAnAnswerThatTheClientLeavesCostsWhatItMustHaveCost(t *testing.T) {
	f := newFixture(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":%q}}\n\n",
			strings.Repeat("x", 3000))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}), func(o *Options) { o.Limits = Limits{BudgetUSD: 0.001} })
	body := strings.Replace(asked(0, true), `"hi"`, `"`+strings.Repeat("x", 4000)+`"`, 1)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url+"/v1/messages", strings.NewReader(body))
	req.Header.Set("X-Api-Key", testToken)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, 3000)); err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	f.front.Close()
	// A thousand tokens each way, at 4 and 20 US dollars for a million.
	if usd := f.proxy.CostUSD(); usd < 0.02 || usd > 0.03 {
		t.Errorf("it cost %g US dollars", usd)
	}
}

// Attack: the client hangs up before the answer begins, again and again: the model is at
// work, and nothing says what it costs. An upstream that was not reached costs nothing.
func TestAttackTheClientLeavesBeforeTheAnswer(t *testing.T) {
	const tries = 40
	for name, c := range map[string]struct {
		limits Limits
		arrive int64
	}{
		"turns":  {Limits{Turns: 1}, 13},
		"budget": {Limits{BudgetUSD: 0.0199}, 5}, // a thousand tokens at 4 US dollars for a million, each
	} {
		t.Run(name, func(t *testing.T) {
			var arrived atomic.Int64
			leave := make(chan context.CancelFunc, 1)
			f := newFixture(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				arrived.Add(1)
				(<-leave)()
				<-r.Context().Done()
			}), func(o *Options) { o.Limits = c.limits })
			body := strings.Replace(asked(0, true), `"hi"`, `"`+strings.Repeat("x", 4000)+`"`, 1)
			for i := range tries {
				ctx, cancel := context.WithCancel(t.Context())
				select {
				case leave <- cancel:
				default: // nobody took the last one
				}
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, f.url+"/v1/messages", strings.NewReader(body))
				req.Header.Set("X-Api-Key", testToken)
				if resp, err := http.DefaultTransport.RoundTrip(req); err == nil {
					if resp.Body.Close(); resp.StatusCode != http.StatusPaymentRequired {
						t.Errorf("answered %d", resp.StatusCode)
					}
				}
				for f.logged() <= i { // the proxy notices a little later
					time.Sleep(time.Millisecond)
				}
				cancel()
			}
			if n := arrived.Load(); n != c.arrive {
				t.Errorf("%d requests arrived, want %d", n, c.arrive)
			}
		})
	}
	f := newFixture(t, http.NotFoundHandler(), func(o *Options) {
		silent, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { silent.Close() })
		o.Upstream = &url.URL{Scheme: "https", Host: silent.Addr().String()} // which never greets
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, f.url+"/v1/messages", strings.NewReader(hello))
	req.Header.Set("X-Api-Key", testToken)
	if _, err := http.DefaultTransport.RoundTrip(req); err == nil {
		t.Fatal("it was answered")
	}
	for f.logged() == 0 {
		time.Sleep(time.Millisecond)
	}
	if usd := f.proxy.CostUSD(); usd > 0 {
		t.Errorf("it cost %g US dollars", usd)
	}
}

// pending is an upstream that answers when it is told to.
type pending struct {
	arrived chan string // X-Test of the request
	answer  map[string]chan string
}

func (p *pending) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.Header.Get("X-Claude-Test")
	p.arrived <- name
	text := <-p.answer[name]
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"type":"message","stop_reason":"end_turn","content":[{"type":"text","text":%q}]}`, text)
}

// Attack: an answer of before comes after the newest one, such as that of a
// request that somebody held up.
func TestALateAnswerIsNotTheLast(t *testing.T) {
	p := &pending{arrived: make(chan string), answer: map[string]chan string{"old": make(chan string, 1), "new": make(chan string, 1)}}
	f := newFixture(t, p, nil)
	var done sync.WaitGroup
	for _, name := range []string{"old", "new"} {
		done.Go(func() { f.ask(t, asked(0, false), "X-Claude-Test", name) })
		if got := <-p.arrived; got != name {
			t.Fatal(got)
		}
	}
	p.answer["new"] <- "new"
	for deadline := time.Now().Add(time.Minute); f.proxy.LastAnswer().Text != "new"; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%+v", f.proxy.LastAnswer())
		}
	}
	p.answer["old"] <- "old"
	done.Wait()
	f.front.Close()
	if got := f.proxy.LastAnswer(); got.Text != "new" {
		t.Errorf("%+v", got)
	}
}

// Attack: conversations without number at the same time. Those that are refused
// are told to come again, and the others are answered.
func TestAttackManyConversationsAtATime(t *testing.T) {
	p := &pending{arrived: make(chan string), answer: map[string]chan string{"": make(chan string)}}
	f := newFixture(t, p, nil)
	var done sync.WaitGroup
	for range maxInFlight {
		done.Go(func() {
			if got := f.ask(t, asked(0, false)); got.status != http.StatusOK {
				t.Errorf("%+v", got)
			}
		})
		<-p.arrived
	}
	for range 20 {
		wantRefusal(t, "one more", f.ask(t, asked(0, false)), 529)
	}
	close(p.answer[""])
	done.Wait()
}
