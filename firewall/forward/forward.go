package forward

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/firewall/relay"
)

// Options are what a Server works with. All fields are required unless they say otherwise.
type Options struct {
	Policy *firewall.Policy // in mode allowlist, with typed entries

	// Token is the password of the proxy's clients; any user goes with it.
	Token string

	// Publish makes the certificates of the proxy's authorities, as PEM, known to the
	// programs that shall trust them.
	Publish func(certificates []byte) error

	// Roots are the authorities by which the hosts are verified.
	Roots func() (*x509.CertPool, error)

	// Record is told every decision. When an allow cannot be recorded it does not happen.
	Record func(audit.Record) error

	// Resolve returns a name's addresses; nil = as this machine resolves names.
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)

	// Connect opens a connection to an address that was judged; nil = from this machine.
	Connect func(context.Context, netip.AddrPort) (net.Conn, error)

	// Keys go with requests of their entries, and Used is told of each; nil = there are none.
	Keys *credential.Keys
	Used func(name, host, operation string)
}

// Server is an http.Handler. It is safe for concurrent use.
type Server struct {
	options Options
	token   [sha256.Size]byte
	relay   *relay.Relay
	ended   context.Context
	end     context.CancelFunc
	close   []func() error
}

// rule is that of what the proxy refuses whatever the entries say.
const rule = "forward proxy"

// New returns a Server, which serves until Close.
func New(o Options) (*Server, error) {
	switch {
	case o.Policy.Mode() != firewall.ModeAllowlist:
		return nil, fmt.Errorf("the forward proxy is for mode %s, and not %s", firewall.ModeAllowlist, o.Policy.Mode())
	case len(o.Policy.Operations().Hosts()) == 0:
		return nil, errors.New("the forward proxy has no entry about operations")
	case len(o.Token) < 16:
		return nil, errors.New("the forward proxy's token is too short")
	}
	s := &Server{options: o, token: sha256.Sum256([]byte(o.Token))}
	s.ended, s.end = context.WithCancel(context.Background())
	s.relay = relay.New(relay.Options{Publish: o.Publish, Roots: o.Roots, Record: o.Record, Memory: operation.NewMemory()})
	s.close = append(s.close, s.relay.Close)
	if err := s.relay.SetHosts(o.Policy.Operations().Hosts()); err != nil {
		_ = s.Close()
		return nil, err
	}
	if o.Keys != nil {
		inside, outside := net.Pipe()
		server := relay.NewKeyServer(o.Keys, o.Roots, o.Used)
		go server.Serve(outside)
		process := relay.NewKeysProcess(inside, o.Keys.Hosts())
		s.relay.SetKeysProcess(process)
		s.close = append(s.close, process.Close, server.Close)
	}
	return s, nil
}

// Close ends every connection.
func (s *Server) Close() (err error) {
	s.end()
	for _, one := range s.close {
		err = errors.Join(err, one())
	}
	return err
}

// ServeHTTP serves CONNECT.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.authorized(r) {
		w.Header().Set("Proxy-Authenticate", `Basic realm="claude-sandbox"`)
		http.Error(w, "claude-sandbox: the proxy's token is missing or wrong", http.StatusProxyAuthRequired)
		return
	}
	name, port, err := s.destination(r)
	if err != nil {
		src, _ := netip.ParseAddrPort(r.RemoteAddr)
		_ = s.options.Record(audit.Record{Verdict: firewall.Deny, Layer: audit.LayerHTTP, Name: name, Port: port, Proto: firewall.TCP,
			Rule: rule, Reason: err.Error(), Src: src, SrcProto: firewall.TCP})
		http.Error(w, "claude-sandbox: refused: "+err.Error(), http.StatusForbidden)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\n")); err != nil {
		return
	}
	src, _ := netip.ParseAddrPort(r.RemoteAddr)
	s.relay.Serve(s.ended, relay.Connection{
		Client: &early{conn, buffered.Reader}, Name: name, Src: src, Dst: netip.AddrPortFrom(netip.IPv4Unspecified(), port),
		Dial:  func(ctx context.Context) (net.Conn, error) { return s.dial(ctx, name, port) },
		Rules: func() (*operation.Rules, bool) { return s.options.Policy.Operations(), false },
	})
}

// authorized reports whether a request has the token, as the password of Basic.
func (s *Server) authorized(r *http.Request) bool {
	values := r.Header.Values("Proxy-Authorization")
	if len(values) != 1 {
		return false
	}
	// The same form as Authorization's (RFC 9110, section 11.7.2).
	_, password, ok := (&http.Request{Header: http.Header{"Authorization": values}}).BasicAuth()
	sum := sha256.Sum256([]byte(password))
	return ok && subtle.ConstantTimeCompare(sum[:], s.token[:]) == 1
}

// destination is where a request wants to go, as far as it may. name and port are for the
// record of a refusal, too.
func (s *Server) destination(r *http.Request) (name string, port uint16, err error) {
	if r.Method != http.MethodConnect {
		return "", 0, fmt.Errorf("this proxy takes CONNECT alone, and no %s: requests inside TLS are judged there", r.Method)
	}
	host, number, err := net.SplitHostPort(r.RequestURI)
	if err != nil {
		return "", 0, errors.New("CONNECT names no host with a port")
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil || n == 0 {
		return "", 0, errors.New("CONNECT names no port")
	}
	port = uint16(n)
	if _, err := netip.ParseAddr(host); err == nil {
		return host, port, fmt.Errorf("%s is an address, and operations are of a named site", host)
	}
	if name, err = firewall.CanonicalName(host); err != nil {
		return "", port, errors.New("CONNECT names no host: " + err.Error())
	}
	if !s.options.Policy.Operations().Opens(name, port) {
		return name, port, fmt.Errorf("no entry is about operations at %s:%d, and this proxy serves no other hosts", name, port)
	}
	return name, port, nil
}

// dial connects to an address of a name that the policy allows for it.
func (s *Server) dial(ctx context.Context, name string, port uint16) (net.Conn, error) {
	resolve := s.options.Resolve
	if resolve == nil {
		resolve = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name+".")
		}
	}
	addrs, err := resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	connect := s.options.Connect
	if connect == nil {
		connect = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", to.String())
		}
	}
	var failed error
	for _, addr := range addrs {
		addr = addr.Unmap()
		d := s.options.Policy.DecideAnswer(name, addr)
		if d.Allowed() {
			d = s.options.Policy.Decide(name, addr, port, firewall.TCP)
		}
		if !d.Allowed() {
			failed = cmp.Or(failed, fmt.Errorf("%s: %s", addr, d.Reason))
			continue
		}
		conn, err := connect(ctx, netip.AddrPortFrom(addr, port))
		if err == nil {
			return conn, nil
		}
		failed = cmp.Or(failed, err)
	}
	return nil, cmp.Or(failed, fmt.Errorf("%s has no address", strings.TrimSuffix(name, ".")))
}

// early is a connection of which some bytes were read that nothing has used.
type early struct {
	net.Conn
	from *bufio.Reader
}

func (e *early) Read(p []byte) (int, error) { return e.from.Read(p) }
