package main

import (
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/test/outsidetest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// On okAddr and okAddr6 live more sites than the policy allows. Whoever asks
// there for evil.test gets it, from the same server.
const guardPolicy = `{"network": {"allow": ["ok.test", "ok6.test", "git.test:22"]}}`

// serveTLS makes the internet answer HTTPS too, on every address and for every
// name, and takes down the names that are asked for.
func (in *internet) serveTLS(t testing.TB) {
	t.Helper()
	var l net.Listener
	var err error
	in.Internet.Do(func() { l, err = net.Listen("tcp", ":443") })
	if err != nil {
		t.Fatal(err)
	}
	backup := httptest.NewUnstartedServer(nil) // for its certificate
	backup.StartTLS()
	certificates := backup.TLS.Certificates
	backup.Close()
	server := &http.Server{
		Handler:  in.Noting(http.HandlerFunc(in.serveHTTP)),
		ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS10, Certificates: certificates,
			GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
				in.Add(outsidetest.Request{At: h.Conn.LocalAddr().String(), Host: h.ServerName})
				return nil, nil
			}},
	}
	t.Cleanup(func() { server.Close() })
	go server.ServeTLS(l, "", "")
}

// mustNotReach errs when a request for a host other than ok.test and ok6.test
// arrived anywhere.
func (in *internet) mustNotReach(t testing.TB) {
	t.Helper()
	for _, request := range in.requests() {
		if !strings.HasSuffix(request, "/ok.test") && !strings.HasSuffix(request, "/ok6.test") {
			t.Errorf("a request arrived: %s", request)
		}
	}
}

func TestAttackOtherSiteOnAnAllowedAddress(t *testing.T) {
	in := newInternet(t)
	in.serveTLS(t)
	curl := testenv.Program(t, "curl")
	b := newBox(t, in.Sandbox, guardPolicy)
	wire := in.Capture(t)
	const options = " -sS -k --noproxy '*' --max-time 5 "
	r := b.sh(`
		get() { echo "$1 -> $(` + curl + options + ` "$@" 2>&1 | tr '\n' ' ')"; }
		get http://ok.test/
		get https://ok.test/ --http1.1
		get https://ok.test/ --http2
		get https://ok.test/ --tls-max 1.2
		get http://ok6.test/
		get https://ok6.test/
		echo ATTACKS
		get http://evil.test/ --resolve evil.test:80:` + okAddr + `
		get https://evil.test/ --resolve evil.test:443:` + okAddr + `
		get https://EVIL.test./ --resolve EVIL.test.:443:` + okAddr + `
		get https://evil.test/ --resolve 'evil.test:443:[` + okAddr6 + `]'
		get http://ok.test/ -H 'Host: evil.test'
		get http://ok.test/ -H 'Host:'
		get http://ok.test/ --request-target http://evil.test/
		get http://` + okAddr + `/
		get https://` + okAddr + `/
		get http://evil.test/ --connect-to evil.test:80:ok.test:80
		get https://evil.test/ --connect-to evil.test:443:ok.test:443
		get http://evil.test/ --proxytunnel --proxy http://ok.test:80
		get http://evil.test/ --proxy http://ok.test:80
		get http://ok.test/ --http2-prior-knowledge
		get http://ok6.test/ --resolve ok6.test:80:` + okAddr + `
		get http://git.test/
	`)
	r.mustExit(t, 0)
	honest, attacks, found := strings.Cut(r.stdout, "ATTACKS\n")
	if !found {
		t.Fatalf("stdout: %s\nstderr: %s", r.stdout, r.stderr)
	}
	for line := range strings.Lines(honest) {
		if !strings.Contains(line, "hello from") {
			t.Errorf("not answered: %s", line)
		}
	}
	for line := range strings.Lines(attacks) {
		if strings.Contains(line, "hello from") {
			t.Errorf("answered: %s", line)
		}
	}
	if got := strings.Count(attacks, "\n"); got != 16 {
		t.Errorf("%d attacks, want 16:\n%s", got, attacks)
	}
	in.mustNotReach(t)
	wire.Nothing("the attacks", toAllowed)
	layers := map[string]bool{}
	for _, rec := range b.records() {
		layers[fmt.Sprintf("%s %s %s", rec.Verdict, rec.Layer, rec.Name)] = true
	}
	for _, want := range []string{"allow http ok.test", "allow sni ok.test", "deny http evil.test", "deny sni evil.test", "deny sni "} {
		if !layers[want] {
			t.Errorf("no record of %q in %v", want, layers)
		}
	}
	r.mustSay(t, `add this line to "allow" in sandbox.jsonc: "evil.test"`)
}

// guardAgent runs in the sandbox as the agent. It sends what its arguments say,
// in hex, to an address and prints what comes back.
func guardAgent(args []string) {
	conn, err := net.DialTimeout("tcp", args[0], 3*time.Second)
	if err != nil {
		fmt.Println("no connection")
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	for _, piece := range args[1:] {
		raw, err := hex.DecodeString(piece)
		if err != nil {
			panic(err)
		}
		if _, err := conn.Write(raw); err != nil {
			break
		}
	}
	back, _ := io.ReadAll(conn)
	fmt.Printf("%q\n", back)
}

func TestAttackRawBytesThroughTheGuard(t *testing.T) {
	in := newInternet(t)
	in.serveTLS(t)
	b := newBox(t, in.Sandbox, guardPolicy)
	send := func(port, text string) string {
		return fmt.Sprintf("%s=send %s/agent %s:%s %s\n", agentEnv, b.bin, okAddr, port, hex.EncodeToString([]byte(text)))
	}
	r := b.sh("getent hosts ok.test >/dev/null\n" +
		send("80", "GET / HTTP/1.1\r\nHost: ok.test\r\n\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n") +
		send("80",
			"POST / HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+
				"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n") +
		send("80", "GET / HTTP/1.1\r\nHost: ok.test\r\nHost: evil.test\r\n\r\n") +
		send("443", "SSH-2.0-x\r\n") +
		send("80", "\x05\x01\x00") +
		send("443", "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n") +
		send("443", "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n") +
		send("80", clientHello("evil.test")) +
		send("443", clientHello("evil.test")))
	r.mustExit(t, 0)
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if len(lines) != 9 {
		t.Fatalf("%d answers: %s", len(lines), r.stdout)
	}
	// The reply to the first request comes whole, then the refusal.
	if !strings.Contains(lines[0], "hello from") || !strings.Contains(lines[0], "403 Forbidden") {
		t.Errorf("pipelined: %s", lines[0])
	}
	for _, line := range lines[1:] {
		if strings.Contains(line, "hello from") {
			t.Errorf("answered: %s", line)
		}
	}
	for _, line := range lines[7:] {
		if !strings.HasPrefix(line, `"\x15\x03`) {
			t.Errorf("no TLS alert: %s", line)
		}
	}
	in.mustNotReach(t)
}

// clientHello is what crypto/tls says first.
func clientHello(name string) string {
	near, far := net.Pipe()
	defer near.Close()
	go func() {
		_ = tls.Client(far, &tls.Config{ServerName: name}).Handshake()
		far.Close()
	}()
	buf := make([]byte, 16<<10)
	n, err := near.Read(buf)
	if err != nil {
		panic(err)
	}
	return string(buf[:n])
}

// Only the guard may connect to a learned address on the web's ports: not
// root, who is not led there for lack of nothing but the mark, and not the
// agent with a socket bound to the interface.
func TestAttackPastTheGuard(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, guardPolicy)
	cmd := startSidecar(t, b)
	mustResolve(t, in, b, "ok.test")
	connect := func(uid, mark int, bind string) (reply string) {
		in.Sandbox.As(uid, func() {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				reply = err.Error()
				return
			}
			defer unix.Close(fd)
			if mark != 0 {
				err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, mark)
			}
			if err == nil && bind != "" {
				err = unix.BindToDevice(fd, bind)
			}
			tv := unix.Timeval{Sec: 1}
			if err == nil {
				err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &tv)
			}
			if err == nil {
				err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv)
			}
			if err == nil {
				err = unix.Connect(fd, &unix.SockaddrInet4{Port: 80, Addr: [4]byte{93, 184, 216, 10}})
			}
			if err == nil {
				_, err = unix.Write(fd, []byte("GET / HTTP/1.0\r\nHost: evil.test\r\n\r\n"))
			}
			buf := make([]byte, 4096)
			n := 0
			if err == nil {
				n, err = unix.Read(fd, buf)
			}
			if err != nil {
				reply = err.Error()
				return
			}
			reply = string(buf[:n])
		})
		return reply
	}
	for name, reply := range map[string]string{
		"the agent":            connect(agentUID, 0, ""),
		"the agent, bound":     connect(agentUID, 0, "eth0"),
		"root":                 connect(0, 0, ""),
		"root, another mark":   connect(0, 1, ""),
		"root, bound":          connect(0, 0, "eth0"),
		"agent, daemon's mark": connect(agentUID, firewall.Mark, ""),
	} {
		if strings.Contains(reply, "hello from") {
			t.Errorf("%s reached the other site: %s", name, reply)
		}
	}
	in.mustNotReach(t)

	// The death of the guard opens nothing.
	wire := in.Capture(t)
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for _, uid := range []int{agentUID, 0} {
		if reply := connect(uid, 0, ""); strings.Contains(reply, "HTTP/") {
			t.Errorf("user %d without the guard: %s", uid, reply)
		}
	}
	wire.Nothing("connections without the guard", isNeighbour)
	in.mustNotReach(t)
}

// An address entry is the user's word that the whole place is meant.
func TestAddressEntryNeedsNoName(t *testing.T) {
	in := newInternet(t)
	curl := testenv.Program(t, "curl")
	b := newBox(t, in.Sandbox, `{"network": {"allow": ["ok.test", "`+okAddr+`:80"]}}`)
	r := b.sh(curl + " -sS --noproxy '*' --max-time 5 http://" + okAddr + "/; " + curl + " -sS --noproxy '*' http://ok.test/")
	r.mustExit(t, 0)
	if got := strings.Count(r.stdout, "hello from"); got != 2 {
		t.Errorf("%d of 2 answers: %s%s", got, r.stdout, r.stderr)
	}
}

func TestGuardOffLetsEveryNamePass(t *testing.T) {
	in := newInternet(t)
	curl := testenv.Program(t, "curl")
	b := newBox(t, in.Sandbox, `{"network": {"allow": ["ok.test"], "guard": "off"}}`)
	r := b.sh(curl + " -sS --noproxy '*' --max-time 5 http://ok.test/ -H 'Host: evil.test'")
	r.mustExit(t, 0)
	r.mustSay(t, "hello from")
}

// A reload that turns the guard on ends what began without it, and leaves what
// the guard made.
func TestAttackConnectionOlderThanTheGuard(t *testing.T) {
	in := newInternet(t)
	const off = `{"network": {"allow": ["ok.test"], "guard": "off"}}`
	b := newBox(t, in.Sandbox, off)
	startSidecar(t, b)
	mustResolve(t, in, b, "ok.test")
	evil := []string{"HTTP/1.1 200 OK", "hello from"}
	unasked := dialAgent(t, in.Sandbox, okAddr+":80")
	if !asks(unasked, "evil.test", evil) {
		t.Fatal("not served while the guard was off")
	}
	b.write("policy.jsonc", guardPolicy)
	b.ask("reload").mustExit(t, 0)
	if asks(unasked, "evil.test", evil) {
		t.Error("a connection from before still reaches the other site")
	}
	guarded := dialAgent(t, in.Sandbox, okAddr+":80")
	if !asks(guarded, "ok.test", evil) {
		t.Fatal("not served through the guard")
	}
	b.ask("reload").mustExit(t, 0)
	if !asks(guarded, "ok.test", evil) {
		t.Error("a connection of the guard's was cut")
	}
	if asks(guarded, "evil.test", evil) {
		t.Error("the guard let the other site pass")
	}
}

// asks sends a request over a kept connection and reports whether the reply
// holds all words.
func asks(conn net.Conn, host string, words []string) bool {
	_ = conn.SetDeadline(time.Now().Add(3 * time.Second))
	if _, err := fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", host); err != nil {
		return false
	}
	reply := ""
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		reply += string(buf[:n])
		whole := true
		for _, w := range words {
			whole = whole && strings.Contains(reply, w)
		}
		if whole || err != nil {
			return whole
		}
	}
}

func TestPlanShowsTheGuard(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, guardPolicy)
	r := b.finish(b.initCommand("plan", "--policy", b.path("policy.jsonc")))
	r.mustExit(t, 0)
	r.mustSay(t, firewall.ChainGuard, fmt.Sprintf("REDIRECT --to-ports %d", firewall.GuardPort))
}

// clientAgent uses Go's own client in the sandbox, over kept connections.
func clientAgent() {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for _, url := range []string{"http://ok.test/1", "http://ok.test/2", "https://ok.test/1", "https://ok.test/2"} {
		for _, body := range []string{"", strings.Repeat("x", 1<<20)} {
			reply, err := client.Post(url, "text/plain", io.MultiReader(strings.NewReader(body))) // chunked
			if err != nil {
				fmt.Println(url, err)
				continue
			}
			text, _ := io.ReadAll(reply.Body)
			reply.Body.Close()
			fmt.Printf("%s %s %s", url, reply.Proto, text)
		}
	}
}

func TestGoClientKeepsConnections(t *testing.T) {
	in := newInternet(t)
	in.serveTLS(t)
	b := newBox(t, in.Sandbox, guardPolicy)
	r := b.sh(agentEnv + "=client " + b.bin + "/agent")
	r.mustExit(t, 0)
	if got := strings.Count(r.stdout, "hello from"); got != 8 || strings.Count(r.stdout, "HTTP/2.0") != 4 {
		t.Errorf("%d answers of 8:\n%s", got, r.stdout)
	}
	in.mustNotReach(t)
	allowed := 0
	for _, rec := range b.records() {
		if rec.Verdict == firewall.Allow && rec.Layer != "dns" {
			allowed++
		}
	}
	if allowed == 0 || allowed > 4 {
		t.Errorf("%d connections recorded", allowed)
	}
}
