package run

import (
	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/cmd/sbx-devc/connect"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// containerFlags are about the two containers and the engine.
type containerFlags struct {
	firewallImage string
	engineNetwork string
	ociRuntime    string
	noFirewall    bool
	readOnly      bool
	noCache       bool
}

func (o *containerFlags) Title() string { return containersTitle }

func (o *containerFlags) Register(f *pflag.FlagSet) {
	f.StringVar(&o.firewallImage, "firewall-image", "",
		"the firewall's image, with iptables in it (default: one that is built here, once); you trust it")
	connect.AddRuntimeFlag(f)
	f.StringVar(&o.ociRuntime, "oci-runtime", "",
		"the OCI runtime of the agent's container, of those that the engine knows, such as crun (default: the engine's)")
	f.StringVar(&o.engineNetwork, "engine-network", "",
		"join this network of the engine, to reach services on it (as --allow and --private name them)")
	f.BoolVar(&o.readOnly, "accept-read-only", false, "you know that the agent cannot change the project, as where the folder is root's")
	f.BoolVar(&o.noFirewall, "accept-no-firewall", false,
		"with --network host: you know that the agent then reaches everything that this machine can")
	f.BoolVar(&o.noCache, "no-cache", false, "without the caches that the project's package managers have kept; nothing is kept either")
}

func (o *containerFlags) check(*pflag.FlagSet) error { return nil }

func (o *containerFlags) plan(p *runplan.Options) {
	p.FirewallImage, p.EngineNetwork, p.OCIRuntime = o.firewallImage, o.engineNetwork, o.ociRuntime
	p.AcceptNoFirewall, p.AcceptReadOnly = o.noFirewall, o.readOnly
}
