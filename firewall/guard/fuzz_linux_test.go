package guard

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall"
)

// oneWay is a connection that gives what it holds and swallows what it gets.
type oneWay struct{ io.Reader }

func (oneWay) Write(b []byte) (int, error)      { return len(b), nil }
func (oneWay) Close() error                     { return nil }
func (oneWay) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (oneWay) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (oneWay) SetDeadline(time.Time) error      { return nil }
func (oneWay) SetReadDeadline(time.Time) error  { return nil }
func (oneWay) SetWriteDeadline(time.Time) error { return nil }

var errSeen = errors.New("seen")

// nameByTLS is the name that crypto/tls reads in what a client sent first.
func nameByTLS(raw []byte) (name string, understood bool) {
	server := tls.Server(oneWay{bytes.NewReader(raw)},
		&tls.Config{MinVersion: tls.VersionTLS10, GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			name, understood = h.ServerName, true
			return nil, errSeen
		}})
	_ = server.Handshake()
	return name, understood
}

// recorder is a connection that keeps the first bytes that are written.
type recorder struct {
	oneWay
	sent *bytes.Buffer
}

func (r recorder) Write(b []byte) (int, error) { return r.sent.Write(b) }

func realHello(name string, version uint16) []byte {
	var sent bytes.Buffer
	client := tls.Client(recorder{oneWay{strings.NewReader("")}, &sent},
		&tls.Config{ServerName: name, InsecureSkipVerify: true, MinVersion: version, MaxVersion: version})
	_ = client.Handshake()
	return sent.Bytes()
}

func readAllHello(raw []byte) (string, error) {
	f := &flight{}
	done, err := f.add(raw, 0)
	if err != nil {
		return "", err
	}
	if !done {
		return "", io.ErrUnexpectedEOF
	}
	return parseHello(f.message)
}

// crypto/tls takes each hello that we let pass for the same name
// or refuses. How it is cut into pieces does not matter.
func FuzzClientHello(f *testing.F) {
	for version := uint16(tls.VersionTLS10); version <= tls.VersionTLS13; version++ {
		f.Add(realHello("ok.test", version), 3)
	}
	f.Add(realHello("", tls.VersionTLS13), 1)
	f.Add(realHello("a.b.xn--bcher-kva.example", tls.VersionTLS12), 100)
	f.Fuzz(func(t *testing.T, raw []byte, cut int) {
		name, err := readAllHello(raw)
		if cut > 0 && cut < len(raw) {
			pieces := &flight{}
			done, pieceErr := pieces.add(raw[:cut], 0)
			if !done && pieceErr == nil {
				done, pieceErr = pieces.add(raw[cut:], 0)
			}
			again := ""
			if done && pieceErr == nil {
				again, pieceErr = parseHello(pieces.message)
			}
			if err == nil && (pieceErr != nil || again != name) {
				t.Fatalf("in two pieces %q, %v; in one %q", again, pieceErr, name)
			}
		}
		if err != nil {
			return
		}
		if canonical, err := firewall.CanonicalName(name); err != nil || canonical != name {
			t.Fatalf("%q is not canonical: %v", name, err)
		}
		theirs, understood := nameByTLS(raw)
		if understood && !strings.EqualFold(strings.TrimSuffix(theirs, "."), name) {
			t.Fatalf("we read %q, crypto/tls reads %q", name, theirs)
		}
	})
}

// Every hello of crypto/tls for a name passes.
func TestHelloOfCryptoTLS(t *testing.T) {
	for version := uint16(tls.VersionTLS10); version <= tls.VersionTLS13; version++ {
		if name, err := readAllHello(realHello("www.ok.test", version)); err != nil || name != "www.ok.test" {
			t.Errorf("%s: %q, %v", tls.VersionName(version), name, err)
		}
	}
	if name, err := readAllHello(realHello("", tls.VersionTLS13)); !errors.Is(err, errNoName) {
		t.Errorf("without a name: %q, %v", name, err)
	}
}

// net/http reads each request that we let pass with the same host and the
// same framing, or refuses.
func FuzzRequestHead(f *testing.F) {
	for _, seed := range []string{
		"GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"POST http://ok.test/x?y HTTP/1.0\r\nHost: OK.test:80\r\nContent-Length: 12\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nhost: ok.test.\r\nTransfer-Encoding: chunked\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: ok.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		"GET / HTTP/1.1\r\nHost : ok.test\r\n folded\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		size, err := headEnd(raw, 0)
		if err != nil || size == 0 {
			return
		}
		h, err := parseHead(raw[:size])
		if err != nil {
			return
		}
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw[:size])))
		if err != nil {
			return
		}
		host, _, _ := strings.Cut(r.Host, ":")
		if !strings.EqualFold(strings.TrimSuffix(host, "."), h.host) {
			t.Fatalf("we read the host %q, net/http %q", h.host, r.Host)
		}
		length := r.ContentLength
		if len(r.TransferEncoding) > 0 {
			length = chunked
		}
		if length != h.length {
			t.Fatalf("we read the length %d, net/http %d with %v", h.length, r.ContentLength, r.TransferEncoding)
		}
		for _, upgrade := range []bool{true, false} {
			passed := h.rewritten(raw[:size], upgrade)
			again, err := parseHead(passed)
			if err != nil || again.host != h.host || again.length != h.length || again.spelt != h.authority() ||
				again.upgrade != (h.upgrade && upgrade) {
				t.Fatalf("what is passed on reads %+v, %v", again, err)
			}
			r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(passed)))
			if err != nil {
				t.Fatalf("what is passed on, net/http cannot read: %v", err)
			}
			if r.Host != h.authority() {
				t.Fatalf("what is passed on is for %q to net/http", r.Host)
			}
		}
	})
}

// Every chunk that we let pass, net/http reads in the same way.
func FuzzChunks(f *testing.F) {
	f.Add([]byte("3\r\nabc\r\n0\r\n\r\n"))
	f.Add([]byte("00A\r\n0123456789\r\n0\r\nX: y\r\n\r\n"))
	f.Add([]byte("3;x\r\nabc\r\n0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var body []byte
		rest := raw
		for {
			size, line, err := parseChunkLine(rest)
			if err != nil || line == 0 {
				return
			}
			rest = rest[line:]
			if size == 0 {
				break
			}
			if size > int64(len(rest))-2 || string(rest[size:size+2]) != "\r\n" {
				return
			}
			body = append(body, rest[:size]...)
			rest = rest[size+2:]
		}
		if !bytes.HasPrefix(rest, []byte("\r\n")) {
			return
		}
		head := "POST / HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: chunked\r\n\r\n"
		reader := bufio.NewReader(strings.NewReader(head + string(raw)))
		r, err := http.ReadRequest(reader)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Equal(theirs, body) {
			t.Fatalf("we read %q, net/http %q, %v", body, theirs, err)
		}
		left, err := io.ReadAll(reader)
		if err != nil || string(left) != string(rest[2:]) {
			t.Fatalf("behind it we see %q, net/http %q, %v", rest[2:], left, err)
		}
	})
}
