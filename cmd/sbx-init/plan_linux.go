package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/kernel"
	"github.com/org/claude-sandbox/firewall/live"
	"github.com/org/claude-sandbox/initproc"
	"github.com/org/claude-sandbox/internal/tunnel"
	"github.com/org/claude-sandbox/internal/visible"
)

// plan prints what run would apply on this machine, and touches nothing. With
// the rights to make a network namespace it asks the kernel in one that is
// thrown away; otherwise it assumes a complete kernel, and says so.
func (p *program) plan(args []string) error {
	fs := newFlags("plan")
	path := fs.String("policy", "", "")
	var more []netip.Prefix
	fs.Func("around", "", addPrefixes(&more))
	rest, err := parseFlags(fs, args)
	if err != nil {
		return err
	}
	if *path == "" || len(rest) > 0 {
		return usageError("plan takes --policy FILE, and --around")
	}
	pol, err := p.loadPolicy(*path, nil, more)
	if err != nil {
		return err
	}
	resolvers, err := live.ReadResolvers(live.ResolvConf)
	if err != nil {
		return fmt.Errorf("finding the machine's resolvers: %w", err)
	}
	known, assumed := kernelFacts()
	plan, err := firewall.Compile(pol.Policy.Policy, live.Facts(known, resolvers, pol.Policy.Around))
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(p.stdout, assumed, plan)
	return err
}

// kernelFacts asks the kernel. Where that fails, as without root's rights, it
// returns those of firewall.AssumedFacts with a comment for the plan that says so.
func kernelFacts() (facts firewall.Facts, comment string) {
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	facts, err := kernel.Probe(ctx)
	if err == nil {
		return facts, ""
	}
	all := firewall.AssumedFacts()
	_, noIPv6 := os.Stat("/proc/self/net/if_inet6")
	facts = firewall.Facts{IPv6: noIPv6 == nil, NFLOG: all.NFLOG, Queue: all.Queue, Headers: all.Headers}
	return facts, fmt.Sprintf("# The kernel was not asked (%s).\n"+
		"# Its modules are assumed: NFLOG, NFQUEUE, u32, ipv6header.\n", visible.Folded(err.Error()))
}

// tunnel carries HTTP requests from a port of the namespace over standard
// input and output, to whoever started it from outside.
func (p *program) tunnel(args []string) error {
	fs := newFlags("tunnel")
	listen := fs.String("listen", tunnel.ListenAddress, "")
	rest, err := parseFlags(fs, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usageError("tunnel takes no argument")
	}
	if err := initproc.ForbidDumps(); err != nil { // what it carries has the session's token
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return tunnel.ServeGuest(ctx, *listen, p.stdin, p.stdout)
}
