package relay_test

import (
	"bufio"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall/credential"
)

// The key and its answer are the example of RFC 6455 section 1.3.
const (
	askForWebSocket = "Host: ok.test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
	rightAnswer = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
)

const webSocketEntry = "https://ok.test WEBSOCKET /ws/*"

// newEcho is a host that begins a WebSocket with an answer and returns its bytes.
func newEcho(t *testing.T, answer string) *host {
	return newHost(t, []string{"http/1.1"}, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			return
		}
		conn, both, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn,
			"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: "+answer+"\r\n\r\n")
		_, _ = io.Copy(conn, both)
	})
}

func TestAWebSocketThatAnEntryAllows(t *testing.T) {
	b := newBox(t, newEcho(t, rightAnswer), usual, webSocketEntry)
	c := b.dial("http/1.1")
	_, _ = io.WriteString(c, "GET /ws/a?x=1 HTTP/1.1\r\n"+askForWebSocket+"\r\n")
	from := bufio.NewReader(c)
	res, err := http.ReadResponse(from, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%+v, %v", res, err)
	}
	for _, frame := range []string{"\x81\x05hello", strings.Repeat("\x00\xff", 1<<16)} {
		go func() { _, _ = io.WriteString(c, frame) }()
		got := make([]byte, len(frame))
		if _, err := io.ReadFull(from, got); err != nil || string(got) != frame {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
	if want := []string{"allow http WEBSOCKET /ws/a: the entry names this method and path"}; !slices.Equal(b.recorded(), want) {
		t.Errorf("recorded %q", b.recorded())
	}
	b.relay.Close()
}

// Attack: an entry for a WebSocket as a way to requests that nobody judges. Judged by
// the bytes that arrive.
func TestAttackOperationBehindAWebSocket(t *testing.T) {
	ask := func(line string, change ...string) string {
		return line + strings.NewReplacer(append(change, "\x00", "")...).Replace(askForWebSocket) + "\r\n"
	}
	const get = "GET /ws/a HTTP/1.1\r\n"
	for name, attack := range map[string]struct{ answer, words string }{
		"a host that does not agree":       {"other", ask(get)},
		"a host that answers another key":  {rightAnswer, ask(get, "dGhl", "eGhl")},
		"a host that answers with nothing": {"", ask(get)},
		"another path":                     {rightAnswer, ask("GET /v1/a HTTP/1.1\r\n")},
		"another method":                   {rightAnswer, ask("POST /ws/a HTTP/1.1\r\n")},
		"the word as a method":             {rightAnswer, ask("WEBSOCKET /ws/a HTTP/1.1\r\n")},
		"the word alone":                   {rightAnswer, "WEBSOCKET /ws/a HTTP/1.1\r\nHost: ok.test\r\n\r\n"},
		"no upgrade":                       {rightAnswer, "GET /ws/a HTTP/1.1\r\nHost: ok.test\r\n\r\n"},
		"another protocol":                 {rightAnswer, ask(get, "WebSocket\r\n", "h2c\r\n")},
		"two protocols":                    {rightAnswer, ask(get, "Upgrade: WebSocket\r\n", "Upgrade: websocket\r\nUpgrade: h2c\r\n")},
		"a list of protocols":              {rightAnswer, ask(get, "WebSocket\r\n", "websocket, h2c\r\n")},
		"an old version":                   {rightAnswer, ask(get, ": 13", ": 8")},
		"a short key":                      {rightAnswer, ask(get, "dGhlIHNhbXBsZSBub25jZQ==", "dGhl")},
		"two keys": {rightAnswer,
			ask(get, "Sec-WebSocket-Version", "Sec-WebSocket-Key: eGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version")},
		"Connection does not name it": {rightAnswer, ask(get, ", Upgrade", "")},
		"Connection alone":            {rightAnswer, "GET /v1/a HTTP/1.1\r\nHost: ok.test\r\nConnection: Upgrade\r\n\r\n"},
		"a body":                      {rightAnswer, ask(get, "Connection", "Content-Length: 4\r\nConnection")},
		"steering":                    {rightAnswer, ask(get, "Connection", "X-Original-URL: /v2/secret\r\nConnection")},
	} {
		t.Run(name, func(t *testing.T) {
			h := newEcho(t, attack.answer)
			c := newBox(t, h, usual, webSocketEntry).dial("http/1.1")
			go func() {
				_, _ = io.WriteString(c, attack.words+"GET "+secret+" HTTP/1.1\r\nHost: ok.test\r\n\r\n"+lastRequest)
			}()
			answer, _ := io.ReadAll(c)
			if strings.Contains(h.bytes(), secret) || strings.HasPrefix(string(answer), "HTTP/1.1 101") {
				t.Errorf("arrived %q, answered %q", h.bytes(), answer)
			}
		})
	}
}

// Attack: a host that says in a WebSocket's messages, where nothing looks for it, which
// key came with the request.
func TestAttackKeyInAWebSocket(t *testing.T) {
	h := newEcho(t, rightAnswer)
	b := newBox(t, h, webSocketEntry)
	b.withKeys(map[string]string{"live": canary}, credential.Binding{Name: "live", For: webSocketEntry, As: "bearer"})
	c := b.dial("http/1.1")
	_, _ = io.WriteString(c, "GET /ws/a HTTP/1.1\r\n"+askForWebSocket+"\r\n")
	if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%+v, %v", res, err)
	}
	if strings.Contains(h.bytes(), canary) || !strings.Contains(h.bytes(), "GET /ws/a") {
		t.Errorf("arrived %q", h.bytes())
	}
}

// A WebSocket ends when its host does.
func TestAWebSocketEndsWithItsHost(t *testing.T) {
	h := newHost(t, []string{"http/1.1"}, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: "+
			rightAnswer+"\r\n\r\nbye")
		conn.Close()
	})
	c := newBox(t, h, webSocketEntry).dial("http/1.1")
	_, _ = io.WriteString(c, "GET /ws/a HTTP/1.1\r\n"+askForWebSocket+"\r\n")
	answer, err := io.ReadAll(c)
	if err != nil || !strings.HasSuffix(string(answer), "\r\n\r\nbye") {
		t.Errorf("%q, %v", answer, err)
	}
}
