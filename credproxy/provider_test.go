package credproxy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/internal/fakeapi"
)

const (
	providerKey        = "sk-acme-the-providers-key-0123456789"
	testProvidersToken = "sbx-session-of-providers-0123456789"
)

// openAI is a scripted API with OpenAI's routes. It notes what arrives.
type openAI struct {
	url string

	mu      sync.Mutex
	arrived []*http.Request
	bodies  []string
	answer  http.HandlerFunc // unless nil, in place of the usual one
}

func newOpenAI(t *testing.T) *openAI {
	o := &openAI{}
	server := httptest.NewServer(o)
	t.Cleanup(server.Close)
	o.url = server.URL + "/base"
	return o
}

func (o *openAI) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.arrived)
}

func (o *openAI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	o.mu.Lock()
	o.arrived, o.bodies = append(o.arrived, r), append(o.bodies, string(body))
	answer := o.answer
	o.mu.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	var asked struct {
		Model   string
		Stream  bool
		Options struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	_ = json.Unmarshal(body, &asked)
	const usage = `{"prompt_tokens":1000,"completion_tokens":200,"total_tokens":1200}`
	switch {
	case strings.HasSuffix(r.URL.Path, "/embeddings"):
		fmt.Fprintf(w, `{"object":"list","model":%q,"data":[{"embedding":[0.5],"index":0}],"usage":{"prompt_tokens":3000,"total_tokens":3000}}`,
			asked.Model)
	case !asked.Stream:
		fmt.Fprintf(w, `{"id":"c","model":%q,"choices":[{"index":0,"message":{"role":"assistant","content":"hello"}}],"usage":%s}`,
			asked.Model, usage)
	default:
		w.Header().Set("Content-Type", "text/event-stream")
		for _, word := range []string{"hel", "lo"} {
			fmt.Fprintf(w, "data: {\"model\":%q,\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}],\"usage\":null}\n\n", asked.Model, word)
			_ = http.NewResponseController(w).Flush()
		}
		if asked.Options.Usage {
			fmt.Fprintf(w, "data: {\"model\":%q,\"choices\":[],\"usage\":%s}\n\n", asked.Model, usage)
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}
}

// newProviderFixture is a proxy with the provider acme.
func newProviderFixture(t *testing.T, limits Limits, ledger spending.Ledger) (*fixture, *openAI, *fakeapi.Server) {
	t.Helper()
	o, api := newOpenAI(t), &fakeapi.Server{}
	key, err := BearerToken(providerKey)
	if err != nil {
		t.Fatal(err)
	}
	base, err := url.Parse(o.url)
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, api, func(options *Options) {
		options.Providers = []Provider{{Name: "acme", Base: base, Key: key, Prices: map[string]Price{
			"small": {1, 10}, "embed": {0.5, 0}, "large": {100, 1000}, "own-search": {1, 10},
		}}}
		options.Limits, options.Ledger, options.ProvidersToken = limits, ledger, testProvidersToken
	})
	return f, o, api
}

const (
	smallChat   = `{"model":"small","messages":[{"role":"user","content":"hi"}]}`
	smallStream = `{"model":"small","stream":true,"messages":[{"role":"user","content":"hi"}]}`
)

// postTo asks a path of the proxy, and returns status and body.
func (f *fixture) postTo(t *testing.T, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testProvidersToken)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("OpenAI-Organization", "another account")
	req.Header.Set("Cookie", "a=b")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return res.StatusCode, "broken: " + err.Error()
	}
	return res.StatusCode, string(text)
}

// spentOn is what was counted of a model, once all answers are.
func (f *fixture) spentOn(model string) spending.Spent {
	f.front.Close()
	for _, s := range f.proxy.Models() {
		if s.Model == model {
			return s
		}
	}
	return spending.Spent{}
}

func TestAProviderIsAskedWithItsKeyAndCounted(t *testing.T) {
	f, o, api := newProviderFixture(t, Limits{}, nil)
	if status, text := f.postTo(t, "/providers/acme/chat/completions", smallChat); status != 200 ||
		!strings.Contains(text, `"content":"hello"`) {
		t.Error(status, text)
	}
	status, text := f.postTo(t, "/providers/acme/chat/completions", smallStream)
	if status != 200 || strings.Count(text, "data: ") != 3 || strings.Contains(text, "completion_tokens") ||
		!strings.HasSuffix(text, "\n\ndata: [DONE]\n\n") {
		t.Errorf("%d, the event about usage is not what the client asked for:\n%s", status, text)
	}
	asks := strings.Replace(smallStream, "{", `{"stream_options":{"include_usage":true},`, 1)
	if status, text = f.postTo(t, "/providers/acme/chat/completions", asks); status != 200 || !strings.Contains(text, "completion_tokens") {
		t.Errorf("%d, the client asked for the usage:\n%s", status, text)
	}
	if status, text = f.postTo(t, "/providers/acme/embeddings", `{"model":"embed","input":["a",[1,2]]}`); status != 200 ||
		!strings.Contains(text, "embedding") {
		t.Error(status, text)
	}
	for i, r := range o.arrived {
		if got := r.Header.Get("Authorization"); got != "Bearer "+providerKey || r.Header.Get("Cookie") != "" ||
			r.Header.Get("OpenAI-Organization") != "" ||
			strings.Contains(fmt.Sprint(r.Header), testToken) || strings.Contains(fmt.Sprint(r.Header), testKey) {
			t.Errorf("%v", r.Header)
		}
		want := "/base/chat/completions"
		if i == 3 {
			want = "/base/embeddings"
		}
		if r.RequestURI != want || r.Method != http.MethodPost {
			t.Errorf("%s %s", r.Method, r.RequestURI)
		}
	}
	if status, text := f.postTo(t, "/providers/acme/chat/completions", strings.Replace(smallChat, "small", "own-search", 1)); status != 200 {
		t.Errorf("a model that the user named: %d %s", status, text)
	}
	if len(api.Requests()) != 0 {
		t.Error("the model API was asked")
	}
	want := spending.Spent{Model: "acme:small", Usage: spending.Usage{Requests: 3, Input: 3000, Output: 600}, USD: 3 * (1000*1 + 200*10) / 1e6}
	if got := f.spentOn("acme:small"); got.Usage != want.Usage || got.Less(want).USD > 1e-9 {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := f.spentOn("acme:embed"); got.Input != 3000 || got.Output != 0 || got.USD < 0.0015-1e-9 || got.USD > 0.0015+1e-9 {
		t.Errorf("%+v", got)
	}
	if f.proxy.Answered() != 0 || strings.Contains(f.log(), providerKey) {
		t.Error("a provider's answer counts as the model's, or the log has the key")
	}
}

// Attack: a budget that one route used up is asked for by another one. Judged by what
// arrives.
func TestAttackABudgetByAnotherRoute(t *testing.T) {
	for name, c := range map[string]struct {
		budgets []string
		models  []string
		arrive  int // at the provider, of six requests
	}{
		"requests of all routes":   {[]string{"2 requests"}, nil, 1}, // and one at the model API
		"of a day":                 {[]string{"2 requests/day"}, nil, 1},
		"money":                    {[]string{"0.000001 usd"}, nil, 0},
		"tokens":                   {[]string{"1 tokens/project-day"}, nil, 0},
		"the provider's own":       {[]string{"3 requests acme:*"}, nil, 3},
		"one model of it":          {[]string{"1 requests acme:small"}, nil, 3}, // embeddings are another one
		"models that may be asked": {nil, []string{"claude-*"}, 0},
		"with a provider's":        {nil, []string{"claude-*", "acme:embed"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			limits := Limits{Budgets: budgets(t, c.budgets...)}
			if c.models != nil {
				limits.Models = [][]string{c.models}
			}
			f, o, _ := newProviderFixture(t, limits, &sharedLedger{})
			f.ask(t, asked(0, true))
			for range 2 {
				for path, body := range map[string]string{"chat/completions": smallChat, "embeddings": `{"model":"embed","input":"a"}`} {
					f.postTo(t, "/providers/acme/"+path, body)
				}
				f.postTo(t, "/providers/acme/chat/completions", smallStream)
			}
			if got := o.count(); got != c.arrive {
				t.Errorf("%d arrived, want %d", got, c.arrive)
			}
		})
	}
}

// What a provider used up, the model API has no more.
func TestAProvidersUseCountsForTheModelAPI(t *testing.T) {
	f, _, api := newProviderFixture(t, Limits{Budgets: budgets(t, "1200 tokens/day")}, &sharedLedger{})
	f.postTo(t, "/providers/acme/chat/completions", smallStream)
	wantRefusal(t, "over the budget", f.ask(t, asked(0, true)), http.StatusPaymentRequired)
	if n := len(api.Requests()); n != 0 || f.proxy.Reached() != ReachedBudget {
		t.Errorf("%d arrived, %q", n, f.proxy.Reached())
	}
}

// Attack: answers whose usage is not said, or is cut off, are counted by the most that they
// can have cost.
func TestAttackAnAnswerThatDoesNotSayWhatItUsed(t *testing.T) {
	event := func(w http.ResponseWriter, text string) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\n", text)
		_ = http.NewResponseController(w).Flush()
	}
	const limited = `{"model":"small","max_completion_tokens":700,"n":3,"messages":[{"role":"user","content":"hi"}]}`
	stream := strings.Replace(limited, "{", `{"stream":true,`, 1)
	for name, c := range map[string]struct {
		body   string
		answer http.HandlerFunc
		output int64
	}{
		"no usage": {limited, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"choices":[]}`) }, 2100},
		"no limit": {smallChat, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"choices":[]}`) }, unsaidTokens},
		"no JSON":  {limited, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `<p>`) }, 2100},
		"negative usage": {limited, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"usage":{"prompt_tokens":-5,"completion_tokens":-5}}`)
		}, 2100},
		"half of it":       {limited, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"usage":{"prompt_tokens":1}}`) }, 2100},
		"a stream without": {stream, func(w http.ResponseWriter, _ *http.Request) { event(w, `{"choices":[{}]}`); event(w, "[DONE]") }, 2100},
		"a stream that ends early": {stream, func(w http.ResponseWriter, _ *http.Request) {
			event(w, `{"choices":[{}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`)
			panic(http.ErrAbortHandler)
		}, 2100},
		"a client that wants none": {strings.Replace(stream, "{", `{"stream_options":{"include_usage":false},`, 1),
			func(w http.ResponseWriter, _ *http.Request) { event(w, `{"choices":[{}]}`); event(w, "[DONE]") }, 2100},
		"a line that is too long": {stream, func(w http.ResponseWriter, _ *http.Request) {
			event(w, `{"usage":{"completion_tokens":1},"x":"`+strings.Repeat("x", maxKept)+`"}`)
			event(w, "[DONE]")
		}, 2100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, o, _ := newProviderFixture(t, Limits{}, nil)
			o.answer = c.answer
			f.postTo(t, "/providers/acme/chat/completions", c.body)
			got := f.spentOn("acme:small")
			if got.Output != c.output || got.Requests != 1 || got.USD < float64(c.output)*10/1e6 {
				t.Errorf("%+v, want an output of %d", got, c.output)
			}
			if name != "half of it" && got.Input < int64(len(c.body)) {
				t.Errorf("%+v, of a request of %d bytes", got, len(c.body))
			}
		})
	}
}

// Attack: a client leaves before the usage comes.
func TestAttackAClientLeavesAProvidersStream(t *testing.T) {
	for name, begins := range map[string]bool{"in the answer": true, "before it": false} {
		t.Run(name, func(t *testing.T) {
			f, o, _ := newProviderFixture(t, Limits{}, nil)
			arrived := make(chan struct{})
			o.answer = func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				if begins {
					_, _ = io.WriteString(w, "data: {}\n\n")
					_ = http.NewResponseController(w).Flush()
				}
				close(arrived)
				<-r.Context().Done()
			}
			body := strings.Replace(smallStream, "{", `{"max_tokens":500,`, 1)
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url+"/providers/acme/chat/completions", strings.NewReader(body))
			req.Header.Set("Authorization", "Bearer "+testProvidersToken)
			client := &http.Client{Transport: &http.Transport{}}
			left := make(chan struct{})
			go func() {
				defer close(left)
				if res, err := client.Do(req); err == nil {
					_, _ = bufio.NewReader(res.Body).ReadString('\n')
					res.Body.Close()
				}
			}()
			<-arrived
			if !begins {
				f.front.CloseClientConnections()
			}
			<-left
			client.CloseIdleConnections()
			for until := time.Now().Add(20 * time.Second); f.logged() == 0 && time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
			}
			if got := f.spentOn("acme:small"); got.Output != 500 || got.Requests != 1 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Attack: requests that would have the provider fetch, keep or bill in another way, that
// name no model, and routes that are none. Nothing of them arrives.
func TestAttackProviderRequests(t *testing.T) {
	f, o, api := newProviderFixture(t, Limits{}, nil)
	with := func(member string) string { return strings.Replace(smallChat, "{", "{"+member+",", 1) }
	asks := func(model string) string { return strings.Replace(smallChat, `"small"`, `"`+model+`"`, 1) }
	part := func(p string) string { return `{"model":"small","messages":[{"role":"user","content":[` + p + `]}]}` }
	for name, body := range map[string]string{
		"an image at an address": part(`{"type":"image_url","image_url":{"url":"https://evil.example/x?secret"}}`),
		"a file":                 part(`{"type":"file","file":{"file_id":"f"}}`),
		"audio":                  part(`{"type":"input_audio","input_audio":{"data":"","format":"wav"}}`),
		"a web search":           with(`"web_search_options":{}`),
		"a hosted tool":          with(`"tools":[{"type":"web_search"}]`),
		"an MCP server":          with(`"tools":[{"type":"mcp","server_url":"https://evil.example"}]`),
		"to keep it":             with(`"store":true`),
		"notes that are kept":    with(`"metadata":{"a":"b"}`),
		"another rate":           with(`"service_tier":"priority"`),
		"a prediction":           with(`"prediction":{"type":"content","content":"x"}`),
		"an unknown member":      with(`"plugins":[{"id":"web"}]`),
		"another case":           with(`"Web_Search_Options":{}`),
		"further models":         with(`"models":["large"]`),
		"two models":             with(`"model":"large"`),
		"a model that searches":  asks("gpt-4o-mini-search-preview"),
		"one with a suffix":      asks("vendor/small:Online"),
		"one of searches":        asks("perplexity/sonar-pro"),
		"one with hosted tools":  asks("groq/compound-mini"),
		"one of research":        asks("o4-mini-deep-research"),
		"no model":               `{"messages":[]}`,
		"an empty model":         `{"model":"","messages":[]}`,
		"a limit that is none":   with(`"max_tokens":-1`),
		"a limit as a fraction":  with(`"n":1.5`),
		"no JSON":                `{"model":"small"`,
		"two texts":              smallChat + smallChat,
	} {
		if status, text := f.postTo(t, "/providers/acme/chat/completions", body); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	for _, path := range []string{
		"/providers/acme/responses", "/providers/acme/files", "/providers/acme/models", "/providers/other/chat/completions", "/providers/acme",
		"/providers/acme/chat/completions/", "/providers/acme//chat/completions", "/providers/acme/chat%2fcompletions",
		"/providers/./acme/embeddings",
		"/providers/acme/embeddings/../files", "/chat/completions", "/v1/chat/completions", "/providers/acme/embeddings?key=x",
		"/providers/ACME/embeddings",
		"/providers/acme/chat/completions?beta=true",
	} {
		if status, text := f.postTo(t, path, smallChat); status != http.StatusForbidden && status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	// The agent's programs have the providers' token, which the model API does not take.
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url+"/v1/messages", strings.NewReader(asked(0, true)))
	req.Header.Set("Authorization", "Bearer "+testProvidersToken)
	if res, err := http.DefaultClient.Do(req); err != nil || res.StatusCode != http.StatusUnauthorized {
		t.Error(res, err)
	}
	res, err := http.Post(f.url+"/providers/acme/chat/completions", "application/json", strings.NewReader(smallChat))
	if err != nil || res.StatusCode != http.StatusUnauthorized {
		t.Error(res, err)
	}
	if o.count() != 0 || len(api.Requests()) != 0 {
		t.Errorf("%d requests arrived: %q", o.count(), o.bodies)
	}
}

// Attack: the provider sends the agent elsewhere, or gives its key back.
func TestAttackProviderAnswers(t *testing.T) {
	f, o, _ := newProviderFixture(t, Limits{}, nil)
	o.answer = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":"wrong key %s"}}`, r.Header.Get("Authorization"))
	}
	if status, text := f.postTo(t, "/providers/acme/chat/completions", smallChat); status != http.StatusUnauthorized ||
		strings.Contains(text, providerKey) {
		t.Error(status, text)
	}
	o.answer = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/base/embeddings", http.StatusTemporaryRedirect)
	}
	if status, text := f.postTo(t, "/providers/acme/chat/completions", smallChat); status != http.StatusBadGateway || o.count() != 2 {
		t.Error(status, text, o.count())
	}
	if got := f.spentOn("acme:small"); got.Requests != 0 || got.USD != 0 {
		t.Errorf("what was refused is counted: %+v", got)
	}
}

func TestProvidersThatCannotBe(t *testing.T) {
	key, err := BearerToken(providerKey)
	if err != nil {
		t.Fatal(err)
	}
	good := func() Provider {
		return Provider{Name: "acme", Base: &url.URL{Scheme: "https", Host: "acme.example", Path: "/v1"}, Key: key}
	}
	for want, change := range map[string]func(*Provider){
		"":                                    func(*Provider) {},
		"its name is not made of":             func(p *Provider) { p.Name = "a/b" },
		"has no key":                          func(p *Provider) { p.Key = Credential{} },
		"travel unencrypted":                  func(p *Provider) { p.Base.Scheme = "http" },
		"below 0":                             func(p *Provider) { p.Prices = map[string]Price{"a": {-1, 0}} },
		"no user, query":                      func(p *Provider) { p.Base.RawQuery = "a=b" },
		"two providers acme":                  nil,
		"the key of the provider acme itself": func(p *Provider) { p.Key, _ = BearerToken(testToken) },
	} {
		p := good()
		all := []Provider{p}
		if change == nil {
			all = append(all, good())
		} else {
			change(&all[0])
		}
		credential, _ := APIKey(testKey)
		_, err := New(Options{Upstream: &url.URL{Scheme: "https", Host: "api.example.com"}, Credential: credential,
			SessionToken: testToken, Providers: all})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// The names of other platforms lead to the model's price, never to a lower one.
func TestPricesByNamesOfOtherPlatforms(t *testing.T) {
	sonnet, haiku := prices["claude-sonnet-4-5"], prices["claude-haiku-4-5"]
	for name, want := range map[string]price{
		"claude-sonnet-4-5-20250929": sonnet, "anthropic/claude-sonnet-4.5": sonnet, "claude-sonnet-4-5@20250929": sonnet.times(regional),
		"us.anthropic.claude-haiku-4-5-20251001-v1:0":      haiku.times(regional),
		"global.anthropic.claude-sonnet-4-5-20250929-v1:0": sonnet.times(regional), "anthropic.claude-haiku-4-5": haiku.times(regional),
		"arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-haiku-4-5-20251001-v1:0": haiku.times(regional),
		"arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123":                          dearest.times(regional),
		"claude-haiku-4-5@default": haiku.times(regional), "vertex/claude-unknown": dearest.times(regional), "": dearest,
		"anthropic.": dearest.times(regional), "claude-unknown": dearest,
	} {
		if got := priceOf(name); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	for pattern, fits := range map[string]bool{"*": true, "claude-*": false, "anthropic/claude-*": true, "anthropic:claude-*": true} {
		if got := spending.ModelFits([]string{pattern}, "anthropic/claude-haiku-4.5"); got != fits {
			t.Errorf("%s: %v", pattern, got)
		}
	}
}
