package kernel

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
)

// maxTimeout is the longest time that ipset accepts, in seconds
// (ipset(8), "timeout": 2147483 seconds).
const maxTimeout = 2147483

// Allow opens the ports of a learned address for new connections during
// timeout, rounded up to whole seconds. An address that is there already gets
// the new time. It errs when the sets are not there yet, that is before Apply
// of a plan with sets, and with ErrFull. Safe for concurrent use.
func (k *Kernel) Allow(addr netip.Addr, ports []firewall.Port, timeout time.Duration) error {
	if timeout <= 0 {
		return fmt.Errorf("allowing %s: a timeout of %s would never end", addr, timeout)
	}
	name, elements := learnedElements(addr, ports, uint32(min((timeout+time.Second-1)/time.Second, maxTimeout)))
	err := k.adder.addElements(name, elements)
	if errors.Is(err, setFull) {
		err = ErrFull
	}
	if err != nil {
		return fmt.Errorf("allowing %s ports %v in set %s: %w", addr, ports, name, err)
	}
	return nil
}

// Forget closes the ports of a learned address that Allow opened, for new
// connections. It errs when they are not open. Safe for concurrent use.
func (k *Kernel) Forget(addr netip.Addr, ports []firewall.Port) error {
	name, elements := learnedElements(addr, ports, 0)
	if err := k.adder.removeElements(name, elements); err != nil {
		return fmt.Errorf("closing %s ports %v in set %s: %w", addr, ports, name, err)
	}
	return nil
}

// learnedElements returns the ports of a learned address as elements, and the set that has them.
func learnedElements(addr netip.Addr, ports []firewall.Port, seconds uint32) (set string, elements []element) {
	addr = addr.Unmap().WithZone("")
	set = firewall.SetName4
	if addr.Is6() {
		set = firewall.SetName6
	}
	elements = make([]element, len(ports))
	for i, port := range ports {
		elements[i] = element{firewall.SetEntry{Prefix: netip.PrefixFrom(addr, addr.BitLen()), Port: port}, seconds}
	}
	return set, elements
}

// makeSets makes the sets and brings those without a timeout to exactly the
// plan's entries, adding before removing. Learned addresses stay.
func (k *Kernel) makeSets(sets []firewall.Set) error {
	for _, s := range sets {
		if err := k.makeSet(s); err != nil {
			return err
		}
		if s.Timeout == 0 {
			if err := k.fillSet(s); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *Kernel) makeSet(s firewall.Set) error {
	opts := netlink.IpsetCreateOptions{Replace: true, Family: unix.AF_INET}
	if s.IPv6 {
		opts.Family = unix.AF_INET6
	}
	if s.Timeout > 0 {
		opts.Timeout = &s.Timeout
	}
	if err := k.sets.IpsetCreate(s.Name, s.Type, opts); err != nil {
		return errSets("making the set "+s.Name, err)
	}
	return nil
}

func (k *Kernel) fillSet(s firewall.Set) error {
	stale := map[firewall.SetEntry]bool{}
	if _, err := k.lister.listSet(s.Name, func(e firewall.SetEntry) { stale[e] = true }); err != nil {
		return errSets("listing the set "+s.Name, err)
	}
	var missing []element
	for _, e := range s.Entries {
		if stale[e] {
			delete(stale, e)
			continue
		}
		missing = append(missing, element{SetEntry: e})
	}
	if err := k.adder.addElements(s.Name, missing); err != nil {
		return fmt.Errorf("adding %d entries to the set %s: %w", len(missing), s.Name, err)
	}
	var gone []element
	for e := range stale {
		gone = append(gone, element{SetEntry: e})
	}
	if err := k.adder.removeElements(s.Name, gone); err != nil {
		return fmt.Errorf("removing %d entries from the set %s: %w", len(gone), s.Name, err)
	}
	return nil
}

// haveSet errs unless the set exists as the plan wants it.
func (k *Kernel) haveSet(s firewall.Set) error {
	have := map[firewall.SetEntry]bool{}
	each := func(e firewall.SetEntry) { have[e] = true }
	if s.Timeout > 0 {
		each = nil // what it holds comes and goes
	}
	typeName, err := k.lister.listSet(s.Name, each)
	if err != nil {
		if errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("the set %s is missing", s.Name)
		}
		return errSets("listing the set "+s.Name, err)
	}
	if typeName != s.Type {
		return fmt.Errorf("the set %s is of type %s, not %s", s.Name, typeName, s.Type)
	}
	var differences []error
	for _, e := range s.Entries {
		if !have[e] {
			differences = append(differences, fmt.Errorf("the set %s lacks %s", s.Name, e))
		}
		delete(have, e)
	}
	for e := range have {
		differences = append(differences, fmt.Errorf("the set %s holds %s, which is not in the plan", s.Name, e))
	}
	return errors.Join(differences...)
}
