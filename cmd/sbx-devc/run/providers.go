package run

import (
	"context"
	"fmt"
	"net/url"

	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/session/keys"
	"github.com/org/claude-sandbox/session/secrets"
	"github.com/org/claude-sandbox/settings"
)

// Providers are those of the user's own settings, with their keys. folder is the project
// that no file of a key may be in.
func Providers(ctx context.Context, own []settings.Provider, folder string) (all []credproxy.Provider, err error) {
	if len(own) == 0 {
		return nil, nil
	}
	keys.CloseMemory()
	var wanted []secrets.Wanted
	for _, p := range own {
		wanted = append(wanted, secrets.Wanted{Name: p.Name, From: p.From})
	}
	values, err := sources(folder).Resolve(ctx, wanted)
	if err != nil {
		return nil, err
	}
	for _, p := range own {
		one := credproxy.Provider{Name: p.Name, Prices: map[string]credproxy.Price{}}
		if one.Base, err = url.Parse(p.URL); err == nil {
			one.Key, err = credproxy.BearerToken(values[p.Name])
		}
		if err != nil {
			return nil, exitcode.With(exitcode.Config, diag.WithHint(fmt.Errorf("the provider %q: %w", p.Name, err),
				"look at \"providers\" of your own settings.jsonc"))
		}
		for model, price := range p.Prices {
			one.Prices[model] = credproxy.Price{Input: price.Input, Output: price.Output}
		}
		all = append(all, one)
	}
	return all, nil
}
