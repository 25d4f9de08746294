package relay_test

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// secret is the path that no entry of an attack's box allows. An attack held when
// no request for it, and none of another method, arrived.
const secret = "/v2/secret"

// lastRequest ends a connection: the relay closes behind its response. Several of
// them also fill bodies that an attack announced and did not send.
const lastRequest = "GET /v1/last HTTP/1.1\r\nHost: ok.test\r\nConnection: close\r\n\r\n"

// checkArrived fails when something arrived that the entry does not allow, as a
// request or as bytes that look like one.
func checkArrived(t *testing.T, h *host, want int) {
	t.Helper()
	checkRequests(t, h, want)
	for line := range strings.Lines(h.bytes()) {
		if first, _, _ := strings.Cut(line, " "); strings.HasSuffix(strings.TrimSpace(line), " HTTP/1.1") &&
			(!slices.Contains([]string{"GET", "POST", "HEAD"}, first) || !strings.Contains(line, " /v1/")) {
			t.Errorf("arrived as bytes: %q", line)
		}
	}
}

// checkRequests fails when a request arrived that the entry does not allow.
func checkRequests(t *testing.T, h *host, want int) {
	t.Helper()
	got := slices.DeleteFunc(h.requests(), func(r string) bool { return strings.HasPrefix(r, "GET /v1/last ok.test ") })
	for _, r := range got {
		method, rest, _ := strings.Cut(r, " ")
		path, rest, _ := strings.Cut(rest, " ")
		name, _, _ := strings.Cut(rest, " ")
		if !slices.Contains([]string{"GET", "POST", "HEAD"}, method) || !strings.HasPrefix(path, "/v1/") ||
			strings.Contains(path, "..") || name != "ok.test" {
			t.Errorf("arrived: %s", r)
		}
	}
	if want >= 0 && len(got) != want {
		t.Errorf("%d requests arrived, want %d: %q", len(got), want, got)
	}
}

// TestAttackOperationHTTP1 sends bytes that some server reads in another way than
// the relay. want is how many requests may arrive, -1 = any number of allowed ones.
func TestAttackOperationHTTP1(t *testing.T) {
	const usualHead = "Host: ok.test\r\n"
	hidden := "GET " + secret + " HTTP/1.1\r\nHost: ok.test\r\n\r\n"
	for name, attack := range map[string]struct {
		bytes string
		want  int
	}{
		"honest":                       {"GET /v1/a HTTP/1.1\r\n" + usualHead + "\r\n", 1},
		"another path":                 {hidden, 0},
		"another method":               {"DELETE /v1/a HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"method in small letters":      {"get /v1/a HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"dot segments":                 {"GET /v1/../v2/secret HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"encoded dots":                 {"GET /v1/%2e%2e/v2/secret HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"half encoded dots":            {"GET /v1/.%2E/v2/secret HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"dots behind a parameter":      {"GET /v1/..;/v2/secret HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"encoded slash":                {"GET /v1/..%2fv2%2fsecret HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"encoded twice":                {"GET /v1/%252e%252e/v2/secret HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"backslash":                    {"GET /v1/..\\v2\\secret HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"encoded backslash":            {"GET /v1/..%5cv2 HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"empty segment":                {"GET /v1//v2/secret HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"two slashes at the beginning": {"GET //v2/secret HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"long form of UTF-8":           {"GET /v1/%c0%ae%c0%ae/v2 HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"encoded end of a string":      {"GET /v1/a%00 HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"encoded line's end":           {"GET /v1/a%0d%0aX:%20y HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"encoded question mark":        {"GET /v1/a%3f HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"fragment":                     {"GET /v1/a#/../v2 HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"fragment in the query":        {"GET /v1/a?b#c HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"bytes that are no ASCII":      {"GET /v1/\xc3\xa9 HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"such bytes in the query":      {"GET /v1/a?\xff HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"a space in the target":        {"GET /v1/a /v2/secret HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"a tab in the target":          {"GET /v1/a\t/v2 HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"a whole URL":                  {"GET https://ok.test/v1/a HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"a URL of another host":        {"GET https://evil.test/v1/a HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"no path":                      {"GET v1/a HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"an asterisk":                  {"OPTIONS * HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"CONNECT":                      {"CONNECT ok.test:443 HTTP/1.1\r\n" + usualHead + "\r\n" + hidden, 0},
		"CONNECT to a path":            {"CONNECT /v1/a HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"TRACE":                        {"TRACE /v1/a HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"another host":                 {"GET /v1/a HTTP/1.1\r\nHost: evil.test\r\n\r\n", 0},
		"two hosts":                    {"GET /v1/a HTTP/1.1\r\nHost: ok.test\r\nHost: evil.test\r\n\r\n", 0},
		"two hosts, the same":          {"GET /v1/a HTTP/1.1\r\nHost: ok.test\r\nHost: ok.test\r\n\r\n", 0},
		"no host":                      {"GET /v1/a HTTP/1.1\r\n\r\n", 0},
		"an empty host":                {"GET /v1/a HTTP/1.1\r\nHost:\r\n\r\n", 0},
		"a host with a user":           {"GET /v1/a HTTP/1.1\r\nHost: ok.test@evil.test\r\n\r\n", 0},
		"a host with another port":     {"GET /v1/a HTTP/1.1\r\nHost: ok.test:8443\r\n\r\n", 0},
		"a host with two ports":        {"GET /v1/a HTTP/1.1\r\nHost: ok.test:443:80\r\n\r\n", 0},
		"a host list":                  {"GET /v1/a HTTP/1.1\r\nHost: ok.test, evil.test\r\n\r\n", 0},
		"a host with a dot at its end": {"GET /v1/a HTTP/1.1\r\nHost: ok.test.\r\n\r\n", 0},
		"a host with a path":           {"GET /v1/a HTTP/1.1\r\nHost: ok.test/v2\r\n\r\n", 0},
		"a space before a colon":       {"GET /v1/a HTTP/1.1\r\nHost : evil.test\r\nHost: ok.test\r\n\r\n", 0},
		"X-HTTP-Method-Override":       {"POST /v1/a HTTP/1.1\r\n" + usualHead + "X-HTTP-Method-Override: DELETE\r\n\r\n", 0},
		"with underscores":             {"POST /v1/a HTTP/1.1\r\n" + usualHead + "X_HTTP_Method_Override: DELETE\r\n\r\n", 0},
		"with dots":                    {"POST /v1/a HTTP/1.1\r\n" + usualHead + "X.HTTP.Method.Override: DELETE\r\n\r\n", 0},
		"with other signs":             {"POST /v1/a HTTP/1.1\r\n" + usualHead + "X~HTTP!Method'Override: DELETE\r\n\r\n", 0},
		"X.Original^URL":               {"GET /v1/a HTTP/1.1\r\n" + usualHead + "X.Original^URL: /v2/secret\r\n\r\n", 0},
		"Content_Type": {"POST /v1/a HTTP/1.1\r\n" + usualHead +
			"Content-Type: text/plain\r\nContent_Type: application/x-www-form-urlencoded\r\nContent-Length: 7\r\n\r\n_method", 0},
		"Content_Type alone": {"POST /v1/a HTTP/1.1\r\n" + usualHead +
			"Content-Type: text/plain\r\nContent.Type: application/json\r\n\r\n", 0},
		"Transfer_Encoding": {"POST /v1/a HTTP/1.1\r\n" + usualHead +
			"Transfer_Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + hidden, 0},
		"Content_Length":   {"POST /v1/a HTTP/1.1\r\n" + usualHead + "Content_Length: 0\r\nContent-Length: 44\r\n\r\n" + hidden, 0},
		"Content.Encoding": {"POST /v1/a HTTP/1.1\r\n" + usualHead + "Content.Encoding: gzip\r\n\r\n", 0},
		"a body of OPTIONS": {fmt.Sprintf("OPTIONS /v1/a HTTP/1.1\r\n"+usualHead+"Content-Length: %d\r\n\r\n",
			len(hidden)) + hidden, 0},
		"chunks of a GET":              {"GET /v1/a HTTP/1.1\r\n" + usualHead + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, 0},
		"three dots":                   {"GET /v1/.../v2/secret HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"dots and a space":             {"GET /v1/..%20/v2/secret HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"dots and spaces":              {"GET /v1/.%20.%20/v2/secret HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"wide dots":                    {"GET /v1/%EF%BC%8E%EF%BC%8E/v2/secret HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"a leader of two dots":         {"GET /v1/%E2%80%A5/v2/secret HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"a wide slash":                 {"GET /v1/a%EF%BC%8F.%EF%BC%8Ev2 HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"a wide percent sign":          {"GET /v1/%EF%BC%852e%EF%BC%852e/v2 HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"an escape of IIS":             {"GET /v1/%u002e%u002e/v2/secret HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"a method with a space":        {"GET  /v1/a HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"an empty line, then another":  {"\r\n" + hidden, 0},
		"a version with a space":       {"GET /v1/a HTTP/ 1.1\r\n" + usualHead + "\r\n", 0},
		"a length with a space":        {"POST /v1/a HTTP/1.1\r\n" + usualHead + "Content-Length: 4 4\r\n\r\n" + hidden, 0},
		"a length that is too large":   {"POST /v1/a HTTP/1.1\r\n" + usualHead + "Content-Length: 18446744073709551616\r\n\r\n" + hidden, 0},
		"an empty length":              {"POST /v1/a HTTP/1.1\r\n" + usualHead + "Content-Length:\r\n\r\n" + hidden, 0},
		"a chunk size in other digits": {"POST /v1/a HTTP/1.1\r\n" + usualHead + "Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n" + hidden, -1},
		"a chunk size with a space":    {"POST /v1/a HTTP/1.1\r\n" + usualHead + "Transfer-Encoding: chunked\r\n\r\n 0\r\n\r\n" + hidden, -1},
		"a chunk size that overflows": {"POST /v1/a HTTP/1.1\r\n" + usualHead +
			"Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n" + hidden, -1},
		"a chunk ended by a line feed": {"POST /v1/a HTTP/1.1\r\n" + usualHead + "Transfer-Encoding: chunked\r\n\r\n1\nx\n0\n\n" + hidden, -1},
		"a trailer that is a request":  {"POST /v1/a HTTP/1.1\r\n" + usualHead + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + hidden, -1},
		"HTTP/1.0 with chunks":         {"POST /v1/a HTTP/1.0\r\n" + usualHead + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, -1},
		"TE names another coding":      {"GET /v1/a HTTP/1.1\r\n" + usualHead + "TE: gzip, trailers\r\nConnection: TE\r\n\r\n" + hidden, 1},
		"Connection names the length": {"POST /v1/a HTTP/1.1\r\n" + usualHead +
			"Connection: Content-Length\r\nContent-Length: 44\r\n\r\n" + hidden, 0},
		"Expect of a GET":          {"GET /v1/a HTTP/1.1\r\n" + usualHead + "Expect: 100-continue\r\n\r\n" + hidden, -1},
		"a protocol as the method": {"HTTP/1.1 /v1/a HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"a whole URL with a user":  {"GET https://ok.test@evil.test/v1/a HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"a URL without a scheme":   {"GET //ok.test/v1/a HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"_method":                  {"POST /v1/a?_method=DELETE HTTP/1.1\r\n" + usualHead + "\r\n", 0},
		"X-Original-URL":           {"GET /v1/a HTTP/1.1\r\n" + usualHead + "X-Original-URL: /v2/secret\r\n\r\n", 0},
		"X-Rewrite-URL":            {"GET /v1/a HTTP/1.1\r\n" + usualHead + "X-Rewrite-URL: /v2/secret\r\n\r\n", 0},
		"X-Forwarded-Host":         {"GET /v1/a HTTP/1.1\r\n" + usualHead + "X-Forwarded-Host: evil.test\r\n\r\n", 0},
		"Forwarded":                {"GET /v1/a HTTP/1.1\r\n" + usualHead + "Forwarded: host=evil.test\r\n\r\n", 0},
		"two content types":        {"POST /v1/a HTTP/1.1\r\n" + usualHead + "Content-Type: a/b\r\nContent-Type: c/d\r\n\r\n", 0},
		"Connection takes a field out": {"GET /v1/a HTTP/1.1\r\n" + usualHead +
			"Connection: close, Authorization\r\nAuthorization: x\r\n\r\n", 0},
		"WebSocket": {"GET /v1/a HTTP/1.1\r\n" + usualHead +
			"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n", 0},
		"h2c": {"GET /v1/a HTTP/1.1\r\n" + usualHead +
			"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n", 0},
		"HTTP/2's preface": {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0},
		"Upgrade alone":    {"GET /v1/a HTTP/1.1\r\n" + usualHead + "Upgrade: x\r\n\r\n", 0},
		"announced trailers": {"POST /v1/a HTTP/1.1\r\n" + usualHead +
			"Trailer: X\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n\r\n", 0},
		"Expect with another word": {"POST /v1/a HTTP/1.1\r\n" + usualHead + "Expect: 200-maybe\r\nContent-Length: 1\r\n\r\nx", 0},
		"two lengths":              {"POST /v1/a HTTP/1.1\r\n" + usualHead + "Content-Length: 0\r\nContent-Length: 44\r\n\r\n" + hidden, 0},
		"a list of lengths":        {"POST /v1/a HTTP/1.1\r\n" + usualHead + "Content-Length: 0, 44\r\n\r\n" + hidden, 0},
		"a length with a sign":     {"POST /v1/a HTTP/1.1\r\n" + usualHead + "Content-Length: +0\r\n\r\n" + hidden, 0},
		"a length in hex":          {"POST /v1/a HTTP/1.1\r\n" + usualHead + "Content-Length: 0x10\r\n\r\n" + hidden, 0},
		"length and chunks": {
			fmt.Sprintf("POST /v1/a HTTP/1.1\r\n"+usualHead+"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
				5+len(hidden)) + hidden, -1},
		"chunks by another name": {"POST /v1/a HTTP/1.1\r\n" + usualHead +
			"Transfer-Encoding: xchunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n" + hidden, 0},
		"chunks twice": {"POST /v1/a HTTP/1.1\r\n" + usualHead +
			"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + hidden, 0},
		"chunks behind a tab": {"POST /v1/a HTTP/1.1\r\n" + usualHead +
			"Transfer-Encoding:\tchunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n" + hidden, -1},
		"a folded field":         {"POST /v1/a HTTP/1.1\r\n" + usualHead + "X: y\r\n Content-Length: 44\r\n\r\n" + hidden, -1},
		"a bare line feed":       {"POST /v1/a HTTP/1.1\n" + usualHead + "Content-Length: 0\n\n" + hidden, -1},
		"a bare carriage return": {"GET /v1/a HTTP/1.1\r\n" + usualHead + "X: y\rContent-Length: 44\r\n\r\n" + hidden, 0},
		"a zero byte in a field": {"GET /v1/a HTTP/1.1\r\n" + usualHead + "X: y\x00z\r\n\r\n", 0},
		"a chunk that is longer": {"POST /v1/a HTTP/1.1\r\n" + usualHead +
			"Transfer-Encoding: chunked\r\n\r\n1\r\nxx0\r\n\r\n" + hidden, -1},
		"a chunk extension": {"POST /v1/a HTTP/1.1\r\n" + usualHead + "Transfer-Encoding: chunked\r\n\r\n0;\n" +
			hidden + "\r\n\r\n", -1},
		"a chunk of negative size": {"POST /v1/a HTTP/1.1\r\n" + usualHead + "Transfer-Encoding: chunked\r\n\r\n-1\r\n" + hidden, -1},
		"a trailer with a length": {"POST /v1/a HTTP/1.1\r\n" + usualHead +
			"Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 44\r\n\r\n" + hidden, 1},
		"a body of a GET": {fmt.Sprintf("GET /v1/a HTTP/1.1\r\n"+usualHead+"Content-Length: %d\r\n\r\n", len(hidden)) + hidden, 0},
		"the next one at once": {"GET /v1/a HTTP/1.1\r\n" + usualHead + "\r\n" + hidden +
			"GET /v1/b HTTP/1.1\r\n" + usualHead + "\r\n", 2},
		"the next one for another host": {"GET /v1/a HTTP/1.1\r\n" + usualHead + "\r\nGET /v1/a HTTP/1.1\r\nHost: evil.test\r\n\r\n", 1},
		"HTTP/1.0":                      {"GET /v1/a HTTP/1.0\r\n" + usualHead + "\r\n" + hidden, 1},
		"HTTP/0.9":                      {"GET /v1/a\r\n\r\n", 0},
		"HTTP/1.2":                      {"GET /v1/a HTTP/1.2\r\n" + usualHead + "\r\n", -1},
		"too many fields":               {"GET /v1/a HTTP/1.1\r\n" + usualHead + strings.Repeat("X: y\r\n", 200) + "\r\n", 0},
		"too large a field":             {"GET /v1/a HTTP/1.1\r\n" + usualHead + "X: " + strings.Repeat("y", 128<<10) + "\r\n\r\n", 0},
		"too long a path":               {"GET /v1/" + strings.Repeat("y", 9<<10) + " HTTP/1.1\r\n" + usualHead + "\r\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, []string{"http/1.1"}, nil)
			conn := newBox(t, h).dial("http/1.1")
			// The relay may answer and close before it has read everything.
			go func() { _, _ = io.WriteString(conn, attack.bytes+strings.Repeat(lastRequest, 8)) }()
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the relay waits for more")
			}
			checkArrived(t, h, attack.want)
		})
	}
}

// frames is an HTTP/2 client that sends what it is told to.
type frames struct {
	*http2.Framer
	fields bytes.Buffer
	coder  *hpack.Encoder
}

func newFrames(t *testing.T, conn io.ReadWriter) *frames {
	t.Helper()
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	f := &frames{Framer: http2.NewFramer(conn, bufio.NewReader(conn))}
	f.AllowIllegalWrites = true
	f.coder = hpack.NewEncoder(&f.fields)
	if err := f.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return f
}

// head sends the fields "name: value" of a request.
func (f *frames) head(stream uint32, end bool, fields ...string) error {
	f.fields.Reset()
	for _, field := range fields {
		i := strings.Index(field[1:], ": ") + 1
		if err := f.coder.WriteField(hpack.HeaderField{Name: field[:i], Value: field[i+2:]}); err != nil {
			return err
		}
	}
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: f.fields.Bytes(), EndStream: end, EndHeaders: true})
}

// settle reads until so many streams have ended, or the connection has.
func (f *frames) settle(streams int) (statuses int) {
	for streams > 0 {
		frame, err := f.ReadFrame()
		if err != nil {
			return statuses
		}
		switch frame := frame.(type) {
		case *http2.HeadersFrame:
			statuses++
			if frame.StreamEnded() {
				streams--
			}
		case *http2.DataFrame:
			if frame.StreamEnded() {
				streams--
			}
		case *http2.RSTStreamFrame:
			streams--
		case *http2.GoAwayFrame:
			return statuses
		case *http2.SettingsFrame:
			if !frame.IsAck() && f.WriteSettingsAck() != nil {
				return statuses
			}
		}
	}
	return statuses
}

// TestAttackOperationHTTP2 sends fields that some server reads in another way.
func TestAttackOperationHTTP2(t *testing.T) {
	honest := []string{":method: GET", ":scheme: https", ":authority: ok.test", ":path: /v1/a"}
	replaced := func(field string) []string {
		out := slices.Clone(honest)
		name := field[:strings.Index(field[1:], ": ")+1]
		return append([]string{field}, slices.DeleteFunc(out, func(f string) bool { return strings.HasPrefix(f, name+": ") })...)
	}
	with := func(fields ...string) []string { return append(slices.Clone(honest), fields...) }
	for name, attack := range map[string]struct {
		fields []string
		want   int
	}{
		"honest":                       {honest, 1},
		"another path":                 {replaced(":path: " + secret), 0},
		"another method":               {replaced(":method: DELETE"), 0},
		"another authority":            {replaced(":authority: evil.test"), 0},
		"no authority":                 {honest[:2:2], 0},
		"Host in its place":            {[]string{":method: GET", ":scheme: https", ":path: /v1/a", "host: evil.test"}, 0},
		"Host against :authority":      {with("host: evil.test"), 0},
		"two hosts":                    {with("host: ok.test", "host: evil.test"), 0},
		"two paths":                    {with(":path: " + secret), 0},
		"two methods":                  {with(":method: DELETE"), 0},
		"two authorities":              {with(":authority: evil.test"), 0},
		"a pseudo field behind others": {[]string{":method: GET", ":scheme: https", ":authority: ok.test", "x: y", ":path: /v1/a"}, 0},
		"an unknown pseudo field":      {with(":status: 200"), 0},
		"a field with dots":            {with("x.original.url: " + secret), 0},
		"a misspelt type":              {with("content_type: a/b"), 0},
		"a misspelt length":            {with("content_length: 7"), 0},
		"dots and a space":             {replaced(":path: /v1/..%20/v2/secret"), 0},
		"wide dots":                    {replaced(":path: /v1/%EF%BC%8E%EF%BC%8E/v2/secret"), 0},
		"a protocol of its own":        {append([]string{":method: CONNECT", ":protocol: websocket"}, honest[1:]...), 0},
		"a scheme that is none":        {replaced(":scheme: https://evil.test/?"), -1},
		"dot segments":                 {replaced(":path: /v1/../v2/secret"), 0},
		"encoded dots":                 {replaced(":path: /v1/%2e%2e/v2/secret"), 0},
		"a whole URL as the path":      {replaced(":path: https://ok.test/v1/a"), 0},
		"an empty path":                {[]string{":method: GET", ":scheme: https", ":authority: ok.test", ":path: "}, 0},
		"an asterisk":                  {replaced(":path: *"), 0},
		"a line's end in the path":     {replaced(":path: /v1/a HTTP/1.1\r\nHost: ok.test\r\n\r\nGET " + secret), 0},
		"a space in the path":          {replaced(":path: /v1/a /v2"), 0},
		"a fragment":                   {replaced(":path: /v1/a#b"), 0},
		"a line's end in the method":   {replaced(":method: GET " + secret + " HTTP/1.1\r\nX:"), 0},
		"a line's end in a value":      {with("x: y\r\nhost: evil.test"), 0},
		"a line's end in a name":       {with("x: y", "a\r\nb: c"), 0},
		"a name in capitals":           {with("Host: evil.test"), 0},
		"a name with a colon":          {with("a:b: c"), 0},
		"Connection":                   {with("connection: close"), 0},
		"Transfer-Encoding":            {with("transfer-encoding: chunked"), 0},
		"Upgrade":                      {with("upgrade: websocket"), 0},
		"TE with another word":         {with("te: gzip"), 0},
		"X-HTTP-Method-Override":       {with("x-http-method-override: DELETE"), 0},
		"X-Original-URL":               {with("x-original-url: " + secret), 0},
		"X-Rewrite-URL":                {with("x_rewrite_url: " + secret), 0},
		"trailers announced":           {with("trailer: x"), 0},
		"CONNECT":                      {[]string{":method: CONNECT", ":authority: ok.test:443"}, 0},
		"extended CONNECT": {[]string{":method: CONNECT", ":protocol: websocket", ":scheme: https",
			":authority: ok.test", ":path: /v1/a"}, 0},
		"a user in the authority":   {replaced(":authority: ok.test@evil.test"), 0},
		"another port":              {replaced(":authority: ok.test:8443"), 0},
		"too many fields":           {with(slices.Repeat([]string{"x: y"}, 200)...), 0},
		"too large a field":         {with("x: " + strings.Repeat("y", 128<<10)), 0},
		"a length that is not true": {with("content-length: 44"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, []string{"h2"}, nil)
			f := newFrames(t, newBox(t, h).dial("h2"))
			if err := f.head(1, true, attack.fields...); err != nil {
				t.Fatal(err)
			}
			f.settle(1)
			checkArrived(t, h, attack.want)
		})
	}
}

// TestAttackOperationFrames sends frames in an order in which some server takes them for other
// requests. want is as of TestAttackOperationHTTP2, of POST and GET.
func TestAttackOperationFrames(t *testing.T) {
	post := []string{":method: POST", ":scheme: https", ":authority: ok.test", ":path: /v1/a"}
	other := []string{":method: GET", ":scheme: https", ":authority: ok.test", ":path: " + secret}
	block := func(f *frames, fields []string) []byte {
		f.fields.Reset()
		for _, field := range fields {
			i := strings.Index(field[1:], ": ") + 1
			_ = f.coder.WriteField(hpack.HeaderField{Name: field[:i], Value: field[i+2:]})
		}
		return bytes.Clone(f.fields.Bytes())
	}
	for name, attack := range map[string]struct {
		send func(f *frames) error
		want int
	}{
		"honest": {func(f *frames) error { return cmp.Or(f.head(1, false, post...), f.WriteData(1, true, []byte("x"))) }, 1},
		"trailers with a path": {func(f *frames) error {
			return cmp.Or(f.head(1, false, post...), f.WriteData(1, false, []byte("x")), f.head(1, true, other...))
		}, 0},
		"trailers with another method": {func(f *frames) error {
			return cmp.Or(f.head(1, false, post...), f.WriteData(1, false, []byte("x")), f.head(1, true, "x-http-method-override: DELETE"))
		}, 1},
		"a second head before the body": {func(f *frames) error {
			return cmp.Or(f.head(1, false, post...), f.head(1, false, other...), f.WriteData(1, true, []byte("x")))
		}, 0},
		"a head in pieces, with another's between": {func(f *frames) error {
			b := block(f, post)
			return cmp.Or(f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b[:4], EndStream: true}), f.head(3, true, other...),
				f.WriteContinuation(1, true, b[4:]))
		}, 0},
		"a piece of another stream's": {func(f *frames) error {
			b := block(f, other)
			return cmp.Or(f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b[:4], EndStream: true}),
				f.WriteContinuation(3, true, b[4:]))
		}, 0},
		"a piece alone": {func(f *frames) error { return f.WriteContinuation(1, true, block(f, other)) }, 0},
		"pieces without an end": {func(f *frames) error {
			err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(f, post), EndStream: true})
			for range 200 {
				err = cmp.Or(err, f.WriteContinuation(1, false, block(f, []string{"x: " + strings.Repeat("y", 4<<10)})))
			}
			return err
		}, 0},
		"a request inside a body": {func(f *frames) error { return cmp.Or(f.head(1, false, post...), f.WriteData(1, true, block(f, other))) }, 1},
		"a body behind the end": {func(f *frames) error {
			return cmp.Or(f.head(1, true, post...), f.WriteData(1, true, []byte("GET "+secret)))
		}, -1},
		"a head behind the end": {func(f *frames) error { return cmp.Or(f.head(1, true, post...), f.head(1, true, other...)) }, -1},
		"an even stream":        {func(f *frames) error { return f.head(2, true, other...) }, 0},
		"stream 0":              {func(f *frames) error { return f.head(0, true, other...) }, 0},
		"an older stream":       {func(f *frames) error { return cmp.Or(f.head(5, true, post...), f.head(3, true, other...)) }, -1},
		"a promise of the client's": {func(f *frames) error {
			return f.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, BlockFragment: block(f, other), EndHeaders: true})
		}, 0},
		"a frame that nobody knows": {func(f *frames) error {
			return cmp.Or(f.WriteRawFrame(0xbe, 0, 0, []byte("GET "+secret)), f.head(1, true, post...))
		}, 1},
		"HTTP/1.1 behind the preface": {func(f *frames) error {
			return cmp.Or(f.WriteRawFrame('G', 'E', 'T', []byte(" "+secret+" HTTP/1.1\r\nHost: ok.test\r\n\r\n")), f.head(85, true, post...))
		}, 1},
		"an index that is none": {func(f *frames) error {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0xff, 0xff, 0xff, 0x7f},
				EndStream: true, EndHeaders: true})
		}, 0},
		"a length in the trailers": {func(f *frames) error {
			return cmp.Or(f.head(1, false, post...), f.WriteData(1, false, []byte("x")),
				f.head(1, true, "content-length: 44", "transfer-encoding: chunked"))
		}, 1},
		"more than the length": {func(f *frames) error {
			return cmp.Or(f.head(1, false, append(slices.Clone(post), "content-length: 1")...), f.WriteData(1, true, []byte("xGET "+secret)))
		}, -1},
		"less than the length": {func(f *frames) error {
			return cmp.Or(f.head(1, false, append(slices.Clone(post), "content-length: 44")...), f.WriteData(1, true, []byte("x")))
		}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, []string{"h2"}, nil)
			f := newFrames(t, newBox(t, h).dial("h2"))
			if err := attack.send(f); err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
				t.Fatal(err)
			}
			f.settle(1)
			checkArrived(t, h, attack.want)
			for _, r := range h.requests() {
				if strings.HasSuffix(r, "GET "+secret) {
					t.Errorf("arrived: %s", r)
				}
			}
		})
	}
}

// TestAttackOperationRapidReset opens streams and resets them at once, more than
// the host could answer. The relay ends such a connection, or keeps up with it,
// and serves others.
func TestAttackOperationRapidReset(t *testing.T) {
	var under, most atomic.Int64
	h := newHost(t, []string{"h2"}, func(_ http.ResponseWriter, r *http.Request) {
		if n := under.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer under.Add(-1)
		if r.URL.Path != "/v1/honest" {
			<-r.Context().Done()
		}
	})
	b := newBox(t, h)
	conn := b.dial("h2")
	f := newFrames(t, conn)
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	for stream := uint32(1); stream < 20001; stream += 2 {
		if f.head(stream, true, ":method: GET", ":scheme: https", ":authority: ok.test", ":path: /v1/a") != nil ||
			f.WriteRSTStream(stream, http2.ErrCodeCancel) != nil {
			break // the relay ended the connection
		}
	}
	if res, _ := ask(t, b.client("h2"), http.MethodGet, "https://ok.test/v1/honest", nil); res.StatusCode != 200 {
		t.Errorf("%d", res.StatusCode)
	}
	if most.Load() > 2*200 {
		t.Errorf("%d streams were open at the host at a time", most.Load())
	}
}

// TestAttackOperationStreamsAreBounded asks for more at a time than a connection may.
func TestAttackOperationStreamsAreBounded(t *testing.T) {
	release := make(chan struct{})
	h := newHost(t, []string{"h2"}, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	f := newFrames(t, newBox(t, h).dial("h2"))
	const streams = 300
	for i := range uint32(streams) {
		if err := f.head(2*i+1, true, ":method: GET", ":scheme: https", ":authority: ok.test", ":path: /v1/a"); err != nil {
			t.Fatal(err)
		}
	}
	for refused := 0; refused < streams-200; { // those above the bound are refused while the others wait
		frame, err := f.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := frame.(*http2.RSTStreamFrame); ok && r.ErrCode == http2.ErrCodeRefusedStream {
			refused++
		}
	}
	close(release)
}

// TestAttackOperationSwitchThatIsNone asks for a page that answers 101, as sites do
// that answer with whatever status one asks for, and speaks on behind it.
func TestAttackOperationSwitchThatIsNone(t *testing.T) {
	for name, head := range map[string]string{
		"no protocol": "", "a protocol": "Connection: Upgrade\r\nUpgrade: websocket\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, []string{"http/1.1"}, func(w http.ResponseWriter, _ *http.Request) {
				conn, rw, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n"+head+"\r\n")
				for { // what comes is in h's bytes
					if _, err := rw.ReadByte(); err != nil {
						return
					}
				}
			})
			conn := newBox(t, h).dial("http/1.1")
			go func() {
				_, _ = io.WriteString(conn, "GET /v1/a HTTP/1.1\r\nHost: ok.test\r\n\r\nGET "+secret+" HTTP/1.1\r\nHost: ok.test\r\n\r\n"+lastRequest)
			}()
			answer, _ := io.ReadAll(conn)
			if strings.Contains(h.bytes(), secret) || !strings.HasPrefix(string(answer), "HTTP/1.1 502 ") {
				t.Errorf("arrived %q, answered %q", h.bytes(), answer)
			}
		})
	}
}
