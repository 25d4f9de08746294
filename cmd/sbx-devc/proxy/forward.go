package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/run"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/credproxy/endpoint"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/firewall/forward"
	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/firewall/relay"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/settings"
)

// operations is the forward proxy of a process.
type operations struct {
	server   *forward.Server
	listener net.Listener
	folder   string // of the certificate
	set      []string
}

// newOperations makes the forward proxy that the flags ask for; nil = they ask for none.
// users are the secrets of the user's own settings, and folder the project that no file of a
// key may be in.
func (o *options) newOperations(ctx context.Context, a *cli.App, users []settings.Secret, folder string) (p *operations, err error) {
	if len(o.allow) == 0 {
		if len(o.keys) > 0 {
			return nil, exitcode.With(exitcode.Usage, diag.WithHint(errors.New("--key goes with the requests of an entry, and there is none"),
				"add it: --allow 'git:github.com/acme/app'"))
		}
		return nil, nil
	}
	policy, given, err := o.policy()
	if err != nil {
		return nil, exitcode.With(exitcode.Usage, err)
	}
	keys, err := keysFor(ctx, settings.MergeSecrets(users, given.Secrets), policy, folder)
	if err != nil {
		return nil, err
	}
	if policy, err = here(policy); err != nil {
		return nil, exitcode.With(exitcode.Unavailable, err)
	}
	p = &operations{}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.folder, err = os.MkdirTemp("", "sbx-proxy-"); err != nil {
		return nil, exitcode.With(exitcode.CantWrite, err)
	}
	ca, token := filepath.Join(p.folder, "ca.pem"), credproxy.NewSessionToken()
	p.server, err = forward.New(forward.Options{
		Policy: policy, Token: token, Roots: relay.SystemRoots, Keys: keys, Used: func(string, string, string) {},
		Publish: func(certificates []byte) error { return os.WriteFile(ca, certificates, 0o644) },
		Record: func(r audit.Record) error {
			if r.Verdict == firewall.Deny {
				a.SayLine("refused %s: %s", visible.Line(r.Name), visible.Line(r.Why()))
			}
			return nil
		},
	})
	if err != nil {
		return nil, exitcode.With(exitcode.Config, err)
	}
	if p.listener, err = endpoint.Listen(o.forward); err != nil {
		return nil, exitcode.With(exitcode.Usage, err)
	}
	p.set = []string{"HTTPS_PROXY=http://sbx:" + token + "@" + p.listener.Addr().String(), "SBX_CA_FILE=" + ca}
	return p, nil
}

// policy is that of the flags, which have entries about operations alone.
func (o *options) policy() (*firewall.Policy, *settings.Accepted, error) {
	given := settings.Given{}
	given.Mode("--allow", string(firewall.ModeAllowlist))
	given.Entries("allow", "--allow", o.allow)
	given.Entries("private", "--private", o.private)
	given.AddKeys("--key", o.keys)
	s, bad := given.Accept()
	if bad != nil {
		return nil, nil, bad[0]
	}
	for _, entry := range s.Network.Allow {
		if !operation.Typed(entry) {
			return nil, nil, diag.WithHint(fmt.Errorf("--allow: %q opens a host whole, and this proxy judges each request", entry),
				"name operations: \"https://%s GET /**\", or open the host in the network of your sandbox", entry)
		}
	}
	return s.Policy(), s, nil
}

// here is a policy on this machine: a name leads to none of its addresses that is not private.
func here(policy *firewall.Policy) (*firewall.Policy, error) {
	addrs, err := sandbox.HostAddresses()
	if err != nil {
		return nil, err
	}
	var own []netip.Prefix
	for _, addr := range addrs {
		own = append(own, netip.PrefixFrom(addr, addr.BitLen()))
	}
	return policy.Around(own), nil
}

// keysFor finds the values of the keys that go with a policy's entries; nil = there are none.
func keysFor(ctx context.Context, all []settings.Secret, policy *firewall.Policy, folder string) (*credential.Keys, error) {
	var bindings []credential.Binding
	from := map[string]string{}
	for _, s := range all {
		if s.For != "" {
			bindings, from[s.Name] = append(bindings, credential.Binding{Name: s.Name, For: s.For, As: s.As}), s.From
		}
	}
	used, _, err := credential.Bind(bindings, policy.Network().Allow)
	if err != nil {
		return nil, exitcode.With(exitcode.Config, err)
	}
	if len(used) == 0 {
		return nil, nil
	}
	var wanted []settings.Secret
	for _, b := range used {
		wanted = append(wanted, settings.Secret{Name: b.Name, From: from[b.Name]})
	}
	values, err := run.Values(ctx, wanted, folder)
	if err != nil {
		return nil, err
	}
	keys, err := credential.Fill(used, values)
	if err != nil {
		return nil, exitcode.With(exitcode.NoSecret, err)
	}
	return keys, nil
}

// close ends it and removes its certificate.
func (p *operations) close() {
	if p == nil {
		return
	}
	if p.listener != nil {
		_ = p.listener.Close()
	}
	if p.server != nil {
		_ = p.server.Close()
	}
	if p.folder != "" {
		_ = os.RemoveAll(p.folder)
	}
}
