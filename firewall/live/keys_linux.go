package live

import (
	"errors"
	"fmt"
	"net"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/firewall/relay"
)

// ownKeys are keys that this process holds itself. They take the same way as those of
// another process: its end of the tunnel is here, too.
type ownKeys struct {
	keys    *credential.Keys
	server  *relay.KeyServer
	process *relay.KeysProcess
}

// givenKeys are keys of another process.
type givenKeys struct {
	process *relay.KeysProcess // nil = it has not connected
}

// TakeKeys makes ready for a process that has keys for hosts. The caller gives take the
// connection to it, once: from then on requests to these hosts go by that process alone. It
// errs where the firewall is not in force, or not closed by default. When it becomes so, the
// connection is closed, and requests go without a key from then on.
func (f *Firewall) TakeKeys(hosts []operation.Host) (take func(net.Conn), err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.servers
	s.mu.Lock()
	defer s.mu.Unlock()
	switch mode := f.now.policy.Mode(); {
	case f.drift.broken != nil:
		return nil, errors.New("this firewall is not in force, so no request can have a key")
	case mode != firewall.ModeAllowlist:
		return nil, fmt.Errorf("the network's mode is %s: keys go only through a firewall that is closed by default", mode)
	case s.relay == nil:
		return nil, errors.New("this firewall opens no host's TLS, so no request can have a key")
	case s.own != nil:
		return nil, errors.New("this firewall holds keys itself")
	case s.keyed:
		return nil, errors.New("a process has given its keys already")
	}
	given := &givenKeys{}
	s.keyed, s.given = true, given
	return func(stream net.Conn) {
		process := relay.NewKeysProcess(stream, hosts)
		s.mu.Lock()
		in := s.given == given // they were not dropped meanwhile
		if in {
			given.process = process
			s.relay.SetKeysProcess(process)
		}
		s.mu.Unlock()
		if !in {
			_ = process.Close()
			return
		}
		_ = process.Announce() // one that is gone has no use for it
	}, nil
}

// dropGivenKeys takes the keys of another process away from requests, for good. Requests
// that have one are broken off.
func (s *servers) dropGivenKeys() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.given == nil {
		return
	}
	if s.given.process != nil {
		s.relay.SetKeysProcess(nil)
		_ = s.given.process.Close()
	}
	s.given = nil
}

// dropKeysBut takes the keys away from requests, but for keys that stay. Requests that
// have one are broken off.
func (s *servers) dropKeysBut(keys *credential.Keys) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own == nil || s.own.keys == keys {
		return
	}
	s.relay.SetKeysProcess(nil)
	_ = s.own.process.Close()
	_ = s.own.server.Close()
	s.own = nil
}

// holdKeys has keys go with the requests of their entries. Other keys were dropped before.
func (s *servers) holdKeys(keys *credential.Keys) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case keys == nil || s.own != nil:
		return nil
	case s.relay == nil:
		return errors.New("this firewall opens no host's TLS, so no request can have a key")
	case s.keyed:
		return errors.New("another process has given its keys already")
	}
	inside, outside := net.Pipe()
	own := &ownKeys{keys: keys, server: relay.NewKeyServer(keys, relay.SystemRoots, s.tally.Note)}
	go own.server.Serve(outside)
	own.process = relay.NewKeysProcess(inside, keys.Hosts())
	s.relay.SetKeysProcess(own.process)
	s.own = own
	return nil
}

// uses returns what each of the keys in force has done since the start.
func (s *servers) uses() []credential.Use {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own == nil {
		return nil
	}
	return s.tally.Uses(s.own.keys.Bindings(), func(operation string) string { return operation })
}
