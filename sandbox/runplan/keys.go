package runplan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/settings"
)

// Key is a secret that goes with the requests of typed entries. It stays in the process
// of the run on this machine: it is in no container.
type Key struct {
	credential.Binding
	From string `json:"from"` // its reference
}

// bindKeys binds the secrets that are keys to the entries of the policy, and returns
// those that go to the agent. A key for whose entries the policy has none is not used, and
// that is said of one in a flag: the user's settings are those of all their projects. None is where the firewall is not
// closed by default.
func (p *Plan) bindKeys(s settings.Settings) (agents []settings.Secret, err error) {
	var all []credential.Binding
	from := map[string]string{}
	for _, secret := range s.Secrets {
		if secret.For == "" {
			agents = append(agents, secret)
			continue
		}
		source, err := secret.Reference()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrConfig, err)
		}
		from[secret.Name] = source.String()
		all = append(all, credential.Binding{Name: secret.Name, For: secret.For, As: secret.As})
	}
	used, unused, err := credential.Bind(all, p.Network.Allow)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if mode := p.Policy.Mode(); mode != firewall.ModeAllowlist && len(used) > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("no key is used, because the network's mode is %s: keys go only through a firewall that is "+
			"closed by default", mode))
		return agents, nil
	}
	for _, b := range unused {
		if !slices.ContainsFunc(p.Asked.User.Secrets, func(s settings.Secret) bool { return s.Name == b.Name && s.For != "" }) {
			continue
		}
		p.Notes = append(p.Notes, fmt.Sprintf("the key %s is not used: the run has no entry for %s", b.Name, b.For))
	}
	for _, b := range used {
		if slices.Contains(credentialVariables, b.Name) {
			return nil, reserved{b.Name: true}.check("secrets", b.Name)
		}
		p.Keys = append(p.Keys, Key{b, from[b.Name]})
	}
	return agents, nil
}

// CheckKeys refuses keys whose value the agent would get in another way, as a variable,
// a secret or a file. values are those of p.Secrets and p.Keys.
func (p *Plan) CheckKeys(values map[string]string) error {
	if len(p.Keys) == 0 {
		return nil
	}
	parcel, err := p.Parcel(values)
	if err != nil {
		return err
	}
	for _, k := range p.Keys {
		value := values[k.Name]
		if value == "" {
			return fmt.Errorf("%w: the key %s has no value", ErrNoKey, k.Name)
		}
		if _, password, found := strings.Cut(value, ":"); found && len(password) >= len(value)/2 {
			value = password
		}
		for _, v := range slices.Concat(p.Agent.Env, parcel.Env) {
			if strings.Contains(v, value) {
				return diag.WithHint(fmt.Errorf("%w: the key %s would be in the sandbox, too, as the variable %s", ErrConfig, k.Name, nameOf(v)),
					"a key stays outside: leave the variable out (--no-secret %[1]s, --env, --env-prefix)", nameOf(v))
			}
		}
		for name, content := range parcel.Files {
			if strings.Contains(string(content), value) {
				return fmt.Errorf("%w: the key %s would be in the sandbox, too, in the file of %s", ErrConfig, k.Name, name)
			}
		}
	}
	return nil
}

// Bindings are those of the keys.
func (p *Plan) Bindings() (all []credential.Binding) {
	for _, k := range p.Keys {
		all = append(all, k.Binding)
	}
	return all
}
