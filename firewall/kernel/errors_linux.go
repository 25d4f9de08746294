package kernel

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/diag"
)

// The parts that Open and Apply find missing; errors.Is tells them apart.
var (
	ErrMissingProgram    = errors.New("a program is missing")
	ErrMissingCapability = errors.New("a capability is missing")
	ErrMissingModule     = errors.New("a kernel module is missing")
)

// ErrFull reports that a set of learned addresses holds as many live ones as it
// can: the kernel lets those whose time is over go by itself.
var ErrFull = errors.New("the set is full")

// setFull is the kernel's IPSET_ERR_HASH_FULL (linux/netfilter/ipset/ip_set_hash.h),
// the first of the errors that mean something else for each type of set.
const setFull = nl.IPSetError(4352)

// capabilityHint names both, because whoever drops all capabilities and adds
// one back would come here twice.
const capabilityHint = `add "runArgs": ["--cap-add=NET_ADMIN", "--cap-add=NET_RAW"] to devcontainer.json, ` +
	`or start the container with --cap-add=NET_ADMIN --cap-add=NET_RAW`

func errMissingProgram(name string, err error) error {
	return diag.WithHint(fmt.Errorf("%w: %s: %w", ErrMissingProgram, name, err),
		"install the package iptables in the image (it is in the claude-sandbox image)")
}

// checkCapability looks at the thread's own capabilities, because the programs'
// messages for a missing one differ and often blame a module.
func checkCapability(number int, name, why string) error {
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return fmt.Errorf("reading the capabilities: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		text, ok := strings.CutPrefix(line, "CapEff:")
		if !ok {
			continue
		}
		set, err := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
		if err != nil {
			return fmt.Errorf("reading the capabilities: %w", err)
		}
		if set&(1<<number) == 0 {
			return diag.WithHint(fmt.Errorf("%w: %s, %s", ErrMissingCapability, name, why), "%s", capabilityHint)
		}
		return nil
	}
	return errors.New("reading the capabilities: /proc/thread-self/status has no CapEff line")
}

// toolError turns what a restore or save program printed into a named error.
// This is the only place that reads such text; the programs do not translate
// it.
func toolError(program, stderr string, err error) error {
	text := strings.TrimSpace(stderr)
	if text == "" {
		return fmt.Errorf("%s: %w", program, err)
	}
	first, _, _ := strings.Cut(text, "\n")
	switch {
	case strings.Contains(text, "Permission denied"), strings.Contains(text, "Operation not permitted"),
		strings.Contains(text, "you must be root"):
		return diag.WithHint(fmt.Errorf("%w: %s: %s", ErrMissingCapability, program, first), "%s", capabilityHint)
	case strings.Contains(text, "missing kernel module"), strings.Contains(text, "Table does not exist"),
		strings.Contains(text, "can't initialize"), strings.Contains(text, "not supported"):
		return diag.WithHint(fmt.Errorf("%w: %s: %s", ErrMissingModule, program, first),
			"on the machine that runs the container: modprobe -a ip_tables ip6_tables nf_tables nf_conntrack "+
				"xt_owner xt_mark xt_set ip_set_hash_ipport ip_set_hash_netport")
	}
	return fmt.Errorf("%s: %s", program, first)
}

func errSets(what string, err error) error {
	switch {
	case errors.Is(err, unix.EPERM):
		return diag.WithHint(fmt.Errorf("%s: %w: %w", what, ErrMissingCapability, err), "%s", capabilityHint)
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOENT), errors.Is(err, unix.EINVAL):
		return diag.WithHint(fmt.Errorf("%s: %w: %w", what, ErrMissingModule, err),
			"on the machine that runs the container: modprobe -a ip_set xt_set ip_set_hash_ipport ip_set_hash_netport")
	}
	return fmt.Errorf("%s: %w", what, err)
}

// worst picks the failure that says most: a backend that is not installed
// matters only when none is.
func worst(failures []error) error {
	for _, err := range failures {
		if !errors.Is(err, ErrMissingProgram) {
			return fmt.Errorf("opening the packet filter: %w", err)
		}
	}
	return fmt.Errorf("opening the packet filter: %w", failures[0])
}
