package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/control"
	"github.com/org/claude-sandbox/firewall/kernel"
	"github.com/org/claude-sandbox/firewall/live"
	"github.com/org/claude-sandbox/initproc"
	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/cabundle"
	"github.com/org/claude-sandbox/internal/lifeline"
	"github.com/org/claude-sandbox/internal/mountinfo"
	"github.com/org/claude-sandbox/workspace/mountwatch"
)

const (
	// setupTimeout bounds everything between closing and verifying.
	setupTimeout = 30 * time.Second

	// defaultAudit is where the agent finds out why it was refused.
	defaultAudit = "/run/sbx/audit.jsonl"

	// gcServing is how much garbage there may be for what is in use, in percent.
	// While the firewall starts it is Go's own, because somebody waits.
	gcServing = 60

	// effectivePolicy, in the audit log's folder, is the policy in force, for
	// 'sbx-init check' without --policy. It is a settings file itself.
	effectivePolicy = "policy.json"
)

// runOptions are the flags of run.
type runOptions struct {
	policy   string
	user     string // "" = defaultUser
	audit    string
	publish  string         // the file that other containers have the certificates from; "" = in the audit log's folder
	around   []netip.Prefix // in addition to what the namespace shows, such as the host's own addresses
	sidecar  bool
	askAgent bool // of the sidecar's: the first process of the agent's container answers
	// lifeline of the sidecar's: standard input is the supervisor, deadline the
	// time that the agent's container has, 0 = no limit.
	lifeline bool
	deadline time.Duration
	command  []string
}

// topology names what run does as a status has it.
func (o runOptions) topology() string {
	if o.sidecar {
		return "sidecar"
	}
	return "single"
}

func parseRun(args []string) (runOptions, error) {
	args, command, found := splitCommand(args)
	o := runOptions{command: command}
	fs := newFlags("run")
	fs.StringVar(&o.policy, "policy", "", "")
	fs.StringVar(&o.user, "user", "", "")
	fs.StringVar(&o.audit, "audit", defaultAudit, "")
	fs.StringVar(&o.publish, "publish", "", "")
	fs.Func("around", "", addPrefixes(&o.around))
	fs.BoolVar(&o.sidecar, "sidecar", false, "")
	fs.BoolVar(&o.askAgent, "process-lookup", false, "")
	fs.BoolVar(&o.lifeline, "lifeline", false, "")
	fs.DurationVar(&o.deadline, "deadline", 0, "")
	rest, err := parseFlags(fs, args)
	userGiven := false
	fs.Visit(func(f *flag.Flag) { userGiven = userGiven || f.Name == "user" })
	switch {
	case err != nil:
		return o, err
	case len(rest) > 0:
		return o, usageError("run: the command must stand behind \"--\": ... -- %s", rest[0])
	case o.policy == "":
		return o, usageError("run: --policy FILE is missing")
	case o.audit == "":
		return o, usageError("run: --audit names no file")
	case userGiven && o.user == "":
		return o, usageError("run: --user names no user")
	case o.sidecar && (found || userGiven):
		return o, usageError("run: --sidecar starts no command and takes neither one nor --user")
	case o.publish != "" && (!o.sidecar || filepath.Base(o.publish) != cabundle.Published):
		return o, usageError("run: --publish takes a file named %s, together with --sidecar", cabundle.Published)
	case o.askAgent && !o.sidecar:
		return o, usageError("run: --process-lookup requires --sidecar; without it processes are visible already")
	case o.lifeline && !o.sidecar:
		return o, usageError("run: --lifeline is for --sidecar, whose standard input no command has")
	case o.deadline < 0, o.deadline > 0 && !o.lifeline:
		return o, usageError("run: --deadline takes a time above 0, together with --lifeline")
	case !o.sidecar && len(command) == 0:
		return o, usageError("run: no command given; it stands behind \"--\"")
	}
	return o, nil
}

// run closes the network, opens what the policy allows, proves it and starts
// the command. The order is the guarantee: nothing of the caller's is read
// before both families are closed.
func (p *program) run(args []string) (err error) {
	started := time.Now()
	o, err := parseRun(args)
	if err != nil {
		return err
	}
	// A program that reads our memory could read the policy's secrets of tomorrow;
	// one that writes to it owns CAP_NET_ADMIN.
	if err := initproc.HideMemory(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	k, err := kernel.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { // behind all that writes it
		if err == nil && o.lifeline {
			err = p.handOver(o.audit)
		}
	}()
	// Before ctx ends, and the change with it.
	defer func() { err = errors.Join(err, k.Settle()) }()
	if err := unmarkVerified(); err != nil {
		return err
	}
	first, err := p.firstProcess(o)
	if err != nil {
		return err
	}
	in, err := p.readInputs(o)
	if err != nil {
		return err
	}
	log, err := openRecords(o, in)
	if err != nil {
		return err
	}
	closeFirewall := func() error { return nil }
	defer func() {
		if err := errors.Join(closeFirewall(), log.Close()); err != nil {
			p.printWarning(fmt.Errorf("the audit log is not complete: %w", err))
		}
	}()
	var keys *keyring
	if o.sidecar && !o.lifeline { // which is a run's, whose keys are in another process
		keys = new(keyring)
		in.policy.Keys = keys.bind(p, in.policy)
	}
	firewall, err := p.open(ctx, o, in, live.Options{
		Kernel: k, Resolvers: in.resolvers, Topology: o.topology(), Record: log.Record, Lookup: log.lookup,
		Programs: first.Children.Pause, Tell: p.printError, Warn: p.printWarning,
	})
	if err != nil {
		return err
	}
	closeFirewall = firewall.Close
	begin, err := announce(o, in, keys, firewall)
	if err != nil {
		return err
	}
	saveMemory(in)
	first.Failures = firewall.Failures()
	if o.sidecar {
		return p.serve(first, begin, started)
	}
	return runCommand(first, o, in, begin)
}

// firstProcess returns the process that ends when a mount that protects is lost and, with
// --lifeline, when the supervisor goes, which hears here that the network is closed.
func (p *program) firstProcess(o runOptions) (*initproc.Init, error) {
	mounts, err := mountwatch.Start()
	if err != nil {
		return nil, err
	}
	first := p.newInit(lossOf(mounts))
	first.Tell = func(err error) int { // where another process is the first, it ends with this
		keepEnd(err)
		return p.exitCode(err)
	}
	if !o.lifeline {
		return first, nil
	}
	// The agent's container may come up meanwhile: its command waits for the supervisor.
	life, err := initproc.ListenLifeline(o.deadline)
	if err != nil {
		return nil, err
	}
	first.Watches = append(first.Watches, func() error { return life.Await(p.stdin) })
	return first, p.report(struct {
		Closed bool   `json:"closed"`
		Boot   string `json:"boot"` // whose packet filter it is
	}{true, mountinfo.BootID()})
}

// open opens the firewall, with the files next to the audit log that it writes.
func (p *program) open(ctx context.Context, o runOptions, in inputs, options live.Options) (*live.Firewall, error) {
	certificates := cabundle.Trust{File: cmp.Or(o.publish, filepath.Join(filepath.Dir(o.audit), cabundle.Published)), Warn: p.printWarning}
	if err := os.Remove(certificates.File); err != nil && !errors.Is(err, fs.ErrNotExist) { // an earlier start's
		return nil, err
	}
	options.Publish = func(pem []byte) error { return certificates.Publish(pem, !o.sidecar) }
	options.Memory = p.restoreMemory(filepath.Join(filepath.Dir(o.audit), pushedRefs), in.reach)
	return live.Open(ctx, options, in.policy.Policy)
}

// announce says that the rules were verified, and makes the way by which root asks the
// firewall for more. begin serves it.
func announce(o runOptions, in inputs, keys *keyring, firewall *live.Firewall) (begin func(), err error) {
	if err := markVerified(in.policy.Mode()); err != nil {
		return nil, err
	}
	// The last one: login shells wait for it.
	if err := writeEffective(o.audit, in.policy.network); err != nil {
		return nil, err
	}
	socket, err := control.Listen(control.Path(o.audit, o.sidecar))
	if err != nil {
		return nil, err
	}
	return func() {
		go control.Serve(socket, handler{firewall, o, in.reach, in.resolvers, keys, new(unwritten)}.handle, refuse)
		go firewall.Keep()
	}, nil
}

// saveMemory is for the time in which the firewall serves: little memory is worth more
// than little work then, to programs that share the container's limit with us.
func saveMemory(in inputs) {
	debug.SetGCPercent(gcServing)
	// The kernel does most of the work, but for hosts whose TLS is opened. A second
	// processor would be woken for each question and find nothing to do.
	if !in.opensTLS() {
		runtime.GOMAXPROCS(1)
	}
	go debug.FreeOSMemory() // what reading the policy took
}

// runCommand starts the command, without rights, and ends with it.
func runCommand(first *initproc.Init, o runOptions, in inputs, begin func()) (err error) {
	showEnd(o.audit)
	defer func() { keepEnd(err) }()
	environ := in.who.Environ(os.Environ())
	if in.opensTLS() {
		environ = cabundle.AddVariables(environ)
	}
	argv := append(append([]string{"sbx-init", shimCommand}, in.who.IDs()...), "--")
	return first.Run(append(argv, o.command...), environ, func() error {
		// NET_RAW, too, is for changing rules: iptables needs it to find a set.
		if err := initproc.KeepOnly(unix.CAP_NET_ADMIN, unix.CAP_NET_RAW, unix.CAP_KILL); err != nil {
			return err
		}
		begin()
		return nil
	})
}

// serve is the time of a sidecar, which has no command.
func (p *program) serve(first *initproc.Init, begin func(), started time.Time) error {
	return first.Serve(func() error {
		if err := initproc.KeepOnly(unix.CAP_NET_ADMIN, unix.CAP_NET_RAW); err != nil {
			return err
		}
		begin()
		return p.report(struct {
			Ready          bool  `json:"ready"`
			FirewallMillis int64 `json:"firewallMillis"`
		}{true, time.Since(started).Milliseconds()})
	})
}

// report tells the program that waits on our standard output how far the firewall is.
func (p *program) report(state any) error {
	if err := json.NewEncoder(p.stdout).Encode(state); err != nil {
		return fmt.Errorf("reporting how far the firewall is: %w", err)
	}
	return nil
}

// handOver gives the audit log to the supervisor, who reads what engines take a tenth of a
// second to copy. Of one that is longer the supervisor gets a part, without lifeline.LogEnd.
func (p *program) handOver(log string) error {
	out, size := bufio.NewWriter(p.stdout), 0
	err := audit.Tail(context.Background(), log, false, func(line []byte) error {
		if size += len(line) + 1; size > lifeline.MaxLog {
			return errLong
		}
		_, err := fmt.Fprintf(out, "%s\n", line)
		return err
	})
	if errors.Is(err, errLong) {
		return out.Flush()
	}
	if err == nil {
		_, err = fmt.Fprintln(out, lifeline.LogEnd)
	}
	if err = errors.Join(err, out.Flush()); err != nil {
		return fmt.Errorf("handing the audit log over: %w", err)
	}
	return nil
}

var errLong = errors.New("a long log")

// writeEffective writes the policy in force into the audit log's folder, for
// everybody to read.
func writeEffective(log string, network firewall.Network) error {
	text, err := json.MarshalIndent(struct {
		Network firewall.Network `json:"network"`
	}{network}, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the policy in force: %w", err)
	}
	// A new file takes the place of whatever was there, a symbolic link too.
	if err := atomicfile.WriteBytes(filepath.Join(filepath.Dir(log), effectivePolicy), 0o644, append(text, '\n')); err != nil {
		return fmt.Errorf("writing the policy in force: %w", err)
	}
	return nil
}
