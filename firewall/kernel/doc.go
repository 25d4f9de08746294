// Package kernel makes the kernel hold a firewall.Plan. It is the only package
// that changes packet filter rules. It acts on the network namespace of the
// thread that calls Open, and refuses to act on another one.
//
//	Open ── closes both families, which probes iptables-nft, then legacy ──► Kernel
//	        and begins to set policy DROP; Settle waits for it
//
//	Apply(Plan) ── policy DROP, both families, where it is not set
//	            ├─ ipsets, over netlink
//	            ├─ iptables-restore --noflush ┐ one transaction per table, our chains
//	            ├─ ip6tables-restore --noflush┘ only, and of these what differs
//	            └─ any error ► ClosedPlan, both families
//
//	Allow(addr, ports) ── ipset add, over netlink (the resolver, before it answers)
//	OpenRefusals ◄── NFLOG: what the rules refused; nothing depends on anybody listening
//	OpenHolder ◄─► NFQUEUE: what they are about to refuse, until somebody has looked; the same
//	Verify(Plan) ── Compare, then real packets are refused
//	Compare(Plan) ── iptables-save = Plan, sets = Plan
//	Generation ── whether rules have changed at all, without listing them
//	Prune, Cut ── ipset, conntrack: end what a plan of before has opened
package kernel
