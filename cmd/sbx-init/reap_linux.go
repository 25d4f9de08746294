package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall/owner"
	"github.com/org/claude-sandbox/initproc"
	"github.com/org/claude-sandbox/internal/cabundle"
	"github.com/org/claude-sandbox/internal/delivery"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/mountinfo"
	"github.com/org/claude-sandbox/workspace/diskwatch"
	"github.com/org/claude-sandbox/workspace/mountwatch"
)

// The hidden commands with which run and reap start this program again. They
// become CMD.
const (
	shimCommand    = "shim"    // UID GID GROUPS -- CMD
	confineCommand = "confine" // -- CMD
	attendCommand  = "attend"  // [--terminal] -- CMD
)

// deliverCommand passes what is on its standard input on to reap --delivery.
const deliverCommand = "deliver"

// reapOptions are the flags of reap.
type reapOptions struct {
	lifeline bool
	deadline time.Duration // 0 = no limit
	disk     int64         // bytes; 0 = no limit
	mounts   bool
	delivery bool
	trust    bool
	trustIn  string // the file with the certificates, which may come later; "" = it is in the audit log's folder
	command  []string
}

func parseReap(args []string) (reapOptions, error) {
	flags, command, found := splitCommand(args)
	o := reapOptions{command: command}
	fs := newFlags("reap")
	fs.BoolVar(&o.lifeline, "lifeline", false, "")
	fs.DurationVar(&o.deadline, "deadline", 0, "")
	fs.Int64Var(&o.disk, "disk", 0, "")
	fs.BoolVar(&o.mounts, "mounts", false, "")
	fs.BoolVar(&o.delivery, "delivery", false, "")
	fs.BoolFunc("trust", "", func(file string) error {
		o.trust = true
		if file != "true" { // which is --trust alone
			o.trustIn = file
		}
		return nil
	})
	rest, err := parseFlags(fs, flags)
	switch {
	case err != nil:
		return o, err
	case len(rest) > 0 || !found || len(command) == 0:
		return o, usageError("reap takes nothing but --lifeline, --deadline, --disk, --mounts, --delivery, --trust and a command behind \"--\"")
	case o.disk < 0:
		return o, usageError("reap: --disk takes bytes above 0")
	case o.deadline < 0, o.deadline > 0 && o.lifeline:
		return o, usageError("reap: --deadline takes a time above 0, and --lifeline has its own")
	}
	return o, nil
}

// reap is the first process of a container that has no capability: it starts
// the command, passes signals on, collects orphans, tells the firewall which
// process holds a socket, and ends with the command's exit code.
func (p *program) reap(args []string) error {
	o, err := parseReap(args)
	if err != nil {
		return err
	}
	if os.Getpid() != 1 {
		return diag.WithHint(errors.New("reap must be the first process of its container"),
			"make it the container's entrypoint, and leave out the engine's own init (--init, \"init\": true)")
	}
	if err := initproc.Shield(); err != nil {
		return err
	}
	if o.mounts { // first: to look a path up can change how the kernel names it
		if err := p.tellMounts(); err != nil {
			return err
		}
	}
	if err := owner.Answer(os.Environ()); err != nil {
		p.printWarning(fmt.Errorf("the firewall's records will name no process: %w", err))
	}
	mounts, err := mountwatch.Start()
	if err != nil {
		return err
	}
	if err := mounts.CheckSpellings(); err != nil {
		return err
	}
	first := p.newInit(lossOf(mounts))
	full, err := p.limit(first, o)
	if err != nil {
		return err
	}
	if o.trust {
		// Without a name of its own: the firewall is ready, so the file is there.
		certificates := cabundle.Trust{File: filepath.Join(filepath.Dir(defaultAudit), cabundle.Published), Warn: p.printWarning}
		if o.trustIn != "" {
			certificates.File, certificates.Later = o.trustIn, true
		}
		if err := certificates.Follow(); err != nil {
			return err
		}
		if err := certificates.Write(); err != nil {
			return err
		}
	}
	env := os.Environ()
	if o.delivery {
		given, err := delivery.Receive()
		if err != nil {
			return err
		}
		env = delivery.Merge(env, given)
	}
	argv := append([]string{"sbx-init", confineCommand, "--"}, o.command...)
	err = first.Run(argv, env, func() error { return nil })
	if full.Load() { // it ended in order, with a code of its own
		err = exitWith(exitcode.DiskFull, nil)
	}
	return err
}

// limit has the container end with the firewall's, after its time, and when its disk is
// full, which full says then.
func (p *program) limit(first *initproc.Init, o reapOptions) (full *atomic.Bool, err error) {
	full = new(atomic.Bool)
	if o.lifeline {
		firewallEnds, err := initproc.JoinLifeline()
		if err != nil {
			return nil, err
		}
		first.Watches = append(first.Watches, firewallEnds)
	}
	if o.deadline > 0 {
		first.Watches = append(first.Watches, func() error {
			time.Sleep(o.deadline)
			return errors.New("the command's time is over, and everything in this container was ended")
		})
	}
	if o.disk > 0 {
		watch, err := diskwatch.Start(o.disk)
		if err != nil {
			return nil, err
		}
		first.Watches = append(first.Watches, func() error {
			err := watch.Await()
			full.Store(true)
			p.printWarning(fmt.Errorf("%w, %d MiB: everything in this container is asked to end", err, o.disk>>20))
			askToEnd()
			return exitWith(exitcode.DiskFull, err)
		})
	}
	return full, nil
}

// askToEnd gives every process of this container, which is all that the kernel lets us
// signal, time to end in order.
func askToEnd() {
	for _, step := range []struct {
		signal syscall.Signal
		grace  time.Duration
	}{{syscall.SIGINT, 10 * time.Second}, {syscall.SIGTERM, 5 * time.Second}} {
		_ = syscall.Kill(-1, step.signal)
		time.Sleep(step.grace)
	}
}

// tellMounts writes what is mounted here, and where that is, as the first line of the
// output, for who started the container: no program of the agent's exists yet.
func (p *program) tellMounts() error {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("telling what is mounted: %w", err)
	}
	type id struct {
		Device uint64 `json:"device"`
		Inode  uint64 `json:"inode"`
	}
	files := map[string]id{}
	for m := range mountinfo.Parse(string(text)) {
		var s unix.Stat_t
		if unix.Stat(m.Point, &s) == nil {
			files[m.Point] = id{uint64(s.Dev), s.Ino} //nolint:unconvert // differs between architectures
		}
	}
	err = json.NewEncoder(p.stdout).Encode(struct {
		Mounts string        `json:"mounts"`
		Boot   string        `json:"boot"`
		Files  map[string]id `json:"files"`
	}{string(text), mountinfo.BootID(), files})
	if err != nil {
		return fmt.Errorf("telling what is mounted: %w", err)
	}
	return nil
}

// lossOf waits until a mount that protects is lost, which has an exit code of its
// own.
func lossOf(mounts *mountwatch.Watch) func() error {
	return func() error { return exitWith(exitcode.Unprotected, mounts.Await()) }
}

// newInit returns the first process of a container, which ends when a watch does.
func (p *program) newInit(watches ...func() error) *initproc.Init {
	return &initproc.Init{Tell: p.exitCode, Watches: watches, Children: initproc.NewReaper()}
}

// shim becomes CMD, as an account.
func (p *program) shim(args []string) error {
	ids, command, found := splitCommand(args)
	if !found || len(ids) != 3 || len(command) == 0 {
		return usageError("unknown command %q", shimCommand)
	}
	account, err := initproc.ParseIDs(ids)
	if err != nil {
		return err
	}
	return initproc.Become(account, command)
}

// confine becomes CMD, as the user that it is already.
func (p *program) confine(args []string) error {
	flags, command, found := splitCommand(args)
	if len(flags) > 0 || !found || len(command) == 0 {
		return usageError("unknown command %q", confineCommand)
	}
	return initproc.BecomeConfined(command)
}
