package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// canaryTime bounds the wait for an answer. A refusal comes at once; a dropped packet
// has no answer.
const canaryTime = 2 * time.Second

// canary tries to bring a word to an address that the policy refuses, as the user whose
// process it is.
func (p *program) canary(args []string) error {
	fs := newFlags("canary")
	rest, err := parseFlags(fs, args)
	if err != nil {
		return err
	}
	if len(rest) != 2 {
		return usageError("canary takes an address with its port, and a word")
	}
	to, err := netip.ParseAddrPort(rest[0])
	if err != nil {
		return usageError("canary: %q is no address with a port", rest[0])
	}
	conn, err := net.DialTimeout("tcp", to.String(), canaryTime)
	if err != nil {
		fmt.Fprintf(p.stderr, "sbx-init: as it should be: %v\n", err)
		return nil // refused, or no answer
	}
	_, _ = conn.Write([]byte(rest[1])) // it is judged where it arrives
	_ = conn.Close()
	return exitWith(exitDiffers, errors.New("a connection came about"))
}
