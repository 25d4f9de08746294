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

// Values finds the values of secrets by name: all are there, or it errs.
func Values(ctx context.Context, all []settings.Secret, folder string) (map[string]string, error) {
	keys.CloseMemory()
	var wanted []secrets.Wanted
	for _, s := range all {
		from, err := s.Reference()
		if err != nil {
			return nil, exitcode.With(exitcode.Config, err)
		}
		wanted = append(wanted, secrets.Wanted{Name: s.Name, From: from.String()})
	}
	return sources(folder).Resolve(ctx, wanted)
}

// Providers are those of the user's own settings, with their keys. folder is the project
// that no file of a key may be in.
func Providers(ctx context.Context, own []settings.Provider, folder string) (all []credproxy.Provider, err error) {
	if len(own) == 0 {
		return nil, nil
	}
	var wanted []settings.Secret
	for _, p := range own {
		wanted = append(wanted, settings.Secret{Name: p.Name, From: p.From})
	}
	values, err := Values(ctx, wanted, folder)
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
