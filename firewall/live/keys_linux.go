package live

import (
	"errors"
	"net"

	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/firewall/relay"
)

// ownKeys are keys that this process holds itself. They take the same way as those of
// another process: its end of the tunnel is here, too.
type ownKeys struct {
	keys    *credential.Keys
	server  *relay.KeyServer
	process *relay.KeysProcess
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
