package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/excerpt"
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
	visit    *standing // tries as the agent's user to reach the listener; nil = there is none
	verify   *standing // compares, as root
	result   *Canaries
	word     string
	listener net.Listener // nil = none could be opened
	arrived  atomic.Bool  // the word, at the listener
	broken   chan error   // one tells that a canary did not hold
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
	verify := newStanding(e, sidecar, "", "verify", "--json")
	c := &canaries{verify: verify, result: &Canaries{}, word: rand.Text(), broken: make(chan error, 1)}
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
		c.visit = newStanding(e, sidecar, fmt.Sprintf("%d:%d", uid, gid), "canary", l.Addr().String(), c.word)
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

// commands are those of a canary that there are.
func (c *canaries) commands() []*standing {
	return slices.DeleteFunc([]*standing{c.visit, c.verify}, func(s *standing) bool { return s == nil })
}

// prepare makes the commands wait in the container, for the first canary.
func (c *canaries) prepare(ctx context.Context) {
	if c == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, canaryTime)
	defer cancel()
	var all sync.WaitGroup
	for _, command := range c.commands() {
		all.Go(func() { command.prepare(ctx) })
	}
	all.Wait()
}

// close ends the commands and the listener.
func (c *canaries) close() {
	if c == nil {
		return
	}
	for _, command := range c.commands() {
		command.close()
	}
	if c.listener != nil {
		_ = c.listener.Close()
	}
}

// try tries one and returns why it did not hold. A canary that cannot be tried did not; one
// that the run's own end breaks off says nothing, and returns what ended the run.
func (c *canaries) try(run context.Context, when string) error {
	if c == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(run, canaryTime)
	defer cancel()
	var reached, differs error
	var both sync.WaitGroup
	both.Go(func() { reached = c.reach(ctx) })
	both.Go(func() { differs = c.compared(ctx) })
	both.Wait()
	switch err := errors.Join(reached, differs); {
	case err == nil:
		return nil
	case run.Err() != nil && !errors.Is(err, errNotHeld):
		return context.Cause(run)
	default:
		return fmt.Errorf("%w: the canary %s: %w", ErrUnenforced, when, err)
	}
}

// reach tries as the agent's user to reach the listener.
func (c *canaries) reach(ctx context.Context) error {
	if c.listener == nil {
		return nil
	}
	_, err := c.visit.run(ctx)
	if c.arrived.Load() {
		err = errors.Join(err, fmt.Errorf("%w: a connection arrived that the policy refuses", errNotHeld))
	}
	return err
}

// compared errs when the kernel differs from the policy, and when rules were changed since the
// start: the firewall restores them within seconds, and what went out meanwhile did.
func (c *canaries) compared(ctx context.Context) error {
	said, err := c.verify.run(ctx)
	if err != nil {
		return err
	}
	var status struct {
		Drift struct {
			Restored int `json:"restored"`
		} `json:"drift"`
	}
	if err := json.Unmarshal([]byte(said), &status); err != nil {
		return fmt.Errorf("reading the firewall's status: %w", err)
	}
	if n := status.Drift.Restored; n > 0 {
		return fmt.Errorf("%w: its rules were changed from outside, and restored %d times", errNotHeld, n)
	}
	return nil
}

// note adds one to the result, unless it was broken off; err is what try returned.
func (c *canaries) note(err error) error {
	if c == nil || err != nil && !errors.Is(err, ErrUnenforced) {
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

// standing is a command of sbx-init that waits in the firewall's container until it is told to
// run, any number of times. It is safe for concurrent use.
type standing struct {
	engine    *engine.Engine
	container string
	spec      engine.ExecSpec

	one     sync.Mutex         // held by each method
	conn    io.ReadWriteCloser // nil = it does not wait now
	answers *json.Decoder
	problem *excerpt.Tail
}

func newStanding(e *engine.Engine, container, user string, command ...string) *standing {
	spec := engine.ExecSpec{Command: append([]string{runplan.InitPath, "each"}, command...), User: user, WorkingDir: "/", Stdin: true}
	return &standing{engine: e, container: container, spec: spec}
}

// prepare makes it wait. A failure is that of the next run.
func (s *standing) prepare(ctx context.Context) {
	s.one.Lock()
	defer s.one.Unlock()
	_ = s.open(ctx)
}

// open makes it wait, unless it does.
func (s *standing) open(ctx context.Context) error {
	if s.conn != nil {
		return nil
	}
	stream, err := s.engine.Exec(ctx, s.container, s.spec)
	if err != nil {
		return err
	}
	s.problem = newTail()
	s.conn = stream.Conn(s.problem)
	s.answers = json.NewDecoder(s.conn)
	return nil
}

// close ends it.
func (s *standing) close() {
	s.one.Lock()
	defer s.one.Unlock()
	s.drop()
}

func (s *standing) drop() {
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
}

// runTries is how often a command begins that could not be run at all.
const runTries = 3

// run runs the command once and returns its output. errNotHeld is its exit code 1.
func (s *standing) run(ctx context.Context) (said string, err error) {
	s.one.Lock()
	defer s.one.Unlock()
	for range runTries {
		if said, err = s.once(ctx); err == nil || errors.Is(err, errNotHeld) || ctx.Err() != nil {
			break
		}
		s.drop() // such as after a restart of the engine; the next one is another process
	}
	if err != nil {
		return "", fmt.Errorf("sbx-init %s: %w", s.spec.Command[2], err)
	}
	return said, nil
}

func (s *standing) once(ctx context.Context) (string, error) {
	if err := s.open(ctx); err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, func() { _ = s.conn.Close() })()
	var answer struct {
		Code   int    `json:"code"`
		Stdout string `json:"stdout"`
		Stderr string `json:"stderr"`
	}
	_, err := s.conn.Write([]byte("\n"))
	if err == nil {
		err = s.answers.Decode(&answer)
	}
	switch said := strings.TrimSpace(answer.Stderr); {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", fmt.Errorf("%w: %.500s", err, strings.TrimSpace(s.problem.String()))
	case answer.Code == 1:
		return "", fmt.Errorf("%w: %.500s", errNotHeld, said)
	case answer.Code != 0:
		return "", fmt.Errorf("exit code %d: %.500s", answer.Code, said)
	}
	return answer.Stdout, nil
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
// run's end. held is how many held while the agent ran. The channel gets why the last one did
// not hold, so that other work can be done meanwhile.
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
	go func() { proved <- c.note(c.try(context.WithoutCancel(ctx), "after the agent's end")) }()
	return proved
}
