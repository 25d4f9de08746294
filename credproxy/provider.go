package credproxy

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/credproxy/spending"
)

// Provider is an API with the routes of OpenAI's that the user pays for: at the proxy
// POST /providers/NAME/chat/completions and POST /providers/NAME/embeddings.
type Provider struct {
	Name string   // small letters, digits and "-"; its models are counted as NAME:MODEL
	Base *url.URL // required: what the two routes are below, such as https://api.openai.com/v1
	Key  Credential

	// Prices are list prices by the model's name at the provider. A model that is not
	// among them costs what the dearest one of Anthropic's does.
	Prices map[string]Price
}

// Price is what tokens of a model cost, in US dollars for a million.
type Price struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
}

var providerName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// checkProvider says what is wrong with a provider but for its key.
func checkProvider(p Provider) error {
	if !providerName.MatchString(p.Name) {
		return errors.New("its name is not made of small letters, digits and \"-\"")
	}
	for model, price := range p.Prices {
		if price.Input < 0 || price.Output < 0 || price.Input != price.Input || price.Output != price.Output {
			return fmt.Errorf("the price of %s is below 0", short(model, 100))
		}
	}
	return CheckUpstream(p.Base)
}

// providersPath begins the routes of providers.
const providersPath = "/providers/"

// ProviderPath is what the routes of a provider are below at the proxy.
func ProviderPath(name string) string { return providersPath + name }

// The routes of a provider.
const (
	chatRoute       = "/chat/completions"
	embeddingsRoute = "/embeddings"
)

// providers are those of a Proxy.
type providers struct {
	routes map[string]*Provider // by path
	token  [sha256.Size]byte    // of the session token for them
}

func newProviders(all []Provider, token string) (providers, error) {
	none, routes := providers{}, map[string]*Provider{}
	for i := range all {
		p := &all[i]
		if err := checkProvider(*p); err != nil {
			return none, fmt.Errorf("the provider %q: %w", short(p.Name, 40), err)
		}
		switch {
		case p.Key.kind == noCredential:
			return none, fmt.Errorf("the provider %s has no key", p.Name)
		case p.Key.secret == token:
			return none, fmt.Errorf("the session token is the key of the provider %s itself", p.Name)
		case routes[providersPath+p.Name+chatRoute] != nil:
			return none, fmt.Errorf("there are two providers %s", p.Name)
		}
		routes[providersPath+p.Name+chatRoute], routes[providersPath+p.Name+embeddingsRoute] = p, p
	}
	return providers{routes, sha256.Sum256([]byte(token))}, nil
}

// modelName is how a model of the provider is counted.
func (p *Provider) modelName(model string) string {
	if model == "" {
		return ""
	}
	return p.Name + ":" + model
}

// costUSD is what tokens cost that a request for one model used, which another one may
// have answered: the dearer price of the two.
func (p *Provider) costUSD(asked, answered string, u spending.Usage) float64 {
	cost := func(price Price) float64 {
		return (float64(u.Input)*price.Input + float64(u.Output)*price.Output) / 1e6
	}
	wanted, known := p.Prices[asked]
	if !known {
		wanted = Price{dearest.input, dearest.output}
	}
	if other, ok := p.Prices[answered]; ok {
		return max(cost(wanted), cost(other))
	}
	return cost(wanted)
}

// toProvider builds the provider's request anew.
func (p *Proxy) toProvider(r *http.Request, body []byte, asked request) *http.Request {
	target := *asked.provider.Base
	target.Path = strings.TrimSuffix(target.Path, "/") + strings.TrimPrefix(r.URL.Path, providersPath+asked.provider.Name)
	target.RawPath = ""
	open, length := asked.body(body)
	reader, _ := open()
	out := &http.Request{
		Method: http.MethodPost, URL: &target, Host: target.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header), Body: reader, ContentLength: length, GetBody: open,
	}
	for _, name := range forwarded {
		if values := r.Header[name]; len(values) > 0 {
			out.Header[name] = slices.Clone(values)
		}
	}
	out.Header.Set("Accept-Encoding", "identity")
	asked.provider.Key.set(out.Header)
	return out.WithContext(r.Context())
}

// usageWanted makes a provider say at the end of a stream what it used.
const usageWanted = `"stream_options":{"include_usage":true},`

// body is what goes out of a request's body.
func (q request) body(text []byte) (open func() (io.ReadCloser, error), length int64) {
	if !q.addUsage {
		return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }, int64(len(text))
	}
	begin := slices.Index(text, '{') + 1
	return func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(bytes.NewReader(text[:begin]), strings.NewReader(usageWanted), bytes.NewReader(text[begin:]))), nil
	}, int64(len(text) + len(usageWanted))
}
