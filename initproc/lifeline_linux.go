package initproc

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/lifeline"
	"github.com/org/claude-sandbox/internal/peercred"
)

// lifelineSocket is where the agent's container joins the firewall's, in topology
// sidecar: both end when the run's supervisor is gone or the run's time is over.
// The firewall's first process hears the supervisor on its standard input, and
// the first process of the agent's container holds a connection to the
// firewall's, which ends with it.
//
// The command of the agent's container begins when the supervisor says so, see
// lifeline.Begin: the firewall's process passes that on.
//
// The agent can touch nothing of this. Its user can neither trace nor end the two
// processes, and the connection has no name once it is there: the firewall
// listens before anything of the agent's can run, takes one connection and closes
// the listener, and the agent's first process connects before it starts the
// command.
const lifelineSocket = "@sbx-init/lifeline"

// errDeadline says that the supervisor should have ended the agent by now.
var errDeadline = errors.New("the run's time is over, and its supervisor has not ended it")

// Lifeline is the firewall's end.
type Lifeline struct {
	listener *net.UnixListener
	limit    time.Duration
}

// ListenLifeline begins to listen for the agent's container. limit is the time
// that it has, from when it joins; 0 = no limit.
func ListenLifeline(limit time.Duration) (*Lifeline, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: lifelineSocket, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("opening the socket by which the agent's container lives: %w", err)
	}
	return &Lifeline{l, limit}, nil
}

// Await returns when the stream supervisor is over or silent, see package
// lifeline, or the time is over. The agent's container ends by it, too.
func (l *Lifeline) Await(supervisor io.Reader) error {
	joined := make(chan *net.UnixConn, 1)
	go func() {
		defer close(joined)
		conn, err := l.listener.AcceptUnix()
		_ = l.listener.Close()
		if err == nil {
			joined <- conn
		}
	}()
	gone, begin := make(chan error, 1), make(chan struct{}, 1)
	go func() {
		gone <- lifeline.Await(supervisor, lifeline.Silence, func() {
			select {
			case begin <- struct{}{}:
			default: // it was said before
			}
		})
	}()
	var agent *net.UnixConn
	err := func() error {
		select {
		case agent = <-joined: // nil = none will come
		case err := <-gone:
			return err
		}
		var over <-chan time.Time
		if agent != nil && l.limit > 0 {
			over = time.After(l.limit)
		}
		for {
			select {
			case err := <-gone:
				return err
			case <-over:
				return errDeadline
			case <-begin:
				if agent != nil {
					_, _ = agent.Write([]byte{lifeline.Begin}) // fails when the container has ended
				}
			}
		}
	}()
	_ = l.listener.Close()
	if agent == nil { // it may have joined at this very moment
		agent = <-joined
	}
	if agent != nil {
		_ = agent.Close()
	}
	return err
}

// errFirewallEnded is why a container ends that joined another one's life.
var errFirewallEnded = errors.New("the firewall's process has ended this container: " +
	"it ended itself, the run's supervisor is gone, or the run's time is over")

// JoinLifeline connects the agent's container to the firewall's and waits until the
// run's supervisor lets the command begin. The returned await waits until the
// firewall's process has ended or wants us to end.
func JoinLifeline() (await func() error, err error) {
	fail := func(err error) (func() error, error) {
		return nil, diag.WithHint(fmt.Errorf("tying this container's life to the firewall's: %w", err),
			"--lifeline needs the network of a container that runs 'sbx-init run --sidecar --lifeline'")
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: lifelineSocket, Net: "unix"})
	if err != nil {
		return fail(err)
	}
	if uid, err := peercred.UID(conn); err != nil || uid != 0 {
		_ = conn.Close()
		return fail(errors.Join(fmt.Errorf("user %d listens there, not root", uid), err))
	}
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		_ = conn.Close()
		return nil, errFirewallEnded
	}
	return func() error {
		_, _ = io.Copy(io.Discard, conn) // nothing comes but the end
		return errFirewallEnded
	}, nil
}
