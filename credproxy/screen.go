package credproxy

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// The provider's side can fetch pages, call MCP servers and run code with a
// network of its own. A request that asks for that is a way out which no
// packet filter sees, so requests are read before they are forwarded.

// request is what the proxy knows of a request's body.
type request struct {
	model       string // as the agent names it; "" = not named
	clientTools int    // tools that run in the sandbox
	size        int    // bytes
	hook        bool   // a hook of claude's asks; see hookPrompt
	newest      exchange
	messages    int

	// For a request to a provider.
	provider   *Provider // nil = it is none
	named      string    // the model, as the provider names it
	embeddings bool
	stream     bool
	options    bool     // it says itself what a stream holds
	addUsage   bool     // the provider is asked to say what a stream used
	mostTokens [2]int64 // of an answer, by the two names of this limit; 0 = it is not given
	choices    int64    // that it asks for
	extra      int64    // tokens that its bytes can stand for in addition, at most

	cloud *cloudCall // nil = it is in Anthropic's own form
}

// screen reads a request's body and returns why it must not be forwarded.
func (p *Proxy) screen(call *cloudCall, body []byte) (request, error) {
	p.reading <- struct{}{}
	defer func() { <-p.reading }()
	read := request{size: len(body), cloud: call}
	if call != nil {
		read.model = call.model
	}
	if err := checkText(body); err != nil {
		return read, err
	}
	exchanges := exchangeReader{seed: p.repeats.seed}
	err := requestShape(p.hostedWeb, &read, &exchanges)(&cursor{text: body})
	read.newest, read.messages = exchanges.found(), exchanges.read
	return read, err
}

// screenProvider is screen for a request to a provider.
func (p *Proxy) screenProvider(provider *Provider, path string, body []byte) (request, error) {
	p.reading <- struct{}{}
	defer func() { <-p.reading }()
	read := request{size: len(body), provider: provider, embeddings: strings.HasSuffix(path, embeddingsRoute)}
	if err := checkText(body); err != nil {
		return read, err
	}
	shape := chatShape(&read)
	if read.embeddings {
		shape = embeddingsShape(&read)
	}
	err := shape(&cursor{text: body})
	if err == nil && read.model == "" {
		err = refuse("model: a model is wanted")
	}
	if _, named := provider.Prices[read.model]; err == nil && !named && !read.embeddings && searches(read.model) {
		err = under("model", hosted(fmt.Sprintf("%s, which has no price in the user's settings,", short(read.model, 100))))
	}
	read.addUsage = read.stream && !read.options
	read.named, read.model = read.model, provider.modelName(read.model)
	return read, err
}

// betas are the beginnings of the values of Anthropic-Beta that are forwarded:
// what Claude Code 2.1.329 sends and the families around it that concern the
// model's answer alone. Hosted tools, files and MCP have betas too.
var betas = []string{
	"advanced-tool-use-", "auto-mode-classifier-", "cache-diagnosis-", "cache-keepalive-", "claude-code-", "context-1m-",
	"context-hint-", "context-management-", "effort-", "extended-cache-ttl-", "fast-mode-", "fine-grained-tool-streaming-",
	"interleaved-thinking-", "mid-conversation-", "oauth-", "per-turn-control-", "prompt-caching-", "redact-thinking-",
	"structured-outputs-", "task-budgets-", "thinking-", "token-counting-", "token-efficient-tools-", "tool-search-tool-",
}

func isBeta(beta string) bool {
	return slices.ContainsFunc(betas, func(prefix string) bool { return strings.HasPrefix(beta, prefix) })
}

var hostedWebBetas = []string{"web-search-", "web-fetch-"}

// filterBetas drops the values of Anthropic-Beta that are not listed.
func (p *Proxy) filterBetas(h http.Header) {
	const name = "Anthropic-Beta"
	var kept []string
	for _, line := range h.Values(name) {
		for beta := range strings.SplitSeq(line, ",") {
			beta = strings.TrimSpace(beta)
			begins := func(prefix string) bool { return strings.HasPrefix(beta, prefix) }
			if isBeta(beta) || p.hostedWeb && slices.ContainsFunc(hostedWebBetas, begins) {
				kept = append(kept, beta)
			}
		}
	}
	h.Del(name)
	if len(kept) > 0 {
		h.Set(name, strings.Join(kept, ","))
	}
}
