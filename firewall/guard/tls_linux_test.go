package guard_test

import (
	"crypto/ecdh"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// tlsSite answers real handshakes and remembers the names that it was asked
// for, as it understood them.
func tlsSite(t testing.TB, config *tls.Config) (*site, func() []string) {
	t.Helper()
	var mu sync.Mutex
	var asked []string
	config.Certificates = []tls.Certificate{certificate()}
	s := newSite(t, func(_ *site, conn *net.TCPConn) {
		c := tls.Server(conn, config)
		if err := c.Handshake(); err != nil {
			return
		}
		mu.Lock()
		asked = append(asked, c.ConnectionState().ServerName)
		mu.Unlock()
		_, _ = io.Copy(c, c)
		_ = c.CloseWrite()
	})
	return s, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(asked)
	}
}

// exchange makes a handshake and sends some bytes there and back.
func exchange(conn net.Conn, config *tls.Config) error {
	config.InsecureSkipVerify = true
	c := tls.Client(conn, config)
	defer c.Close()
	if _, err := io.WriteString(c, "hello"); err != nil {
		return err
	}
	if err := c.CloseWrite(); err != nil {
		return err
	}
	back, err := io.ReadAll(c)
	if err == nil && string(back) != "hello" {
		err = fmt.Errorf("%q came back", back)
	}
	return err
}

func TestAttackOtherSiteInEveryVersionOfTLS(t *testing.T) {
	for version := uint16(tls.VersionTLS10); version <= tls.VersionTLS13; version++ {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			s, asked := tlsSite(t, &tls.Config{MinVersion: tls.VersionTLS10})
			b := newBench(t, s)
			err := exchange(b.dial(), &tls.Config{ServerName: "evil.test", MinVersion: version, MaxVersion: version})
			if err == nil || !strings.Contains(err.Error(), "access denied") {
				t.Errorf("error %v, want access denied", err)
			}
			if s.conns() != 0 {
				t.Errorf("it arrived: %q", asked())
			}
		})
	}
}

// Browsers strew values that nobody knows (RFC 8701) wherever a server must
// overlook them.
func TestAttackBehindGREASE(t *testing.T) {
	grease := func(name string) string {
		body := append([]byte{3, 3}, make([]byte, 32)...)
		body = append(body, vector(1, make([]byte, 32))...)
		body = append(body, vector(2, []byte{0x2a, 0x2a, 0x13, 0x01, 0x13, 0x02})...)
		body = append(body, vector(1, []byte{0})...)
		var all []byte
		for _, e := range []extension{
			{0x4a4a, nil}, {0x0010, vector(2, []byte("\x02\x8a\x8a\x02h2"))}, {0x002b, vector(1, []byte{0xba, 0xba, 3, 4})},
			{0x000a, vector(2, []byte{0x1a, 0x1a, 0, 0x1d})}, {0x0033, vector(2, []byte{0x1a, 0x1a, 0, 1, 0})}, sni(name),
			{0xfe0d, append([]byte{0, 0, 1, 0, 1, 7, 0, 32}, make([]byte, 100)...)}, {0xfafa, []byte{0}},
		} {
			all = append(binary.BigEndian.AppendUint16(all, e.kind), vector(2, e.data)...)
		}
		body = append(body, vector(2, all)...)
		return string(record(22, append([]byte{1}, vector(3, body)...)))
	}
	for name, allowed := range map[string]bool{"ok.test": true, "evil.test": false} {
		s := sink(t, answer)
		b := newBench(t, s)
		sent := grease(name)
		b.send(sent)
		if arrived := s.bytes() == sent; arrived != allowed || !allowed && s.conns() > 0 {
			t.Errorf("%s: arrived %v", name, arrived)
		}
	}
}

// The guard reads the outer name of an encrypted hello; the inner one is the
// site's to judge, see the threat model.
func TestEncryptedHelloIsJudgedByItsOuterName(t *testing.T) {
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for outer, allowed := range map[string]bool{"ok.test": true, "evil.test": false} {
		t.Run(outer, func(t *testing.T) {
			// ECHConfig of RFC 9849 section 4: X25519, HKDF-SHA256, AES-128-GCM.
			contents := append([]byte{1, 0, 0x20}, vector(2, key.PublicKey().Bytes())...)
			contents = append(contents, vector(2, []byte{0, 1, 0, 1})...)
			contents = append(append(contents, 0), vector(1, []byte(outer))...)
			contents = append(contents, 0, 0)
			config := append([]byte{0xfe, 0x0d}, vector(2, contents)...)
			s, asked := tlsSite(t, &tls.Config{EncryptedClientHelloKeys: []tls.EncryptedClientHelloKey{{Config: config, PrivateKey: key.Bytes()}}})
			b := newBench(t, s)
			err := exchange(b.dial(), &tls.Config{ServerName: "inner.test", EncryptedClientHelloConfigList: vector(2, config)})
			if allowed && (err != nil || !slices.Equal(asked(), []string{"inner.test"})) {
				t.Errorf("error %v, the site was asked for %q", err, asked())
			}
			if !allowed && (err == nil || s.conns() != 0) {
				t.Errorf("error %v, %d connections arrived", err, s.conns())
			}
			if got := b.decisions(); len(got) != 1 || !strings.HasSuffix(got[0], "sni "+outer) {
				t.Errorf("recorded: %q", got)
			}
		})
	}
}

// A server that answers a ClientHello in something else than TLS, such as a web server on
// port 80, gets no word more: it could hear a request.
func TestAttackRequestBehindAHelloThatIsNotUnderstood(t *testing.T) {
	for name, reply := range map[string]string{
		"HTTP":  "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
		"a few": "no",
		"data":  string(record(23, []byte("no"))),
	} {
		t.Run(name, func(t *testing.T) {
			s := sink(t, reply)
			b := newBench(t, s)
			first := hello(sni("ok.test"))
			back := b.send(first + "GET /stolen HTTP/1.1\r\nHost: evil.test\r\n\r\n")
			if !strings.HasPrefix(first, s.bytes()) { // a reset can overtake the hello
				t.Errorf("arrived %q", s.bytes())
			}
			if !strings.HasPrefix(back, reply) {
				t.Errorf("answer %q", back)
			}
		})
	}
}

// oneSession gives the same session out for every name.
type oneSession struct{ session *tls.ClientSessionState }

func (o *oneSession) Get(string) (*tls.ClientSessionState, bool) { return o.session, o.session != nil }
func (o *oneSession) Put(_ string, s *tls.ClientSessionState) {
	if s != nil {
		o.session = s
	}
}

// A session that was begun with one site and resumed with another's name.
func TestAttackOtherSiteByResumption(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			s, asked := tlsSite(t, &tls.Config{})
			b := newBench(t, s)
			cache := &oneSession{}
			config := func(name string) *tls.Config {
				return &tls.Config{ServerName: name, ClientSessionCache: cache, MaxVersion: version}
			}
			if err := exchange(b.dial(), config("ok.test")); err != nil || cache.session == nil {
				t.Fatalf("no session: %v", err)
			}
			if err := exchange(b.dial(), config("ok.test")); err != nil {
				t.Errorf("an honest resumption: %v", err)
			}
			if err := exchange(b.dial(), config("evil.test")); err == nil {
				t.Error("the other site answers")
			}
			// A session of the other site's, brought from elsewhere: the site is
			// told the allowed name and may not believe the ticket.
			cache.session = nil
			direct, err := net.Dial("tcp", s.addr.String())
			if err != nil {
				t.Fatal(err)
			}
			if err := exchange(direct, config("evil.test")); err != nil {
				t.Fatal(err)
			}
			_ = exchange(b.dial(), config("ok.test"))
			if got := asked(); !slices.Equal(got, []string{"ok.test", "ok.test", "evil.test", "ok.test"}) {
				t.Errorf("the site was asked for %q", got)
			}
		})
	}
}

// Data that a client sends with its hello waits for the site's answer, and
// then arrives; with another name it does not.
func TestEarlyData(t *testing.T) {
	openssl := testenv.Program(t, "openssl")
	dir := t.TempDir()
	key, err := x509.MarshalPKCS8PrivateKey(certificate().PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"cert.pem": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate().Certificate[0]})),
		"key.pem":  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
		"early":    "early words",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{addr: free.Addr().(*net.TCPAddr).AddrPort()}
	free.Close()
	server := exec.Command(openssl, "s_server", "-accept", s.addr.String(), "-cert", "cert.pem", "-key", "key.pem", "-tls1_3",
		"-early_data", "-quiet")
	server.Dir = dir
	var heard strings.Builder
	server.Stdout = &heard
	in, err := server.StdinPipe() // it ends with its input
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	end := sync.OnceFunc(func() {
		in.Close()
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	defer end()
	for deadline := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", s.addr.String())
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	b := newBench(t, s)
	client := func(name string, args ...string) string {
		cmd := exec.Command(openssl, append([]string{"s_client", "-connect", b.addr, "-servername", name, "-tls1_3"}, args...)...)
		cmd.Dir = dir
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		// A session ticket comes behind the handshake: the input stays open for it.
		time.AfterFunc(500*time.Millisecond, func() { in.Close() })
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out)
	}
	if out := client("ok.test", "-sess_out", "session"); !strings.Contains(out, "TLS_AES") {
		t.Fatalf("no session: %s", out)
	}
	refused := client("evil.test", "-sess_in", "session", "-early_data", "early")
	accepted := client("ok.test", "-sess_in", "session", "-early_data", "early")
	end()
	if !strings.Contains(accepted, "Early data was accepted") {
		t.Errorf("to the allowed site: %s", accepted)
	}
	if strings.Contains(refused, "Early data was accepted") || strings.Count(heard.String(), "early words") != 1 {
		t.Errorf("the site heard %q", heard.String())
	}
}
