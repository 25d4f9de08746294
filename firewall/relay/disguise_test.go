package relay_test

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/net/http2"
)

// Attack: more ways in which HTTP/1.1 names a host or asks for more than it is judged by. want is as
// of TestAttackOperationHTTP1.
func TestAttackOperationHTTP1NamesAndFields(t *testing.T) {
	request := func(host string, fields ...string) string {
		return "GET /v1/a HTTP/1.1\r\nHost: " + host + "\r\n" + strings.Join(append(fields, ""), "\r\n") + "\r\n"
	}
	post := func(path string, fields ...string) string {
		return "POST " + path + " HTTP/1.1\r\nHost: ok.test\r\n" + strings.Join(append(fields, ""), "\r\n") + "\r\n"
	}
	hidden := "GET " + secret + " HTTP/1.1\r\nHost: ok.test\r\n\r\n"
	for name, attack := range map[string]struct {
		bytes string
		want  int
	}{
		"honest":                    {request("ok.test"), 1},
		"its port":                  {request("ok.test:443"), 1},
		"capitals":                  {request("OK.TEST"), 1},
		"an empty port":             {request("ok.test:"), 0},
		"a port with a zero":        {request("ok.test:0443"), 0},
		"a port with a sign":        {request("ok.test:+443"), 0},
		"a port in words":           {request("ok.test:https"), 0},
		"a port alone":              {request(":443"), 0},
		"an address":                {request("192.0.2.1"), 0},
		"an address of IPv6":        {request("[::1]"), 0},
		"one in IPv6 with the port": {request("[::ffff:192.0.2.1]:443"), 0},
		"letters of another script": {request("\xce\xbfk.test"), 0},
		"their encoding":            {request("xn--k-xdc.test"), 0},
		"a wide dot":                {request("ok\xe3\x80\x82test"), 0},
		"an encoded dot":            {request("ok%2etest"), 0},
		"two dots":                  {request("ok..test"), 0},
		"a name below":              {request("a.ok.test"), 0},
		"a name that begins so":     {request("ok.test.evil.test"), 0},
		"a fragment":                {request("ok.test#@evil.test"), 0},
		"a query":                   {request("ok.test?@evil.test"), 0},
		"a backslash":               {request("ok.test\\@evil.test"), 0},
		"a scheme":                  {request("https://ok.test"), 0},
		"Host in a trailer": {post("/v1/a", "Transfer-Encoding: chunked", "",
			"1\r\nx\r\n0\r\nHost: evil.test\r\nAuthorization: stolen\r\nX-HTTP-Method-Override: DELETE\r\n"), 1},
		"Destination of a copy":    {post("/v1/a", "Destination: https://ok.test"+secret), 0},
		"the source of a copy":     {post("/v1/a", "x-amz-copy-source: "+secret), 0},
		"another source of a copy": {post("/v1/a", "X_Ms_Copy_Source: https://ok.test"+secret), 0},
		"h2c with a body": {post("/v1/a", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk",
			"Content-Length: 4", "", "PRI "), 0},
		"Upgrade to TLS": {request("ok.test", "Connection: Upgrade", "Upgrade: TLS/1.2, HTTP/1.1"), 0},
		"Upgrade to two": {request("ok.test", "Connection: Upgrade", "Upgrade: websocket, h2c",
			"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Version: 13"), 0},
		"connect-udp":                    {request("ok.test", "Connection: Upgrade", "Upgrade: connect-udp", "Capsule-Protocol: ?1"), 0},
		"Keep-Alive names a field":       {request("ok.test", "Connection: keep-alive, Host"), 0},
		"a proxy's Connection":           {request("ok.test", "Proxy-Connection: keep-alive, Authorization") + hidden, 1},
		"the same length twice":          {post("/v1/a", "Content-Length: 5", "Content-Length: 5", "", "0\r\n\r\n") + hidden, -1},
		"a length and no body of a HEAD": {"HEAD /v1/a HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 44\r\n\r\n" + hidden, 0},
		"a body of the refused":          {post(secret, fmt.Sprint("Content-Length: ", len(hidden)+10), "", "0123456789"+hidden), 0},
		"Expect of the refused":          {post(secret, "Expect: 100-continue", fmt.Sprint("Content-Length: ", len(hidden)), "", hidden), 0},
		"Expect, and no body":            {post("/v1/a", "Expect: 100-continue", "Content-Length: 0") + hidden, 1},
		"semicolons":                     {"GET /v1/a;/../../v2/secret HTTP/1.1\r\nHost: ok.test\r\n\r\n", 0},
		"a semicolon between dots":       {"GET /v1/.;./v2/secret HTTP/1.1\r\nHost: ok.test\r\n\r\n", 0},
		"encoded three times":            {"GET /v1/%25252e%25252e/v2/secret HTTP/1.1\r\nHost: ok.test\r\n\r\n", 0},
		"an encoded semicolon":           {"GET /v1/..%3b/v2/secret HTTP/1.1\r\nHost: ok.test\r\n\r\n", 0},
		"a cut escape":                   {"GET /v1/%2 HTTP/1.1\r\nHost: ok.test\r\n\r\n", 0},
		"a name for HTTP/2":              {request("ok.test", ":path: "+secret), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, []string{"http/1.1"}, nil)
			conn := newBox(t, h).dial("http/1.1")
			go func() { _, _ = io.WriteString(conn, attack.bytes+strings.Repeat(lastRequest, 8)) }()
			answer, err := io.ReadAll(conn)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the relay waits for more")
			}
			checkArrived(t, h, attack.want)
			if got := h.bytes(); strings.Contains(got, "evil.test") || strings.Contains(got, "stolen") || strings.Contains(got, "DELETE") ||
				strings.Contains(got, secret) {
				t.Errorf("arrived as bytes: %q", got)
			}
			if strings.HasSuffix(name, "of the refused") && strings.Contains(string(answer), "100 Continue") {
				t.Errorf("the body of a refused request was asked for: %q", answer)
			}
		})
	}
}

// Attack: frames of HTTP/2 that cost the other side more than the sender, or fill its tables. They
// do not get through, and others are served afterwards.
func TestAttackOperationFloodsOfFrames(t *testing.T) {
	const many = 20_000
	get := []string{":method: GET", ":scheme: https", ":authority: ok.test", ":path: /v1/a"}
	post := append([]string{":method: POST"}, get[1:]...)
	repeat := func(write func(i uint32) error) error {
		for i := range uint32(many) {
			if err := write(i); err != nil {
				return err
			}
		}
		return nil
	}
	for name, attack := range map[string]struct {
		send func(f *frames) error
		want int // requests at most
	}{
		"PING": {func(f *frames) error {
			return repeat(func(i uint32) error { return f.WritePing(false, [8]byte{byte(i)}) })
		}, 0},
		"SETTINGS": {func(f *frames) error {
			return repeat(func(i uint32) error {
				return f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: i})
			})
		}, 0},
		"PRIORITY": {func(f *frames) error {
			return repeat(func(i uint32) error { return f.WritePriority(2*i+1, http2.PriorityParam{StreamDep: 2*i + 3}) })
		}, 0},
		"WINDOW_UPDATE": {func(f *frames) error { return repeat(func(uint32) error { return f.WriteWindowUpdate(0, 1) }) }, 0},
		"empty DATA": {func(f *frames) error {
			return cmp.Or(f.head(1, false, post...), repeat(func(uint32) error { return f.WriteData(1, false, nil) }))
		}, 1},
		"padding": {func(f *frames) error {
			return cmp.Or(f.head(1, false, post...), repeat(func(uint32) error { return f.WriteDataPadded(1, false, nil, make([]byte, 255)) }))
		}, 1},
		"empty CONTINUATION": {func(f *frames) error {
			return cmp.Or(f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndStream: true}),
				repeat(func(uint32) error { return f.WriteContinuation(1, false, nil) }))
		}, 0},
		"empty heads": {func(f *frames) error {
			return repeat(func(i uint32) error {
				return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, EndStream: true, EndHeaders: true})
			})
		}, 0},
		"one field of a table, a thousand times": {func(f *frames) error {
			// Fills the table with a field of 4,000 bytes and names it by its index, 62.
			if err := f.head(1, true, append(slices.Clone(get), "x: "+strings.Repeat("y", 4000))...); err != nil {
				return err
			}
			block := slices.Repeat([]byte{0x80 | 62}, 1000)
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: block, EndStream: true, EndHeaders: true})
		}, 1},
		"a larger table than is offered": {func(f *frames) error {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x3f, 0xe1, 0xff, 0xff, 0x7f},
				EndStream: true, EndHeaders: true})
		}, 0},
		"a table that is asked for": {func(f *frames) error {
			return cmp.Or(f.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 1<<32 - 1}), f.head(1, true, get...))
		}, 1},
		"another setting for extended CONNECT": {func(f *frames) error {
			return cmp.Or(f.WriteSettings(http2.Setting{ID: 8, Val: 1}),
				f.head(1, false, ":method: CONNECT", ":protocol: websocket", ":scheme: https",
					":authority: ok.test", ":path: /v1/a", "sec-websocket-version: 13"))
		}, 0},
		"a stream that depends on itself": {func(f *frames) error {
			return cmp.Or(f.WritePriority(1, http2.PriorityParam{StreamDep: 1}), f.head(1, true, get...))
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, []string{"h2"}, nil)
			b := newBox(t, h)
			conn := b.dial("h2")
			f := newFrames(t, conn)
			ended := make(chan struct{})
			go func() { _, _ = io.Copy(io.Discard, conn); close(ended) }()
			// Streams may end the connection, which the client notices by its writes.
			err := attack.send(f)
			if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, os.ErrDeadlineExceeded) &&
				!errors.Is(err, io.ErrClosedPipe) {
				t.Log(err)
			}
			if res, _ := ask(t, b.client("h2"), http.MethodGet, "https://ok.test/v1/honest", nil); res.StatusCode != http.StatusOK {
				t.Errorf("%d", res.StatusCode)
			}
			conn.Close()
			<-ended
			got := slices.DeleteFunc(h.requests(), func(r string) bool { return strings.HasPrefix(r, "GET /v1/honest ") })
			if checkRequests(t, h, -1); len(got) > attack.want {
				t.Errorf("%d requests arrived, want at most %d: %.300q", len(got), attack.want, got)
			}
		})
	}
}

// Attack: a client chooses no protocol in TLS and speaks HTTP/2, or chooses one and speaks the other.
func TestAttackOperationAnotherProtocolThanWasChosen(t *testing.T) {
	for name, offered := range map[string][]string{"none": nil, "HTTP/1.1": {"http/1.1"}} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, []string{"h2", "http/1.1"}, nil)
			conn := newBox(t, h).dial(offered...)
			f := newFrames(t, conn)
			_ = f.head(1, true, ":method: GET", ":scheme: https", ":authority: ok.test", ":path: /v1/a")
			f.settle(1)
			checkArrived(t, h, 0)
		})
	}
	h := newHost(t, []string{"h2", "http/1.1"}, nil)
	conn := newBox(t, h).dial("h2")
	_, _ = io.WriteString(conn, lastRequest)
	_, _ = io.Copy(io.Discard, conn)
	checkArrived(t, h, 0)
	for version, name := range map[uint16]string{tls.VersionTLS10: "TLS 1.0", tls.VersionTLS11: "TLS 1.1"} {
		b := newBox(t, h)
		conn, err := tls.Dial("tcp", b.addr, &tls.Config{ServerName: "ok.test", RootCAs: b.roots, MinVersion: version, MaxVersion: version})
		if err == nil {
			conn.Close()
			t.Errorf("%s is spoken", name)
		}
	}
}

// Attack: an interim answer leads past the relay, as Alt-Svc does.
func TestAttackOperationAltSvcInAnInterimAnswer(t *testing.T) {
	for _, protocol := range protocols() {
		h := newHost(t, []string{protocol}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Alt-Svc", `h3="evil.test:443"`)
			w.Header().Set("Link", "</style.css>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusOK)
		})
		seen := interim(t, newBox(t, h).client(protocol))
		if len(seen) != 1 || seen[0].Get("Link") == "" || seen[0].Get("Alt-Svc") != "" {
			t.Errorf("%s: interim answers %v", protocol, seen)
		}
	}
}

// interim returns the heads of the interim answers to a request.
func interim(t *testing.T, c *http.Client) (all []http.Header) {
	t.Helper()
	trace := &httptrace.ClientTrace{Got1xxResponse: func(_ int, header textproto.MIMEHeader) error {
		all = append(all, http.Header(header).Clone())
		return nil
	}}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodGet, "https://ok.test/v1/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if got := res.Header.Get("Alt-Svc"); res.StatusCode != http.StatusOK || got != "" {
		t.Errorf("%s, Alt-Svc %q", res.Status, got)
	}
	return all
}
