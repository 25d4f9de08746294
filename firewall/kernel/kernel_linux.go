package kernel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
)

// Backend is one of the two implementations of iptables in the kernel.
type Backend string

// The backends.
const (
	NFT    Backend = "nft"
	Legacy Backend = "legacy"
)

// Kernel is the packet filter of one network namespace. Allow may be called
// from any goroutine; Apply and Verify must be called on a thread of the
// namespace, as every thread is in a program that has never changed its own.
type Kernel struct {
	backend  Backend
	families []tools         // IPv4, then IPv6 when the kernel has it
	sets     *netlink.Handle // its socket was opened in the namespace and stays there
	adder    *conn           // so was this one, which adds to sets
	lister   *conn           // and this one, which lists them and counts connections
	diag     *conn           // and this one, which ends sockets
	netns    uint64          // inode of the namespace
	uids     []firewall.UIDRange
	nflog    bool   // of firewall.Facts
	queue    bool   // of firewall.Facts
	headers  bool   // of firewall.Facts
	dropping []*job // set policy DROP; nil when none is under way
}

// tools are the programs for one address family.
type tools struct {
	ipv6    bool
	restore string // path of iptables-restore or ip6tables-restore
	save    string // path of iptables-save or ip6tables-save
}

func (t tools) name() string {
	if t.ipv6 {
		return "IPv6"
	}
	return "IPv4"
}

// Open finds the backend that works here by a real change, and the change closes
// the network: when Open returns, with an error or without one, the rules of
// firewall.ClosedPlan hold in every family that could be reached. It is one step
// because each takes some milliseconds. Policy DROP is on its way then, for
// which the kernel takes its time; Settle and Apply wait for it.
//
// Open errs, with a hint, when a program, a capability or a kernel module is
// missing, and when IPv6 exists but cannot be filtered. After an error, other
// programs' rules that accept something may still do.
func Open(ctx context.Context) (*Kernel, error) {
	if err := checkCapability(unix.CAP_NET_ADMIN, "NET_ADMIN", "without which no packet filter rule can be set"); err != nil {
		return nil, err
	}
	return openBackend(ctx, candidates())
}

// Probe returns what Open would learn of the kernel for the calling thread's
// network namespace, and changes nothing in it: it opens a namespace of its own,
// which ends with the call. It errs with ErrMissingCapability without
// CAP_SYS_ADMIN, which a new namespace takes.
func Probe(ctx context.Context) (firewall.Facts, error) {
	if err := checkCapability(unix.CAP_NET_ADMIN, "NET_ADMIN", "without which no packet filter rule can be tried"); err != nil {
		return firewall.Facts{}, err
	}
	// The rules in the caller's namespace decide for a backend, so it is asked here.
	order := candidates()
	type answer struct {
		facts firewall.Facts
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends here, and the namespace with it
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			if errors.Is(err, unix.EPERM) {
				err = fmt.Errorf("%w: %w", ErrMissingCapability, err)
			}
			answers <- answer{err: fmt.Errorf("making a network namespace: %w", err)}
			return
		}
		k, err := openBackend(ctx, order)
		if err != nil {
			answers <- answer{err: err}
			return
		}
		facts := k.Facts()
		k.Close()
		answers <- answer{facts: facts}
	}()
	a := <-answers
	return a.facts, a.err
}

// openBackend opens the first of the candidates that works, see Open.
func openBackend(ctx context.Context, order []candidate) (*Kernel, error) {
	netns, err := currentNetns()
	if err != nil {
		return nil, err
	}
	uids, err := userIDs("/proc/self/uid_map")
	if err != nil {
		return nil, err
	}
	var failures []error
	for _, candidate := range order {
		k := &Kernel{backend: candidate.backend, netns: netns, uids: uids}
		if k.families, err = candidate.find(); err == nil {
			err = k.open(ctx)
		}
		if err == nil {
			return k, nil
		}
		failures = append(failures, err)
		// The error is what matters to the caller; this closes what a change
		// that failed as a whole has left open.
		_ = k.Settle()
		k.startDrop(ctx, "")
		k.Close()
	}
	return nil, worst(failures)
}

func (k *Kernel) open(ctx context.Context) error {
	if err := k.probe(ctx); err != nil {
		return err
	}
	k.startDrop(ctx, probeEnd)
	// Only now, so that the network is closed all the same.
	if err := checkCapability(unix.CAP_NET_RAW, "NET_RAW", "which iptables needs to find an ipset by its name"); err != nil {
		return err
	}
	return k.openSets()
}

// Close frees the netlink sockets, after Settle. The rules stay.
func (k *Kernel) Close() {
	_ = k.Settle()
	if k.sets != nil {
		k.sets.Close()
	}
	for _, c := range []*conn{k.adder, k.lister, k.diag} {
		c.close()
	}
}

// Facts returns what probing has learnt of the machine; the caller adds what
// it knows of the resolver.
func (k *Kernel) Facts() firewall.Facts {
	return firewall.Facts{IPv6: len(k.families) == 2, UIDs: k.uids, NFLOG: k.nflog, Queue: k.queue, Headers: k.headers}
}

// Backend returns the backend in use.
func (k *Kernel) Backend() Backend { return k.backend }

// candidate is a backend under the names of its programs.
type candidate struct {
	backend Backend
	infix   string // "iptables" + infix + "-restore"
}

// candidates are the backends to try, best first. Tables of the legacy backend
// that exist in this namespace, such as an engine's rules for its resolver,
// decide for it: only there can our jump be placed before the engine's.
func candidates() []candidate {
	nft, plain, legacy := candidate{NFT, "-nft"}, candidate{NFT, ""}, candidate{Legacy, "-legacy"}
	if tables, err := os.ReadFile("/proc/thread-self/net/ip_tables_names"); err == nil && len(strings.TrimSpace(string(tables))) > 0 {
		return []candidate{legacy, nft, plain}
	}
	return []candidate{nft, plain, legacy}
}

// find looks the programs up.
func (c candidate) find() ([]tools, error) {
	families := []tools{{ipv6: false}}
	if hasIPv6() {
		families = append(families, tools{ipv6: true})
	}
	for i := range families {
		base := "iptables"
		if families[i].ipv6 {
			base = "ip6tables"
		}
		var err error
		if families[i].restore, err = exec.LookPath(base + c.infix + "-restore"); err != nil {
			return families[:i], errMissingProgram(base+c.infix+"-restore", err)
		}
		if families[i].save, err = exec.LookPath(base + c.infix + "-save"); err != nil {
			return families[:i], errMissingProgram(base+c.infix+"-save", err)
		}
	}
	return families, nil
}

// hasIPv6 reports whether the kernel has IPv6, whether or not an address is
// set: one can appear at any time.
func hasIPv6() bool {
	_, err := os.Stat("/proc/thread-self/net/if_inet6")
	return err == nil
}

// probeRules make a chain with the matches that every plan needs, which nothing
// leads to. The nft backend has the kernel check each rule as it comes, and the
// legacy one replaces the whole table; either way the kernel has accepted a
// change.
const (
	probeRules = `:SBX-PROBE - [0:0]
-A SBX-PROBE -m conntrack --ctstate ESTABLISHED -m mark --mark 0x1 -m owner --uid-owner 0 -j ACCEPT
`
	probeLog = `-A SBX-PROBE -j NFLOG --nflog-group 1
`
	probeQueue = `-A SBX-PROBE -p tcp -j NFQUEUE --queue-num 1 --queue-bypass
`
	probeEnd = `-F SBX-PROBE
-X SBX-PROBE
`
)

// probe closes, and finds out with the same change whether the backend works,
// and whether the kernel can report packets, hold them and look at their headers.
// A firewall does not depend on any of these, so what fails with all is tried
// with less.
//
// Nothing in it makes the program wait for the kernel (see firewall.Script): it
// sets no policy, and its chain is left for startDrop to remove.
func (k *Kernel) probe(ctx context.Context) error {
	// The closed plan is one table and the same in both families.
	closed := firewall.Script(firewall.ClosedPlan(k.Facts()).V4, firewall.Present{Dropped: true})
	closed = strings.TrimSuffix(closed, "COMMIT\n") + probeRules
	var err error
	for _, try := range []struct{ nflog, queue, headers bool }{
		{true, true, true}, {true, false, true}, {true, true, false}, {true, false, false}, {false, false, true}, {false, false, false},
	} {
		var jobs []*job
		for _, t := range k.families {
			script := closed
			if try.nflog {
				script += probeLog
			}
			if try.queue {
				script += probeQueue
			}
			if try.headers {
				script += "-A SBX-PROBE " + firewall.HeaderMatch(t.ipv6) + " -j DROP\n"
			}
			jobs = append(jobs, t.startRestore(ctx, script+"COMMIT\n"))
		}
		if err = waitAll(jobs, "probing"); err == nil {
			k.nflog, k.queue, k.headers = try.nflog, try.queue, try.headers
			return nil
		}
		if errors.Is(err, ErrMissingCapability) {
			break
		}
	}
	return err
}

// openSets leaves what it has opened to Close, also after an error.
func (k *Kernel) openSets() (err error) {
	if k.sets, err = netlink.NewHandle(unix.NETLINK_NETFILTER); err != nil {
		return fmt.Errorf("opening a netlink socket for ipset: %w", err)
	}
	if _, _, err := k.sets.IpsetProtocol(); err != nil {
		return errSets("asking the kernel for ipset", err)
	}
	if k.adder, err = dial(unix.NETLINK_NETFILTER); err != nil {
		return fmt.Errorf("opening a netlink socket for ipset: %w", err)
	}
	if k.lister, err = dial(unix.NETLINK_NETFILTER); err != nil {
		return fmt.Errorf("opening a netlink socket for ipset: %w", err)
	}
	if k.diag, err = dial(unix.NETLINK_INET_DIAG); err != nil {
		return fmt.Errorf("opening a netlink socket for sockets: %w", err)
	}
	return nil
}

// currentNetns identifies the calling thread's network namespace.
func currentNetns() (uint64, error) {
	var st unix.Stat_t
	if err := unix.Stat("/proc/thread-self/ns/net", &st); err != nil {
		return 0, fmt.Errorf("finding the network namespace: %w", err)
	}
	return st.Ino, nil
}

// userIDs reads which user ids a user namespace has from its uid_map (user_namespaces(7):
// on each line the first id inside, the first outside, and how many).
func userIDs(file string) (ids []firewall.UIDRange, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the user ids: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		var inside, outside, count uint32
		if _, err := fmt.Sscan(line, &inside, &outside, &count); err != nil || count == 0 {
			return nil, fmt.Errorf("reading the user ids: %q: %w", line, cmp.Or(err, errors.New("it counts none")))
		}
		ids = append(ids, firewall.UIDRange{First: inside, Last: inside + (count - 1)})
	}
	if len(ids) == 0 {
		return nil, errors.New("reading the user ids: there are none")
	}
	slices.SortFunc(ids, func(a, b firewall.UIDRange) int { return cmp.Compare(a.First, b.First) })
	return ids, nil
}

// here errs when the calling thread is in another network namespace than Open
// was: the programs that it starts would change the wrong rules.
func (k *Kernel) here() error {
	netns, err := currentNetns()
	if err != nil {
		return err
	}
	if netns != k.netns {
		return errors.New("called in another network namespace than the one that was opened")
	}
	return nil
}
