//go:build !linux

package resolver

import (
	"errors"
	"net"
	"net/netip"
)

// batch is there for Linux only, where sandboxes are.
type batch struct{}

type client struct{}

func newBatch(*net.UDPConn) (*batch, error) { return nil, errors.ErrUnsupported }
func (*batch) close()                       {}
func (*batch) stop()                        {}
func (*batch) read() (int, error)           { return 0, errors.ErrUnsupported }
func (*batch) dropped() int                 { return 0 }
func (*batch) got(int) []byte               { return nil }
func (*batch) client(int) client            { return client{} }
func (*batch) answer(int, []byte)           {}
func (*batch) send()                        {}
func (*batch) sendTo(*client, []byte)       {}
func (*client) addrPort() netip.AddrPort    { return netip.AddrPort{} }
