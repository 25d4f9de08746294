package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/tunnel"
)

// plan prints what run would apply on this machine. It needs no privilege and
// touches nothing.
func (p *program) plan(args []string) error {
	fs := newFlags("plan")
	path := fs.String("policy", "", "")
	rest, err := parseFlags(fs, args)
	if err != nil {
		return err
	}
	if *path == "" || len(rest) > 0 {
		return usageError("plan takes --policy FILE and nothing else")
	}
	pol, err := p.loadPolicy(*path, nil)
	if err != nil {
		return err
	}
	upstreams, err := readResolvers(resolvConf)
	if err != nil {
		return fmt.Errorf("finding the machine's resolvers: %w", err)
	}
	networks, err := around()
	if err != nil {
		return err
	}
	_, noIPv6 := os.Stat("/proc/self/net/if_inet6")
	plan, err := firewall.Compile(pol.Policy, firewall.Facts{
		IPv6: noIPv6 == nil, Upstreams: upstreams.addrs, ResolverPort: resolverPort, GuardPort: guardPort, Mark: resolverMark, NFLOG: true, Queue: true, Around: networks,
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(p.stdout, plan)
	return err
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
	if err := forbidDumps(); err != nil { // what it carries has the session's token
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return tunnel.ServeGuest(ctx, *listen, p.stdin, p.stdout)
}
