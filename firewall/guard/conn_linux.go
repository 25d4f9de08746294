package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// conn is one client's connection.
type conn struct {
	server   *Server
	cancel   func() // resets both sides
	client   stream
	dst      netip.AddrPort // what the client chose; once connected, where its bytes go
	layer    audit.Layer
	sites    []site       // that were admitted, each name once; written by Server.admit
	opened   bool         // the relay carries it; written by Server.admit
	upstream *net.TCPConn // written by Server.connected

	byAddress bool // it is open whatever it asks for, see openByAddress; set before Server.admit

	// relayed are the relay's connections to the site and where each leads;
	// written by Server.join and Server.leave.
	relayed   map[*net.TCPConn]netip.AddrPort
	release   func() bool  // stops watching the context for upstream
	backward  <-chan error // how the flow of an HTTP server's replies ended; nil before it begins
	largeHead bool         // it has a place among Server.largeHeads
	holdEnd   atomic.Bool  // the server's end is not passed on, because words of ours follow
}

// refusal is a decision against a connection. It is an error so that readers
// of requests can return it.
type refusal struct {
	name  string // canonical; "" when there is none
	rule  string // ruleGuard when the guard decided and no entry
	why   string
	fix   string // the entry that would allow it; "" when no entry can
	alert byte   // for TLS
}

func (r *refusal) Error() string { return r.why }

// ruleGuard is the rule of what the guard refuses whatever the lists say.
const ruleGuard = "guard: sni"

// TLS alerts (RFC 8446 section 6). A refusal by policy is "access denied", which
// every client prints: "unrecognized name" would look like the site's mistake.
const (
	alertIllegalParameter = 47
	alertDecodeError      = 50
	alertAccessDenied     = 49
	alertUnrecognizedName = 112
)

// errGone means that one side ended the connection, so that a refusal
// would reach no program.
var errGone = errors.New("the connection is over")

// serve judges one connection and carries it to its end.
func (s *Server) serve(ctx context.Context, client *net.TCPConn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &conn{server: s, cancel: cancel, client: stream{TCPConn: client}, layer: audit.LayerHTTP}
	stop := context.AfterFunc(ctx, func() { reset(client) })
	defer stop()
	defer client.Close()
	defer s.forget(c)
	defer c.settle()

	var err error
	if c.dst, err = s.opts.Destination(client); err != nil {
		reset(client) // no redirected connection, or the kernel lost it
		return
	}
	c.dst = unmap(c.dst)
	c.layer = usualLayer(c.dst.Port())
	_ = client.SetWriteBuffer(localBuffer) // only a matter of speed
	err = c.serveAny(ctx)
	var no *refusal
	switch {
	case err == nil:
	case errors.As(err, &no):
		// A refusal that cannot be recorded is a refusal still.
		_ = c.record(firewall.Decision{Verdict: firewall.Deny, Rule: no.rule, Reason: no.why}, no.name)
		c.tell(no)
	default:
		reset(client)
	}
	if c.upstream != nil {
		c.release()
		if err != nil {
			reset(c.upstream)
		}
		c.upstream.Close()
	}
}

// localBuffer is what the kernel keeps of the bytes for a client, in bytes; it
// doubles the number. The client is on this machine, so that no more is ever
// under way, and what fits the processor's cache moves nearly twice as fast.
const localBuffer = 128 << 10

// usualLayer is what is expected at a port, for what turns out to be neither.
func usualLayer(port uint16) audit.Layer {
	if port == 443 {
		return audit.LayerSNI
	}
	return audit.LayerHTTP
}

// serveAny finds out what the client speaks.
func (c *conn) serveAny(ctx context.Context) error {
	if err := c.awaitWords(); err != nil {
		return err
	}
	if err := c.client.fill(); err != nil {
		return c.unfinished(err, "the connection")
	}
	switch first := c.client.buf[:1]; {
	case first[0] == recordHandshake:
		c.layer = audit.LayerSNI
		return c.serveTLS(ctx)
	case c.openByAddress():
		return c.serveAddress(ctx, "")
	case isToken(string(first)):
		c.layer = audit.LayerHTTP
		return c.serveHTTP(ctx)
	}
	return &refusal{rule: ruleGuard, why: errNoHTTP.Error(), alert: alertDecodeError}
}

// awaitWords bounds the time until the client has said where it wants to go.
func (c *conn) awaitWords() error {
	return c.client.SetReadDeadline(time.Now().Add(c.server.opts.Timeout))
}

// Most clients have said where they want to go with usualHead bytes. Those that
// take more must be read, and are up to 64 KiB and the copies that reading takes,
// so that only maxLargeHeads of them are listened to at a time.
const (
	usualHead     = 4 << 10
	maxLargeHeads = 256
)

// more reads more of what the client says before it is passed on.
func (c *conn) more() error {
	if len(c.client.buf) >= usualHead && !c.largeHead {
		select {
		case c.server.largeHeads <- struct{}{}:
			c.largeHead = true
		default:
			why := fmt.Sprintf("%d connections have a first message of more than %d bytes at this moment, which is the guard's limit",
				maxLargeHeads, usualHead)
			return &refusal{rule: ruleGuard, why: why, alert: alertAccessDenied}
		}
	}
	return c.client.fill()
}

// settle gives back the place of a client whose first message was large.
func (c *conn) settle() {
	if c.largeHead {
		<-c.server.largeHeads
		c.largeHead = false
	}
}

// unfinished says why what did not come whole: a client that is too slow, or
// waits for the server to speak first, is told; one that left is not.
func (c *conn) unfinished(err error, what string) error {
	var no *refusal
	if errors.As(err, &no) {
		return err
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return errGone
	}
	return &refusal{rule: ruleGuard, why: fmt.Sprintf("%s named no site within %s", what, c.server.opts.Timeout), alert: alertAccessDenied}
}

func (c *conn) record(d firewall.Decision, name string) error {
	return c.server.opts.Record(audit.Record{
		Verdict: d.Verdict, Layer: c.layer, Name: name, Dst: c.dst.Addr().String(), Port: c.dst.Port(), Proto: firewall.TCP,
		Rule: d.Rule, Reason: d.Reason, Src: c.source(), SrcProto: firewall.TCP,
	})
}

// source is the client's own address.
func (c *conn) source() netip.AddrPort {
	a, ok := c.client.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	return a.AddrPort()
}

// maxNames bounds the names of a kept connection, all of which are held against a
// new policy.
const maxNames = 32

// judge decides whether the connection may speak to name. It returns the
// addresses that it may be passed on to, the one that the client chose first.
// A name that was judged before on this connection is judged again, for its
// address may be another's by now, but recorded once.
func (c *conn) judge(ctx context.Context, name string) ([]netip.Addr, error) {
	if c.isForGuard() {
		return nil, &refusal{name: name, rule: ruleGuard, why: "the guard is no proxy: connect to the address of " + name,
			alert: alertAccessDenied}
	}
	d := c.server.inForce().Decide(name, c.dst.Addr(), c.dst.Port(), firewall.TCP)
	if !d.Allowed() {
		return nil, c.unlisted(name, d)
	}
	addrs, chosen := c.addresses(ctx, name)
	if !chosen {
		return nil, &refusal{name: name, rule: ruleGuard, why: fmt.Sprintf("%s is not an address of %s", c.dst.Addr(), name),
			alert: alertAccessDenied}
	}
	known := c.siteIndex(name) >= 0
	if !known && len(c.sites) == maxNames {
		return nil, &refusal{name: name, rule: ruleGuard, why: fmt.Sprintf("the connection has been for %d names already", maxNames)}
	}
	if d := c.server.admit(c, site{name, c.server.opts.Names.Aliases(name)}); !d.Allowed() {
		return nil, c.unlisted(name, d)
	}
	if !known {
		if err := c.record(d, name); err != nil {
			return nil, &refusal{name: name, rule: ruleGuard, why: "the decision could not be recorded", alert: alertAccessDenied}
		}
	}
	return addrs, nil
}

// isForGuard reports whether the client connected to the guard itself, and was not led to it.
func (c *conn) isForGuard() bool {
	local, ok := c.client.LocalAddr().(*net.TCPAddr)
	return ok && c.dst == unmap(local.AddrPort())
}

// addresses returns the addresses of name that the policy allows. chosen says that
// the one which the client chose is among them; it is the first one then.
func (c *conn) addresses(ctx context.Context, name string) (addrs []netip.Addr, chosen bool) {
	addrs = c.server.opts.Names.Addresses(ctx, name, c.dst.Addr())
	policy := c.server.inForce()
	addrs = slices.DeleteFunc(addrs, func(a netip.Addr) bool {
		return !policy.Decide(name, a, c.dst.Port(), firewall.TCP).Allowed()
	})
	i := slices.Index(addrs, c.dst.Addr())
	if i < 0 {
		return addrs, false
	}
	addrs[0], addrs[i] = addrs[i], addrs[0]
	return addrs, true
}

// siteIndex returns the index of a name among those that were admitted, or -1.
func (c *conn) siteIndex(name string) int {
	return slices.IndexFunc(c.sites, func(at site) bool { return at.name == name })
}

// unlisted is the refusal that the lists decided.
func (c *conn) unlisted(name string, d firewall.Decision) *refusal {
	no := &refusal{name: name, rule: d.Rule, why: d.Reason, alert: alertAccessDenied}
	if d.Rule == "" {
		no.fix = audit.AllowEntry(name, c.dst.Port(), firewall.TCP)
	}
	return no
}

func unmap(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

// fallback is how long the address that the client chose may take when the
// name has others: the client believes itself connected and cannot try them.
const fallback = 3 * time.Second

// dial connects to the first of the addresses that answers.
func (c *conn) dial(ctx context.Context, addrs []netip.Addr) error {
	tcp, addr, err := c.connect(ctx, addrs)
	if err != nil {
		return err
	}
	c.release = context.AfterFunc(ctx, func() { reset(tcp) })
	c.server.connected(c, tcp, addr)
	return nil
}

// connect returns a connection to the first of the addresses that answers.
func (c *conn) connect(ctx context.Context, addrs []netip.Addr) (*net.TCPConn, netip.Addr, error) {
	var failures []error
	for i, addr := range addrs {
		d := c.server.opts.Dialer
		d.Timeout = c.server.opts.Timeout
		if i < len(addrs)-1 {
			d.Timeout = min(d.Timeout, fallback)
		}
		up, err := d.DialContext(ctx, "tcp", netip.AddrPortFrom(addr, c.dst.Port()).String())
		if err != nil {
			failures = append(failures, err)
			continue
		}
		tcp, ok := up.(*net.TCPConn)
		if !ok {
			up.Close()
			return nil, addr, fmt.Errorf("the connection to %s is of type %T, not TCP", addr, up)
		}
		return tcp, addr, nil
	}
	return nil, netip.Addr{}, fmt.Errorf("connecting to the destination: %w", errors.Join(failures...))
}

// watch ends both sides when the client resets its own, for the time in which
// we do not read from it. stop ends that time.
func (c *conn) watch() (stop func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if c.client.awaitReset() == nil {
			c.cancel()
		}
	}()
	return func() {
		_ = c.client.SetReadDeadline(time.Unix(1, 0))
		<-done
		_ = c.client.SetReadDeadline(time.Time{})
	}
}

// back carries the server's bytes to the client until their end.
func (c *conn) back() error {
	_, err := splice(c.client.TCPConn, c.upstream, -1)
	if err != nil {
		// A stream that was cut off must not look whole, and the other direction must not wait.
		reset(c.client.TCPConn)
		reset(c.upstream)
		return err
	}
	if c.holdEnd.Load() {
		return nil
	}
	return ended(c.client.CloseWrite())
}

// carry joins both sides until both have ended, each in its own time. first,
// when there is one, looks at what the client says next before it is passed on.
func (c *conn) carry(first func() error) error {
	if err := errors.Join(c.client.SetDeadline(time.Time{}), c.upstream.SetDeadline(time.Time{})); err != nil {
		return errGone
	}
	backward := make(chan error, 1)
	go func() { backward <- c.back() }()
	var err error
	if first != nil {
		err = first()
	}
	if err == nil {
		err = c.client.passAll(c.upstream, -1)
	}
	if err == nil {
		err = ended(c.upstream.CloseWrite())
	}
	if err != nil {
		reset(c.client.TCPConn)
		reset(c.upstream)
	}
	return errors.Join(err, <-backward)
}

// ended overlooks that the other side is gone already.
func ended(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "shutdown" {
		return nil
	}
	return err
}

// tell says to the client why it was refused, in its own protocol, and sees to
// it that the words arrive: a reset would overtake them.
func (c *conn) tell(no *refusal) {
	message := no.http(c.dst)
	if c.layer == audit.LayerSNI {
		message = []byte{recordAlert, 3, 3, 0, 2, 2 /* fatal */, no.alert}
	}
	_ = c.client.SetDeadline(time.Now().Add(time.Second))
	if _, err := c.client.Write(message); err != nil {
		return
	}
	if c.client.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, struct{ io.Reader }{c.client.TCPConn}, 4*maxHead)
	}
}

// HeaderRefused is a field of every response that is the guard's own.
const HeaderRefused = "X-Sandbox-Refused"

// http writes the refusal as a response, for people and agents to read.
func (r *refusal) http(dst netip.AddrPort) []byte {
	var body bytes.Buffer
	fmt.Fprintf(&body, "claude-sandbox: refused: %s\n", r.why)
	if r.name != "" {
		fmt.Fprintf(&body, "host: %s\n", r.name)
	}
	fmt.Fprintf(&body, "destination: %s\n", dst)
	if r.rule != "" {
		fmt.Fprintf(&body, "rule: %s\n", r.rule)
	}
	if r.fix != "" {
		fmt.Fprintf(&body, "to open it, add this line to \"allow\" in sandbox.jsonc: %q,\n", r.fix)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\n"+
		"Content-Length: %d\r\nConnection: close\r\n%s: guard\r\n\r\n", body.Len(), HeaderRefused)
	out.Write(body.Bytes())
	return out.Bytes()
}
