package sandbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// Canaries are what a run proved of its firewall while it went on. Each one compares the
// kernel's rules with the policy, sends packets that the policy refuses, and tries as the
// agent's user to reach a listener of this process.
type Canaries struct {
	Tried    int    `json:"tried"`            // that were tried
	Listener bool   `json:"listener"`         // there was a listener that none may reach
	Broken   string `json:"broken,omitempty"` // why the first one did not hold; "" = all held
}

// Pauses between two canaries, and the time for one.
const (
	canaryPauseMin = 10 * time.Second
	canaryPauseMax = 40 * time.Second
	canaryTime     = 15 * time.Second
)

// canaries tries them for one run. Its methods are those of one goroutine.
type canaries struct {
	engine   *engine.Engine
	sidecar  string // the firewall's container
	user     string // the agent's, UID:GID
	result   *Canaries
	word     string
	listener net.Listener // nil = none could be opened
	arrived  atomic.Bool  // the word, at the listener
	broken   chan error   // one tells that a canary did not hold
	begun    func()       // called whenever the engine has taken a command; nil = nothing waits for that
}

// news tells of a canary that did not hold.
func (c *canaries) news() <-chan error {
	if c == nil {
		return nil
	}
	return c.broken
}

// newCanaries opens the listener; nil for a run that asks for no canaries. The firewall's
// container has started.
func newCanaries(ctx context.Context, e *engine.Engine, p *runplan.Plan, sidecar string) *canaries {
	if !p.Asked.Canaries {
		return nil
	}
	uid, gid := p.AgentUser()
	c := &canaries{engine: e, sidecar: sidecar, user: fmt.Sprintf("%d:%d", uid, gid), result: &Canaries{}, word: rand.Text(),
		broken: make(chan error, 1)}
	gateways, err := e.Gateways(ctx, sidecar)
	if err != nil { // then there is no address to listen at
		return c
	}
	for _, addr := range gateways {
		l, err := net.Listen("tcp", netip.AddrPortFrom(addr, 0).String())
		if err != nil {
			continue // of an engine whose network is not this machine's
		}
		if p.Policy.Decide("", addr, c.port(l), firewall.TCP).Allowed() {
			_ = l.Close()
			continue
		}
		c.listener, c.result.Listener = l, true
		go c.listen()
		break
	}
	return c
}

func (c *canaries) port(l net.Listener) uint16 { return l.Addr().(*net.TCPAddr).AddrPort().Port() }

// isOurs reports whether a record of the firewall is about a canary. It stays in the log, and
// is nothing that the agent did.
func (c *canaries) isOurs(r audit.Record) bool {
	if c == nil || c.listener == nil {
		return false
	}
	at := c.listener.Addr().(*net.TCPAddr).AddrPort()
	return r.Dst == at.Addr().Unmap().String() && r.Port == at.Port()
}

// listen takes connections, and believes the word alone: whoever shares the network could
// connect.
func (c *canaries) listen() {
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return
		}
		_ = conn.SetDeadline(time.Now().Add(time.Second))
		said := make([]byte, len(c.word))
		if _, err := io.ReadFull(conn, said); err == nil && string(said) == c.word {
			c.arrived.Store(true)
		}
		_ = conn.Close()
	}
}

// close ends the listener.
func (c *canaries) close() {
	if c != nil && c.listener != nil {
		_ = c.listener.Close()
	}
}

// try tries one and returns why it did not hold. A canary that cannot be tried did not.
func (c *canaries) try(ctx context.Context, when string) error {
	if c == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, canaryTime)
	defer cancel()
	var reached, differs error
	var both sync.WaitGroup
	both.Go(func() { reached = c.reach(ctx) })
	both.Go(func() { differs = c.compared(ctx) })
	both.Wait()
	if err := errors.Join(reached, differs); err != nil {
		return fmt.Errorf("%w: the canary %s: %w", ErrUnenforced, when, err)
	}
	return nil
}

// commands is how many commands one canary runs.
func (c *canaries) commands() int {
	if c.listener == nil {
		return 1
	}
	return 2
}

// reach tries as the agent's user to reach the listener.
func (c *canaries) reach(ctx context.Context) error {
	if c.listener == nil {
		return nil
	}
	_, err := c.inside(ctx, c.user, "canary", c.listener.Addr().String(), c.word)
	if c.arrived.Load() {
		err = errors.Join(err, errors.New("a connection arrived that the policy refuses"))
	}
	return err
}

// compared errs when the kernel differs from the policy, and when rules were changed since the
// start: the firewall restores them within seconds, and what went out meanwhile did.
func (c *canaries) compared(ctx context.Context) error {
	said, err := c.inside(ctx, "", "verify", "--json") // as root
	if err != nil {
		return err
	}
	var status struct {
		Drift struct {
			Restored int `json:"restored"`
		} `json:"drift"`
	}
	if err := json.Unmarshal(said, &status); err != nil {
		return fmt.Errorf("reading the firewall's status: %w", err)
	}
	if n := status.Drift.Restored; n > 0 {
		return fmt.Errorf("%w: its rules were changed from outside, and restored %d times", errNotHeld, n)
	}
	return nil
}

// note adds one to the result; err is why it did not hold.
func (c *canaries) note(err error) error {
	if c == nil {
		return err
	}
	c.result.Tried++
	if err != nil && c.result.Broken == "" {
		c.result.Broken = visible.Line(err.Error())
	}
	return err
}

// errNotHeld says that something went out, or that the kernel differs from the policy.
var errNotHeld = errors.New("the firewall did not hold")

// insideTries is how often a command begins that could not be run at all.
const insideTries = 3

// inside runs a command of sbx-init as a user in the firewall's container.
func (c *canaries) inside(ctx context.Context, user string, args ...string) (said []byte, err error) {
	for range insideTries {
		if said, err = c.once(ctx, user, args); err == nil || errors.Is(err, errNotHeld) || ctx.Err() != nil {
			return said, err
		}
	}
	return nil, err
}

func (c *canaries) once(ctx context.Context, user string, args []string) ([]byte, error) {
	spec := engine.ExecSpec{Command: append([]string{runplan.InitPath}, args...), User: user, WorkingDir: "/", Begun: c.begun}
	var said bytes.Buffer
	problem := newTail()
	code, err := c.engine.Run(ctx, c.sidecar, spec, nil, &said, problem)
	if err == nil && code == 1 {
		return nil, fmt.Errorf("%w: %.500s", errNotHeld, strings.TrimSpace(problem.String()))
	}
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d: %.500s", code, strings.TrimSpace(problem.String()))
	}
	if err != nil {
		return nil, fmt.Errorf("sbx-init %s: %w", args[0], err)
	}
	return said.Bytes(), nil
}

// watch tries canaries at random moments, until ctx ends or one does not hold.
// How many held comes over the channel at its end.
func (c *canaries) watch(ctx context.Context) <-chan int {
	held := make(chan int, 1)
	go func() {
		n := 0
		defer func() { held <- n }()
		for c != nil {
			pause := canaryPauseMin + mathrand.N(canaryPauseMax-canaryPauseMin)
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			err := c.try(ctx, "while the agent ran")
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				c.broken <- err
				return
			}
			n++
		}
	}()
	return held
}

// last tries one after the agent's end, unless the firewall is gone or somebody waits for the
// run's end. held is how many held while the agent ran. It returns when the engine has taken
// its commands; what they prove comes over the channel, so that other work can be done meanwhile.
func (c *canaries) last(ctx context.Context, held int, ended agent.End, gone bool) <-chan error {
	proved := make(chan error, 1)
	if c == nil {
		proved <- nil
		return proved
	}
	c.result.Tried += held
	select {
	case err := <-c.broken: // in the moment in which the agent ended
		proved <- c.note(err)
		return proved
	default:
	}
	if gone || ended == agent.EndedCancel || c.result.Broken != "" {
		proved <- nil
		return proved
	}
	begun, done := make(chan struct{}, 2*insideTries), make(chan struct{})
	c.begun = func() { begun <- struct{}{} }
	go func() {
		defer close(done)
		proved <- c.note(c.try(context.WithoutCancel(ctx), "after the agent's end"))
	}()
	// The engine takes no command for a container while it reads files of it.
	for range c.commands() {
		select {
		case <-begun:
		case <-done:
		}
	}
	return proved
}
