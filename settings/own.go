package settings

import "github.com/org/claude-sandbox/internal/jsonc"

// The sandbox modes.
const (
	SandboxNone         = "none"         // Claude Code works on this machine as it is
	SandboxDevcontainer = "devcontainer" // in the sandbox; the default
)

// SandboxModes are the values of sandbox_mode.
var SandboxModes = []string{SandboxDevcontainer, SandboxNone}

// Own is what the user's own file alone can say. It is no part of Settings, because those
// come from projects and profiles, too: code that is to be sandboxed must choose neither
// that it is not nor what the user pays for.
type Own struct {
	SandboxMode string // one of SandboxModes; "" = the file does not say
	Model       string // of Claude; "" = its default
	Providers   []Provider
}

// Provider is an API with OpenAI's routes that the user pays for, see credproxy.Provider.
type Provider struct {
	Name   string
	URL    string
	From   string // where its key comes from, as Secret.From
	Prices map[string]Price
}

// Price is of a million tokens, in US dollars.
type Price struct{ Input, Output float64 }

// provider reads one element of "providers". Its name and URL are looked at where it is
// used.
func (d *decoder) provider(n *jsonc.Node) (p Provider) {
	d.object(n, fields{
		"name": func(n *jsonc.Node) { d.nonEmpty(n, &p.Name) },
		"url":  func(n *jsonc.Node) { d.nonEmpty(n, &p.URL) },
		"from": func(n *jsonc.Node) {
			if d.text(n, &p.From) {
				if _, bad := parseReference(p.From); bad != nil {
					d.value(n, RuleValue, bad)
				}
			}
		},
		"prices": func(n *jsonc.Node) {
			if !d.want(n, jsonc.Object, "an object of models and prices") {
				return
			}
			p.Prices = map[string]Price{}
			for _, m := range n.Members {
				var price Price
				d.object(m.Value, fields{
					"input":  func(n *jsonc.Node) { d.positive(n, &price.Input) },
					"output": func(n *jsonc.Node) { d.positive(n, &price.Output) },
				}, "input")
				p.Prices[m.Name] = price
			}
		},
	}, "name", "url", "from")
	return p
}

// ownOnly reads a value of the user's own file, and refuses it elsewhere.
func (d *decoder) ownOnly(n *jsonc.Node, read func(*Own)) {
	if d.own == nil {
		d.node(n, RuleValue, n.Where()+" is for your own settings alone",
			"a project or a profile does not decide it; 'sbx-devc settings path' names your own file")
		return
	}
	read(d.own)
}
