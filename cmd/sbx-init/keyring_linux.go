package main

import (
	"fmt"
	"os"
	"reflect"
	"sync"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/settings"
)

// keyring holds the values of the keys of a firewall in a container of its own: the
// variables of that container that the policy file names. It is safe for concurrent use.
type keyring struct {
	mu     sync.Mutex
	values map[string]string // by variable: no program that is started from here on inherits one
	bound  []credential.Binding
	keys   *credential.Keys
}

// bind returns the keys of a policy; nil = no request has one. A key that cannot be used is
// a warning, and requests go without it.
func (k *keyring) bind(p *program, policy policyFile) *credential.Keys {
	k.mu.Lock()
	defer k.mu.Unlock()
	bindings, values := k.read(p, policy.secrets)
	if len(bindings) > 0 && policy.Mode() != firewall.ModeAllowlist {
		p.printWarning(fmt.Errorf("no key is used, because the network's mode is %s: "+
			"keys go only through a firewall that is closed by default", policy.Mode()))
		bindings = nil
	}
	used, unused, err := credential.Bind(bindings, policy.network.Allow)
	if err == nil {
		for _, b := range unused {
			p.printWarning(fmt.Errorf("the key %s is not used: the policy has no entry for %s", b.Name, b.For))
		}
		if k.keys != nil && reflect.DeepEqual(used, k.bound) {
			return k.keys
		}
		k.bound, k.keys = used, nil
		var good []credential.Binding
		for _, b := range used {
			if _, err := credential.Fill([]credential.Binding{b}, values); err != nil {
				p.printWarning(fmt.Errorf("requests go without a key: %w", err))
				continue
			}
			good = append(good, b)
		}
		if len(good) > 0 {
			k.keys, err = credential.Fill(good, values)
		}
	}
	if err != nil {
		k.bound, k.keys = nil, nil
		p.printWarning(fmt.Errorf("no key is used: %w", err))
	}
	return k.keys
}

// read returns the keys among secrets that have a value, and their values by name.
func (k *keyring) read(p *program, secrets []settings.Secret) (bindings []credential.Binding, values map[string]string) {
	values = map[string]string{}
	for _, s := range secrets {
		if s.For == "" {
			continue
		}
		without := func(why string) {
			p.printWarning(fmt.Errorf("requests go without the key %s: %s", s.Name, why))
		}
		if _, taken := values[s.Name]; taken { // one of the values would go to the other's host
			without("another key has the same name")
			continue
		}
		source, err := s.Reference()
		if err != nil {
			without(err.Error())
			continue
		}
		if source.Kind != settings.ReferenceEnv {
			without(fmt.Sprintf("its value is from %s:, and in a dev container from a variable (env:NAME) alone", source.Kind))
			continue
		}
		value := k.take(source.Of)
		if value == "" {
			without(fmt.Sprintf("the variable %s of the firewall's container has no value", source.Of))
			continue
		}
		one := credential.Binding{Name: s.Name, For: s.For, As: s.As}
		bindings, values[s.Name] = append(bindings, one), value
	}
	return bindings, values
}

// take returns a variable's value, which leaves the environment.
func (k *keyring) take(variable string) string {
	if value, taken := k.values[variable]; taken {
		return value
	}
	if k.values == nil {
		k.values = map[string]string{}
	}
	value, set := os.LookupEnv(variable)
	if set {
		k.values[variable] = value
		_ = os.Unsetenv(variable)
	}
	return value
}
