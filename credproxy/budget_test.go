package credproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/internal/fakeapi"
)

// sharedLedger is what several runs spend together.
type sharedLedger struct {
	mu      sync.Mutex
	entries []spending.Spent
	broken  error
}

func (l *sharedLedger) Add(s spending.Spent) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, s)
	return l.broken
}

func (l *sharedLedger) Sum(_ spending.Period, counts func(string) bool) (total spending.Spent, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		if counts(e.Model) {
			total = total.Add(e)
		}
	}
	return total, l.broken
}

// ofModel is asked(0, true) of another model.
func ofModel(model string) string {
	return strings.Replace(asked(0, true), "claude-opus-5-5", model, 1)
}

func budgets(t *testing.T, texts ...string) (all []spending.Budget) {
	t.Helper()
	for _, text := range texts {
		b, err := spending.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}

// Attack: whoever has the session token goes on asking after a budget is used up.
// Judged by the requests that arrive at the model.
func TestAttackBudgets(t *testing.T) {
	const tries = 12
	const all = fakeapi.InputTokens + fakeapi.OutputTokens + fakeapi.CacheReadTokens + fakeapi.CacheWriteTokens
	for name, c := range map[string]struct {
		budgets []string
		arrive  int
	}{
		"requests":                    {[]string{"3 requests"}, 3},
		"tokens of all kinds":         {[]string{fmt.Sprintf("%d tokens", 2*all+1)}, 3},
		"output tokens":               {[]string{fmt.Sprintf("%d output", 4*fakeapi.OutputTokens)}, 4},
		"input tokens":                {[]string{fmt.Sprintf("%d input", 5*(fakeapi.InputTokens+fakeapi.CacheWriteTokens))}, 5},
		"the narrowest counts":        {[]string{"9 requests", "2 requests"}, 2},
		"of a day":                    {[]string{"4 requests/day"}, 4},
		"of other models":             {[]string{"1 requests claude-haiku-*"}, tries},
		"a model's, by what is asked": {[]string{"2 requests/project-day claude-*"}, 2}, // the script answers as another
	} {
		t.Run(name, func(t *testing.T) {
			api := &fakeapi.Server{}
			f := newFixture(t, api, func(o *Options) { o.Limits = Limits{Budgets: budgets(t, c.budgets...)}; o.Ledger = &sharedLedger{} })
			for range tries {
				if got := f.ask(t, asked(0, true)); got.status != http.StatusOK {
					wantRefusal(t, "over the budget", got, http.StatusPaymentRequired)
				}
			}
			if n := len(api.Requests()); n != c.arrive {
				t.Errorf("%d requests arrived, want %d", n, c.arrive)
			}
			want := ReachedBudget
			if c.arrive == tries {
				want = ""
			}
			if got := f.proxy.Reached(); got != want {
				t.Errorf("reached %q, want %q", got, want)
			}
		})
	}
}

// Attack: many requests at a time, before the first of them says what it used. No more of them
// are under way than the rest of the budget has room for.
func TestAttackABudgetByManyAtATime(t *testing.T) {
	const tries = 20
	for name, c := range map[string]struct {
		limits Limits
		arrive int
	}{
		"requests": {Limits{Budgets: budgets(t, "3 requests")}, 3},
		"output":   {Limits{Budgets: budgets(t, "40k output")}, 3}, // 16,000 tokens each
		"dollars":  {Limits{BudgetUSD: 0.7}, 3},                    // at 20 US dollars for a million
	} {
		t.Run(name, func(t *testing.T) {
			var arrived atomic.Int64
			f := newFixture(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				arrived.Add(1)
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w,
					`{"type":"message","model":"claude-opus-5-5","stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":16000}}`)
			}), func(o *Options) { o.Limits = c.limits })
			body := strings.Replace(asked(0, false), `"model"`, `"max_tokens":128000,"model"`, 1)
			statuses := make(chan int, tries)
			for range tries {
				go func() { statuses <- f.ask(t, body).status }()
			}
			answered := 0
			for range tries {
				switch status := <-statuses; status {
				case http.StatusOK:
					answered++
				case http.StatusPaymentRequired:
				default:
					t.Errorf("%d", status)
				}
			}
			if n := int(arrived.Load()); n != c.arrive || answered != n {
				t.Errorf("%d requests arrived and %d were answered, want %d", n, answered, c.arrive)
			}
		})
	}
}

// Attack: a request that comes just while another one's answer begins, when that one is expected
// no more and is about to be counted.
func TestAttackABudgetWhileAnAnswerBegins(t *testing.T) {
	limits := Limits{Budgets: budgets(t, "1 requests/day")}
	ledger := &askingLedger{}
	f := newFixture(t, &fakeapi.Server{}, func(o *Options) { o.Limits, o.Ledger = limits, ledger })
	asks := 0
	ledger.before = func() {
		asks++
		turn, _, _ := f.proxy.conversation.beginTurn(main, limits, request{model: "claude-opus-5-5"}, false, f.proxy.overBudget)
		if turn != nil {
			t.Errorf("a second request was let through as the %d. sum was noted", asks)
			turn.end(false)
		}
	}
	if got := f.ask(t, asked(0, true)); got.status != http.StatusOK || asks == 0 {
		t.Errorf("%d, noted %d times", got.status, asks)
	}
}

// askingLedger does something before it notes a sum.
type askingLedger struct {
	sharedLedger
	before func()
}

func (l *askingLedger) Add(s spending.Spent) error {
	l.before()
	return l.sharedLedger.Add(s)
}

// Attack: a client leaves just before the end of an answer of which only thinking was made that
// is not shown.
func TestAttackThinkingThatNobodySaw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const began = `data: {"type":"message_start","message":{"model":"claude-opus-5-5","usage":{"input_tokens":10,` +
			`"output_tokens":1}}}` + "\n\n"
		for most, want := range map[int64]float64{0: 12_000, 5_000: 5_000} { // tokens of a minute
			p := &Proxy{}
			p.blank.secrets = func() []string { return nil }
			p.blank.renew()
			ctx, leave := context.WithCancel(t.Context())
			body := readFuncs{
				func(b []byte) (int, error) { return copy(b, began), nil },
				func([]byte) (int, error) { time.Sleep(time.Minute); leave(); return 0, ctx.Err() },
			}
			resp := &http.Response{
				StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(&body),
				Request: (&http.Request{}).WithContext(ctx),
			}
			asked := request{model: "claude-opus-5-5", mostTokens: [2]int64{most}}
			turn, _, _ := p.conversation.beginTurn(main, Limits{}, asked, false, p.overBudget)
			if err := p.copyBody(httptest.NewRecorder(), resp, asked, turn); err == nil {
				t.Error("it came to its end")
			}
			if usd := p.CostUSD(); math.Abs(usd-(want*20+10*4)/1e6) > 1e-9 {
				t.Errorf("at most %d tokens: it cost %g US dollars", most, usd)
			}
		}
	})
}

// readFuncs is a reader each of whose reads is one of them.
type readFuncs []func([]byte) (int, error)

func (r *readFuncs) Read(b []byte) (int, error) {
	next := (*r)[0]
	*r = (*r)[1:]
	return next(b)
}

// Attack: names of models that fill the ledger, in which other runs of the user count.
func TestAttackAModelsNameFillsTheLedger(t *testing.T) {
	ledger := &sharedLedger{}
	f := newFixture(t, &fakeapi.Server{}, func(o *Options) { o.Ledger = ledger })
	if got := f.ask(t, ofModel(strings.Repeat("x", maxModelName+1))); got.status != http.StatusBadRequest || len(ledger.entries) > 0 {
		t.Errorf("%d, noted %d", got.status, len(ledger.entries))
	}
	if got := f.ask(t, ofModel(strings.Repeat("x", maxModelName))); got.status != http.StatusOK || len(ledger.entries) == 0 {
		t.Errorf("%d, noted %d", got.status, len(ledger.entries))
	}
	for i := range maxModels + 20 { // a sum has a line for each name
		f.ask(t, ofModel(fmt.Sprint("model-", i)))
	}
	names := map[string]bool{}
	for _, e := range ledger.entries {
		names[e.Model] = true
	}
	if len(names) > maxModels+1 || !names[spending.OtherModels] {
		t.Errorf("%d names are in the ledger", len(names))
	}
}

// Runs that go on side by side have one budget.
func TestRunsShareABudget(t *testing.T) {
	ledger := &sharedLedger{}
	api := &fakeapi.Server{}
	both := func(o *Options) {
		o.Limits, o.Ledger = Limits{Budgets: budgets(t, "5 requests/day")}, ledger
	}
	one, other := newFixture(t, api, both), newFixture(t, api, both)
	for range 4 {
		one.ask(t, asked(0, true))
		other.ask(t, asked(0, true))
	}
	if n := len(api.Requests()); n != 5 {
		t.Errorf("%d requests arrived", n)
	}
}

// A ledger that cannot be written or read leaves no room, to those who have a budget
// in it.
func TestAttackTheLedgerFails(t *testing.T) {
	for name, c := range map[string]struct {
		budget spending.Budget
		arrive int
	}{
		"a day's": {spending.Budget{Amount: 5, Unit: spending.Requests, Per: spending.PerDay}, 0},
		"a run's": {spending.Budget{Amount: 5, Unit: spending.Requests, Per: spending.PerRun}, 3},
	} {
		api := &fakeapi.Server{}
		f := newFixture(t, api, func(o *Options) {
			o.Limits, o.Ledger = Limits{Budgets: []spending.Budget{c.budget}}, &sharedLedger{broken: errors.New("the disk is full")}
		})
		for range 3 {
			f.ask(t, asked(0, true))
		}
		if n := len(api.Requests()); n != c.arrive {
			t.Errorf("%s: %d requests arrived", name, n)
		}
	}
	credential, err := APIKey(testKey)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{Upstream: &url.URL{Scheme: "https", Host: "api.example.com"}, Credential: credential, SessionToken: testToken,
		Limits: Limits{Budgets: []spending.Budget{{Amount: 1, Unit: spending.USD, Per: spending.PerDay}}}}); err == nil {
		t.Error("a budget per day passes without a ledger")
	}
}

func TestWarningsComeBeforeTheEnd(t *testing.T) {
	var mu sync.Mutex
	var said []string
	f := newFixture(t, &fakeapi.Server{}, func(o *Options) {
		o.Limits = Limits{Budgets: budgets(t, "5 requests")}
		o.Warn = func(line string) { mu.Lock(); said = append(said, line); mu.Unlock() }
	})
	for range 7 {
		f.ask(t, asked(0, true))
	}
	if want := "80 % of this run's budget of 5 answers is used"; len(said) != 1 || said[0] != want {
		t.Errorf("%q, want %q once", said, want)
	}
}

func TestModelsThatMayBeAsked(t *testing.T) {
	api := &fakeapi.Server{}
	f := newFixture(t, api, func(o *Options) {
		o.Limits = Limits{Models: [][]string{{"claude-haiku-*", "claude-sonnet-5-5"}, {"claude-*-5-5"}}}
	})
	for model, want := range map[string]int{
		"claude-haiku-5-5": 200, "claude-haiku-5-5-20261001": 200, "claude-sonnet-5-5-latest": 200,
		"claude-opus-5-5": 404, "claude-haiku-4-5": 404, "": 404, "claude-sonnet-5-5x": 404,
	} {
		if got := f.ask(t, ofModel(model)); got.status != want {
			t.Errorf("%q: %d, want %d", model, got.status, want)
		}
	}
	if n := len(api.Requests()); n != 3 {
		t.Errorf("%d requests arrived", n)
	}
}

// calling is a request after calls that returned results: "call=result".
func calling(steps ...string) string {
	var messages strings.Builder
	for i, step := range steps {
		call, result, _ := strings.Cut(step, "=")
		fmt.Fprintf(&messages, `,{"role":"assistant","content":[{"type":"text","text":"step %d"},`+
			`{"type":"tool_use","id":"id%d","name":"Bash","input":{"command":%q}}]}`+
			`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"id%d","content":[{"type":"text","text":%q}]}]}`, i, i, call, i, result)
	}
	return fmt.Sprintf(`{"model":"claude-opus-5-5","tools":[{"name":"Bash","input_schema":{}}],"messages":[{"role":"user","content":"hi"}%s]}`,
		messages.String())
}

func TestAnAgentThatRepeatsItselfIsStopped(t *testing.T) {
	const limit = 8
	for name, c := range map[string]struct {
		step   func(i int) string
		twice  bool // each request is sent again
		arrive int
	}{
		"one call":                 {func(int) string { return "make=error" }, false, limit - 1},
		"two calls in turns":       {func(i int) string { return fmt.Sprintf("make %d=error", i%2) }, false, limit - 1},
		"three calls in turns":     {func(i int) string { return fmt.Sprintf("make %d=error", i%3) }, false, 20},
		"another result":           {func(i int) string { return fmt.Sprintf("make=error %d", i) }, false, 20},
		"each request comes twice": {func(int) string { return "make=error" }, true, 2 * (limit - 1)},
	} {
		t.Run(name, func(t *testing.T) {
			var warnings []string
			var mu sync.Mutex
			api := &fakeapi.Server{}
			f := newFixture(t, api, func(o *Options) {
				o.Limits = Limits{Repeats: limit}
				o.Warn = func(line string) { mu.Lock(); warnings = append(warnings, line); mu.Unlock() }
			})
			var steps []string
			for i := range 20 {
				steps = append(steps, c.step(i))
				f.ask(t, calling(steps...))
				if c.twice {
					f.ask(t, calling(steps...))
				}
			}
			if n := len(api.Requests()); n != c.arrive {
				t.Errorf("%d requests arrived, want %d", n, c.arrive)
			}
			stopped := c.arrive < 20
			if got := f.proxy.Reached() == ReachedLoop; got != stopped || (len(warnings) == 1) != stopped {
				t.Errorf("reached %q, warned %q", f.proxy.Reached(), warnings)
			}
		})
	}
}

func TestWhatIsSpentIsKnownByModel(t *testing.T) {
	ledger := &sharedLedger{}
	f := newFixture(t, &fakeapi.Server{}, func(o *Options) { o.Ledger = ledger })
	for _, model := range []string{"claude-opus-5-5", "claude-haiku-5-5", "claude-opus-5-5"} {
		f.ask(t, ofModel(model))
	}
	f.front.Close()
	var sum spending.Spent
	for _, s := range f.proxy.Models() {
		sum = sum.Add(s)
	}
	if sum.Usage != f.proxy.Usage() || sum.Requests != 3 {
		t.Errorf("%+v of models, %+v in all", sum, f.proxy.Usage())
	}
	noted, _ := ledger.Sum(spending.PerDay, func(string) bool { return true })
	if noted.Usage != sum.Usage || !noted.Less(sum).Zero() {
		t.Errorf("%+v noted, %+v spent", noted, sum)
	}
}
