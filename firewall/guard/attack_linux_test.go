package guard_test

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/guard"
)

// extension is one extension of a handmade ClientHello.
type extension struct {
	kind uint16
	data []byte
}

func vector(size int, body []byte) []byte {
	head := make([]byte, 4)
	binary.BigEndian.PutUint32(head, uint32(len(body)))
	return append(head[4-size:], body...)
}

func sni(names ...string) extension {
	var list []byte
	for _, n := range names {
		list = append(append(list, 0), vector(2, []byte(n))...)
	}
	return extension{0, vector(2, list)}
}

// helloMessage is a ClientHello of TLS 1.2's form with the given extensions.
func helloMessage(extensions ...extension) []byte {
	body := append([]byte{3, 3}, make([]byte, 32)...)
	body = append(body, vector(1, nil)...)                // session
	body = append(body, vector(2, []byte{0x13, 0x01})...) // cipher suites
	body = append(body, vector(1, []byte{0})...)          // compression
	if extensions != nil {
		var all []byte
		for _, e := range extensions {
			all = append(binary.BigEndian.AppendUint16(all, e.kind), vector(2, e.data)...)
		}
		body = append(body, vector(2, all)...)
	}
	return append([]byte{1}, vector(3, body)...)
}

func record(kind byte, payload []byte) []byte {
	return append([]byte{kind, 3, 1}, vector(2, payload)...)
}

func hello(extensions ...extension) string {
	return string(record(22, helloMessage(extensions...)))
}

func TestAttackOtherSiteBySNI(t *testing.T) {
	padding := extension{21, make([]byte, 40000)}
	for name, sent := range map[string]string{
		"another site":             hello(sni("evil.test")),
		"upper case":               hello(sni("EVIL.test")),
		"trailing dot":             hello(sni("evil.test.")),
		"no name":                  hello(extension{10, []byte{0, 0}}),
		"no extensions":            hello(),
		"an address":               hello(sni("127.0.0.1")),
		"an IPv6 address":          hello(sni("::1")),
		"NUL":                      hello(sni("ok.test\x00.evil.test")),
		"NUL at the end":           hello(sni("ok.test\x00")),
		"a space":                  hello(sni("ok.test evil.test")),
		"not ASCII":                hello(sni("ok。test")),
		"an empty name":            hello(sni("")),
		"an empty list":            hello(sni()),
		"two names":                hello(sni("ok.test", "evil.test")),
		"two names, same":          hello(sni("ok.test", "ok.test")),
		"two extensions":           hello(sni("ok.test"), sni("evil.test")),
		"two, the other way round": hello(sni("evil.test"), sni("ok.test")),
		"another type of name":     hello(extension{0, vector(2, append([]byte{1}, vector(2, []byte("ok.test"))...))}),
		"a dot at the end":         hello(sni("ok.test.")),
		"bytes behind the list":    hello(extension{0, append(vector(2, append([]byte{0}, vector(2, []byte("ok.test"))...)), 0)}),
		"a name on other address":  hello(sni("elsewhere.test")),
		"larger than the limit":    hello(sni("ok.test"), padding)[:16000],
		"behind another message":   string(record(22, append([]byte{4, 0, 0, 0}, helloMessage(sni("ok.test"))...))),
		"a message behind it":      string(record(22, append(helloMessage(sni("ok.test")), helloMessage(sni("evil.test"))...))),
		"an empty record":          string(record(22, nil)) + hello(sni("ok.test")),
		"an alert before it":       string(record(21, []byte{1, 0})) + hello(sni("ok.test")),
		"a record of no version 3": "\x16\x02\x00" + hello(sni("ok.test"))[3:],
		"an SSL 2 hello":           "\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10ok.test",
		"a length beyond its end":  string(record(22, append([]byte{1, 0, 0, 4}, 3, 3, 0, 0))),
		"SOCKS 4":                  "\x04\x01\x00\x50\x00\x00\x00\x01\x00evil.test\x00",
		"SOCKS 5":                  "\x05\x01\x00",
		"SSH":                      "SSH-2.0-OpenSSH_9.6\r\n",
		"nothing that is known":    "\x00\x01\x02\x03",
	} {
		t.Run(name, func(t *testing.T) {
			s := sink(t, answer)
			b := newBench(t, s)
			back := b.send(sent)
			if s.conns() != 0 {
				t.Errorf("the site was connected to, and got %q", s.bytes())
			}
			if strings.HasPrefix(sent, "\x16") && name != "larger than the limit" && (len(back) != 7 || back[0] != 21 || back[5] != 2) {
				t.Errorf("the answer is no fatal alert: %q", back)
			}
			if got := b.decisions(); name != "larger than the limit" && (len(got) != 1 || !strings.HasPrefix(got[0], "deny ")) {
				t.Errorf("recorded: %q", got)
			}
		})
	}
}

func TestAttackGiantClientHello(t *testing.T) {
	s := sink(t, answer)
	b := newBench(t, s)
	message := helloMessage(sni("ok.test"), extension{21, make([]byte, 66000)})
	var sent string
	for part := range slices.Chunk(message, 16000) {
		sent += string(record(22, part))
	}
	if back := b.send(sent); len(back) != 7 || back[0] != 21 {
		t.Errorf("answer %q", back)
	}
	if s.conns() != 0 {
		t.Error("it arrived")
	}
	// A message that only claims to be so large is not waited for, a record must be one
	// of TLS's, and small records must not take many times the message's memory.
	var tiny string
	for _, c := range helloMessage(sni("ok.test"), extension{21, make([]byte, 20000)}) {
		tiny += string(record(22, []byte{c}))
	}
	for name, sent := range map[string]string{
		"says that it is giant":   string(record(22, []byte{1, 0xff, 0xff, 0xff, 3, 3})),
		"a record too large":      string(record(22, helloMessage(sni("ok.test"), extension{21, make([]byte, 16400)}))),
		"a giant in tiny records": tiny,
	} {
		t.Run(name, func(t *testing.T) {
			s := sink(t, answer)
			b := newBench(t, s)
			conn := b.dial()
			if _, err := io.WriteString(conn, sent); err != nil && len(sent) < 65536 {
				t.Fatal(err)
			}
			// The client waits for the answer, and ends nothing.
			back := make([]byte, 7)
			_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
			if _, err := io.ReadFull(conn, back); err != nil || back[0] != 21 || back[6] != 50 {
				t.Errorf("answer %q, %v", back, err)
			}
			if s.conns() != 0 {
				t.Error("it arrived")
			}
		})
	}
	// Large but within the limit: many records.
	message = helloMessage(sni("ok.test"), extension{21, make([]byte, 50000)})
	sent = ""
	for part := range slices.Chunk(message, 16000) {
		sent += string(record(22, part))
	}
	b.send(sent)
	if s.bytes() != sent {
		t.Errorf("%d bytes arrived of %d", len(s.bytes()), len(sent))
	}
}

func TestHelloArrivesHoweverItIsCut(t *testing.T) {
	whole := helloMessage(extension{0x0a0a, nil}, sni("OK.test"), extension{0xfe0d, make([]byte, 200)})
	var tiny string
	for _, c := range whole {
		tiny += string(record(22, []byte{c}))
	}
	for name, sent := range map[string]string{
		"one record":           string(record(22, whole)),
		"one byte per record":  tiny,
		"data right behind it": string(record(22, whole)) + "early",
	} {
		t.Run(name, func(t *testing.T) {
			s := sink(t, answer)
			b := newBench(t, s)
			b.send(strings.Split(sent, "")...)
			if s.bytes() != sent {
				t.Errorf("arrived %q, want %q", s.bytes(), sent)
			}
			if got := b.decisions(); !slices.Equal(got, []string{"allow sni ok.test"}) {
				t.Errorf("recorded: %q", got)
			}
		})
	}
}

// A server that asks for a second ClientHello may heed the name in that one.
func TestAttackOtherSiteInSecondHello(t *testing.T) {
	retry := append([]byte{3, 3},
		0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
		0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c)
	retry = append(retry, 0, 0x13, 0x01, 0, 0, 0)
	first := hello(sni("ok.test"))
	changeCipher := string(record(20, []byte{1}))
	honest := changeCipher + hello(sni("ok.test"))
	for name, c := range map[string]struct{ second, passes string }{
		"another name": {changeCipher + hello(sni("evil.test")), ""},
		"also allowed": {hello(sni("also.test")), ""},
		"no name":      {changeCipher + hello(), ""},
		"the same":     {honest, honest},
		"a third":      {honest + hello(sni("evil.test")), honest},
	} {
		for _, pipelined := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				s := newSite(t, func(s *site, conn *net.TCPConn) {
					_, _ = io.CopyN(s, conn, int64(len(first)))
					_, _ = conn.Write(record(22, append([]byte{2}, vector(3, retry)...)))
					_, _ = io.Copy(s, conn)
				})
				b := newBench(t, s)
				if pipelined {
					b.send(first + c.second)
				} else {
					conn := b.dial()
					if _, err := io.WriteString(conn, first); err != nil {
						t.Fatal(err)
					}
					if _, err := io.ReadFull(conn, make([]byte, 5)); err != nil {
						t.Fatal(err)
					}
					_, _ = io.WriteString(conn, c.second)
					_ = conn.CloseWrite()
					_, _ = io.ReadAll(conn)
				}
				// A reset at the end can overtake what was passed on.
				want := first + c.passes
				if s.bytes() != want && (c.passes == c.second || !strings.HasPrefix(want, s.bytes())) {
					t.Errorf("arrived %q, want %q", s.bytes(), want)
				}
			})
		}
	}
}

// Servers of the time of step-up cryptography began anew with a ClientHello that
// came where the client's keys belong.
func TestAttackOtherSiteInUnaskedHello(t *testing.T) {
	first := hello(sni("ok.test"))
	for name, c := range map[string]struct {
		second string
		passes bool
	}{
		"another name":        {hello(sni("evil.test")), false},
		"the same name":       {hello(sni("ok.test")), false},
		"behind an alert":     {string(record(21, []byte{1, 0})) + hello(sni("evil.test")), false},
		"in pieces":           {string(record(22, []byte{1})) + string(record(22, helloMessage(sni("evil.test"))[1:])), false},
		"behind an empty one": {string(record(22, nil)) + hello(sni("evil.test")), false},
		"behind empty data":   {string(record(23, nil)) + hello(sni("evil.test")), false},
		"behind empty change": {string(record(20, nil)) + hello(sni("evil.test")), false},
		"behind empty alert":  {string(record(21, nil)) + hello(sni("evil.test")), false},
		"keys":                {string(record(22, []byte{16, 0, 0, 1, 7})) + "encrypted", true},
		"a change of cipher":  {string(record(20, []byte{1})) + "\x16encrypted", true},
		"data":                {string(record(23, []byte("encrypted"))), true},
		"an alert":            {string(record(21, []byte{2, 40})), true},
		"half an alert":       {"\x15\x03", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, func(s *site, conn *net.TCPConn) {
				_, _ = io.CopyN(s, conn, int64(len(first)))
				_, _ = io.WriteString(conn, answer)
				_, _ = io.Copy(s, conn)
			})
			b := newBench(t, s)
			b.send(first + c.second)
			want := first
			if c.passes {
				want += c.second
			}
			if s.bytes() != want {
				t.Errorf("arrived %q, want %q", s.bytes(), want)
			}
			b.stop()
			if got := b.decisions(); !c.passes && (len(got) != 2 || !strings.HasPrefix(got[1], "deny sni")) {
				t.Errorf("recorded: %q", got)
			}
		})
	}
}

func TestTLSVersionsWork(t *testing.T) {
	config := &tls.Config{Certificates: []tls.Certificate{certificate()}, MinVersion: tls.VersionTLS10,
		CurvePreferences: []tls.CurveID{tls.CurveP521}}
	s := newSite(t, func(_ *site, conn *net.TCPConn) {
		c := tls.Server(conn, config)
		_, _ = io.Copy(c, c)
		_ = c.CloseWrite()
	})
	b := newBench(t, s)
	for version := uint16(tls.VersionTLS10); version <= tls.VersionTLS13; version++ {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			// The key shares do not fit, so TLS 1.3 needs a second hello.
			conn := tls.Client(b.dial(), &tls.Config{ServerName: "ok.test", InsecureSkipVerify: true, MinVersion: version, MaxVersion: version,
				CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP521}})
			message := strings.Repeat("hello ", 10000)
			go func() {
				_, _ = io.WriteString(conn, message)
				_ = conn.CloseWrite()
			}()
			got, err := io.ReadAll(conn)
			if err != nil || string(got) != message {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
		})
	}
}

func TestAttackOtherSiteByHost(t *testing.T) {
	for name, sent := range map[string]string{
		"another site":         "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n",
		"upper case and dot":   "GET / HTTP/1.1\r\nHost: EVIL.TEST.\r\n\r\n",
		"no host":              "GET / HTTP/1.1\r\n\r\n",
		"no host, 1.0":         "GET / HTTP/1.0\r\n\r\n",
		"an empty host":        "GET / HTTP/1.1\r\nHost: \r\n\r\n",
		"two hosts":            "GET / HTTP/1.1\r\nHost: ok.test\r\nHost: evil.test\r\n\r\n",
		"two hosts, spelling":  "GET / HTTP/1.1\r\nHost: ok.test\r\nhOST: evil.test\r\n\r\n",
		"a list of hosts":      "GET / HTTP/1.1\r\nHost: ok.test, evil.test\r\n\r\n",
		"an address":           "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"an IPv6 address":      "GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n",
		"an address in hex":    "GET / HTTP/1.1\r\nHost: 0x7f.1\r\n\r\n",
		"a user before it":     "GET / HTTP/1.1\r\nHost: ok.test@evil.test\r\n\r\n",
		"another port":         "GET / HTTP/1.1\r\nHost: ok.test:1\r\n\r\n",
		"a port that is none":  "GET / HTTP/1.1\r\nHost: ok.test:+80\r\n\r\n",
		"NUL":                  "GET / HTTP/1.1\r\nHost: ok.test\x00.evil.test\r\n\r\n",
		"a whole URL":          "GET http://evil.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"a URL with a user":    "GET http://ok.test@evil.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"a URL with backslash": "GET http://evil.test\\@ok.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"a URL with a query":   "GET http://ok.test?@evil.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"a URL with fragment":  "GET http://ok.test#@evil.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"a URL, backslash":     "GET http://ok.test\\evil.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"a URL with a dot":     "GET http://ok.test./ HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"a URL in upper case":  "GET http://OK.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"behind 1,000 fields":  "GET / HTTP/1.1\r\n" + strings.Repeat("X: y\r\n", 1000) + "Host: ok.test\r\n\r\n",
		"another scheme":       "GET https://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"no path":              "GET evil.test HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"CONNECT":              "CONNECT ok.test:443 HTTP/1.1\r\nHost: ok.test:443\r\n\r\n",
		"a tab in the target":  "GET /\tx HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"NUL in the target":    "GET /\x00x HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"CONNECT to a path":    "CONNECT / HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"CONNECT to a URL":     "CONNECT http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"a version to come":    "GET / HTTP/1.2\r\nHost: ok.test\r\n\r\n",
		"HTTP/3":               "GET / HTTP/3.0\r\nHost: ok.test\r\n\r\n",
		"a version in letters": "GET / http/1.1\r\nHost: ok.test\r\n\r\n",
		"words behind it":      "GET / HTTP/1.1 HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"space before colon":   "GET / HTTP/1.1\r\nHost : evil.test\r\nHost: ok.test\r\n\r\n",
		"a folded line":        "GET / HTTP/1.1\r\nX: y\r\n Host: evil.test\r\nHost: ok.test\r\n\r\n",
		"a folded host":        "GET / HTTP/1.1\r\nHost: ok.test\r\n .evil.test\r\n\r\n",
		"only LF":              "GET / HTTP/1.1\nHost: ok.test\n\n",
		"LF inside":            "GET / HTTP/1.1\r\nX: y\nHost: evil.test\r\nHost: ok.test\r\n\r\n",
		"CR inside":            "GET / HTTP/1.1\r\nX: y\rHost: evil.test\r\nHost: ok.test\r\n\r\n",
		"an empty line first":  "\r\nGET / HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"two spaces":           "GET  / HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"no version":           "GET /\r\nHost: ok.test\r\n\r\n",
		"HTTP/2 without TLS":   "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"two lengths":          "POST / HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 0\r\nContent-Length: 40\r\n\r\n",
		"both lengths":         "POST / HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"a signed length":      "POST / HTTP/1.1\r\nHost: ok.test\r\nContent-Length: +4\r\n\r\nabcd",
		"a list of lengths":    "POST / HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 4, 4\r\n\r\nabcd",
		"another coding":       "POST / HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: xchunked\r\n\r\n",
		"two codings":          "POST / HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
		"a coding in a list":   "POST / HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: identity, chunked\r\n\r\n",
		"tab before coding":    "POST / HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding:\x0bchunked\r\n\r\n",
		"chunked in 1.0":       "POST / HTTP/1.0\r\nHost: ok.test\r\nTransfer-Encoding: chunked\r\n\r\n",
		"a dropped host":       "GET / HTTP/1.1\r\nHost: ok.test\r\nConnection: close, Host\r\n\r\n",
		"a dropped length":     "POST / HTTP/1.1\r\nHost: ok.test\r\nConnection: content-length\r\nContent-Length: 4\r\n\r\nabcd",
		"a dropped coding": "POST / HTTP/1.1\r\nHost: ok.test\r\nConnection: a,Transfer-Encoding\r\n" +
			"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"another expectation": "POST / HTTP/1.1\r\nHost: ok.test\r\nExpect: y 100-continue\r\nContent-Length: 4\r\n\r\nabcd",
		"HTTP 0.9":            "GET /\r\n",
		"a head without end":  "GET / HTTP/1.1\r\nHost: ok.test\r\nX: " + strings.Repeat("y", 70<<10),
		"a name elsewhere":    "GET / HTTP/1.1\r\nHost: elsewhere.test\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := sink(t, answer)
			b := newBench(t, s)
			back := b.send(sent)
			if s.conns() != 0 {
				t.Errorf("the site was connected to, and got %q", s.bytes())
			}
			if name == "a head without end" && back == "" {
				return // more was under way than the guard waits for
			}
			if !strings.HasPrefix(back, "HTTP/1.1 403 Forbidden\r\n") && sent[0] != '\r' {
				t.Errorf("answer %q", back)
			}
			if got := b.decisions(); len(got) != 1 || !strings.HasPrefix(got[0], "deny http") {
				t.Errorf("recorded: %q", got)
			}
		})
	}
}

// A head that goes on and on is refused while the client still sends.
func TestAttackHeadWithoutEnd(t *testing.T) {
	s := sink(t, answer)
	b := newBench(t, s)
	conn := b.dial()
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: ok.test\r\n")
	for range 100 {
		_, _ = io.WriteString(conn, "X: "+strings.Repeat("y", 1000)+"\r\n")
	}
	back := make([]byte, 12)
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.ReadFull(conn, back); err != nil || string(back) != "HTTP/1.1 403" {
		t.Errorf("answer %q, %v", back, err)
	}
	if s.conns() != 0 {
		t.Error("it arrived")
	}
}

// The server's answer, and its length, do not matter for what the
// client may say next.
func TestAttackBehindEveryKindOfReply(t *testing.T) {
	const evil = "GET /stolen HTTP/1.1\r\nHost: evil.test\r\n\r\n"
	const next = "GET /next HTTP/1.1\r\nHost: ok.test\r\n\r\n"
	for name, c := range map[string]struct{ request, reply string }{
		"a reply to HEAD": {"HEAD / HTTP/1.1\r\nHost: ok.test\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"},
		"no content":      {"GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n", "HTTP/1.1 204 No Content\r\nContent-Length: 1000\r\n\r\n"},
		"not modified":    {"GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n"},
		"early hints": {"GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n",
			"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		"continue, unasked": {"GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n"},
		"a switch, unasked": {"GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\n\r\n"},
		"a switch to something": {"GET / HTTP/1.1\r\nHost: ok.test\r\nUpgrade: tls\r\n\r\n",
			"HTTP/1.1 101 Switching Protocols\r\nUpgrade: tls\r\n\r\n"},
		"a refusal of the body": {"POST / HTTP/1.1\r\nHost: ok.test\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
			"HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n"},
		"no switch to WebSocket": {toWebSocket, "HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n"},
		"a reply until the end":  {"GET / HTTP/1.0\r\nHost: ok.test\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\nand so on"},
		"what looks like one":    {"GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 101 Switching Protocols\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, func(s *site, conn *net.TCPConn) {
				_, _ = io.WriteString(conn, c.reply)
				_, _ = io.Copy(s, conn)
			})
			b := newBench(t, s)
			conn := b.dial()
			_, _ = io.WriteString(conn, c.request)
			if _, err := io.ReadFull(conn, make([]byte, len(c.reply))); err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(conn, next+evil)
			_ = conn.CloseWrite()
			back, _ := io.ReadAll(conn)
			if arrived := strings.Replace(s.bytes(), "Upgrade: tls\r\n", "", 1); arrived != strings.Replace(c.request,
				"Upgrade: tls\r\n", "", 1)+next {
				t.Errorf("arrived %q", arrived)
			}
			if !strings.HasPrefix(string(back), "HTTP/1.1 403 Forbidden\r\n") {
				t.Errorf("answer %q", back)
			}
		})
	}
}

// Words that other servers compare letter by letter arrive in the usual letters.
func TestAttackSpellingThatServersTakeForNoSite(t *testing.T) {
	const rest = "X: y\r\n\r\n"
	for _, host := range []string{"ok.test.", "OK.test", "ok.test:", "Ok.Test.:"} {
		s := sink(t, answer)
		b := newBench(t, s)
		b.send("GET / HTTP/1.1\r\nhOst: " + host + "\r\n" + rest + "GET /2 HTTP/1.1\r\nHost:" + host + "\r\nUpgrade: h2c\r\n" + rest)
		if want := "GET / HTTP/1.1\r\nhOst: ok.test\r\n" + rest + "GET /2 HTTP/1.1\r\nHost: ok.test\r\n" + rest; s.bytes() != want {
			t.Errorf("%q: arrived %q, want %q", host, s.bytes(), want)
		}
	}
}

func TestRefusalSaysWhatToDo(t *testing.T) {
	s := sink(t, answer)
	b := newBench(t, s)
	back := b.send("GET / HTTP/1.1\r\nHost: new.test\r\n\r\n")
	for _, want := range []string{"no allowlist entry matches new.test", `add this line to "allow" in sandbox.jsonc: "new.test:`,
		guard.HeaderRefused + ": guard"} {
		if !strings.Contains(back, want) {
			t.Errorf("the answer lacks %q: %s", want, back)
		}
	}
}

// A client of a protocol that is not let through is told so, not that a host is
// missing.
func TestRefusalNamesTheProtocol(t *testing.T) {
	for sent, want := range map[string]string{
		"CONNECT ok.test:443 HTTP/1.1\r\nHost: ok.test:443\r\n\r\n": "CONNECT is not let through",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":                          "HTTP/2 without TLS is not let through",
		"GET / HTTP/1.1\r\nHost: 203.0.113.7\r\n\r\n":               "the address 203.0.113.7 instead of a site: ask for it by its name",
		"GET / HTTP/1.1\r\nHost: [2001:db8::7]\r\n\r\n":             "the address 2001:db8::7 instead of a site",
		"SSH-2.0-OpenSSH_9.6\r\n":                                   "neither TLS nor HTTP/1",
	} {
		s := sink(t, answer)
		b := newBench(t, s)
		if back := b.send(sent); !strings.Contains(back, want) {
			t.Errorf("%q: the answer lacks %q: %s", sent, want, back)
		}
		if s.conns() != 0 {
			t.Errorf("%q arrived", sent)
		}
	}
}

// Each of these begins with a request that is allowed. The request that arrives must end
// before the other site is named as one.
func TestAttackSmuggledRequest(t *testing.T) {
	const evil = "GET /stolen HTTP/1.1\r\nHost: evil.test\r\n\r\n"
	const first = "GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n"
	const post = "POST / HTTP/1.1\r\nHost: ok.test\r\n"
	const chunks = post + "Transfer-Encoding: chunked\r\n\r\n"
	for name, c := range map[string]struct{ sent, arrives string }{
		"the next request":        {first + evil, first},
		"behind a body":           {post + "Content-Length: 3\r\n\r\nabc" + evil, post + "Content-Length: 3\r\n\r\nabc"},
		"behind chunks":           {chunks + "3\r\nabc\r\n0\r\n\r\n" + evil, chunks + "3\r\nabc\r\n0\r\n\r\n"},
		"behind trailers":         {chunks + "0\r\nX: y\r\n\r\n" + evil, chunks + "0\r\nX: y\r\n\r\n"},
		"in trailers":             {chunks + "0\r\nHost: evil.test\r\n\r\n", chunks},
		"a size with a sign":      {chunks + "+3\r\nabc\r\n0\r\n\r\n" + evil, chunks},
		"a size in 0x":            {chunks + "0x3\r\nabc\r\n0\r\n\r\n" + evil, chunks},
		"a size that overflows":   {chunks + "10000000000000003\r\nabc\r\n0\r\n\r\n" + evil, chunks},
		"a negative size":         {chunks + "ffffffffffffffff\r\nabc\r\n0\r\n\r\n" + evil, chunks},
		"an extension":            {chunks + "3;x=y\r\nabc\r\n0\r\n\r\n" + evil, chunks},
		"a size with LF":          {chunks + "3\nabc\r\n0\r\n\r\n" + evil, chunks},
		"a longer size with LF":   {chunks + "33\nabc\r\n0\r\n\r\n" + evil, chunks},
		"a size of many zeros":    {chunks + "00000000000000003\r\nabc\r\n0\r\n\r\n" + evil, chunks},
		"a chunk too long":        {chunks + "3\r\nabcd\r\n0\r\n\r\n" + evil, chunks + "3\r\nabc"},
		"an upgrade that is none": {toWebSocket + evil, toWebSocket},
		"HTTP/2 by upgrade": {strings.Replace(first, "\r\n\r\n",
			"\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n", 1) + evil,
			strings.Replace(first, "\r\n\r\n", "\r\nConnection: Upgrade, HTTP2-Settings\r\n\r\n", 1)},
		"another upgrade":  {strings.Replace(first, "\r\n\r\n", "\r\nUpgrade: websocket\r\nUpgrade: h2c\r\n\r\n", 1) + evil, first},
		"a second upgrade": {first + toWebSocket + evil, first + strings.Replace(toWebSocket, "Upgrade: websocket\r\n", "", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			const reply = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
			s := newSite(t, func(s *site, conn *net.TCPConn) {
				_, _ = io.WriteString(conn, reply)
				_, _ = io.Copy(s, conn)
			})
			b := newBench(t, s)
			back := b.send(c.sent)
			if s.bytes() != c.arrives {
				t.Errorf("arrived %q, want %q", s.bytes(), c.arrives)
			}
			refusal, ok := strings.CutPrefix(back, reply)
			if ok && !strings.HasPrefix(refusal, "HTTP/1.1 403 Forbidden\r\n") || !ok && back != "" {
				t.Errorf("answer %q", back)
			}
			got := b.decisions()
			if len(got) != 2 || got[0] != "allow http ok.test" || !strings.HasPrefix(got[1], "deny http") {
				t.Errorf("recorded: %q", got)
			}
		})
	}
}

// toWebSocket and webSocket are the example of RFC 6455 section 1.3.
const (
	toWebSocket = "GET /chat HTTP/1.1\r\nHost: ok.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
	webSocket = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
)

// A server can say 101 and go on in HTTP: Apache does when a script says so, and
// there are sites that answer with any status one asks for.
func TestAttackSwitchThatIsNone(t *testing.T) {
	const begin = "HTTP/1.1 101 Switching Protocols\r\n"
	const accept = "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
	for name, c := range map[string]struct{ request, reply string }{
		"the status alone":    {toWebSocket, begin + "\r\n"},
		"no accept":           {toWebSocket, begin + "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n"},
		"another accept":      {toWebSocket, begin + "Upgrade: websocket\r\nSec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n"},
		"two accepts":         {toWebSocket, begin + "Upgrade: websocket\r\n" + accept + accept + "\r\n"},
		"no upgrade":          {toWebSocket, begin + accept + "\r\n"},
		"to something else":   {toWebSocket, begin + "Upgrade: h2c\r\n" + accept + "\r\n"},
		"another status":      {toWebSocket, strings.Replace(webSocket, "101", "200", 1)},
		"HTTP/1.0":            {toWebSocket, strings.Replace(webSocket, "HTTP/1.1", "HTTP/1.0", 1)},
		"lines with LF":       {toWebSocket, strings.ReplaceAll(webSocket, "\r\n", "\n")},
		"no key":              {strings.Replace(toWebSocket, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", "", 1), webSocket},
		"two keys":            {strings.Replace(toWebSocket, "\r\n\r\n", "\r\nSec-WebSocket-Key: x\r\n\r\n", 1), webSocket},
		"a request of 1.0":    {strings.Replace(toWebSocket, "HTTP/1.1", "HTTP/1.0", 1), webSocket},
		"a request with body": {strings.Replace(toWebSocket, "\r\n\r\n", "\r\nContent-Length: 3\r\n\r\nabc", 1), webSocket},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, func(s *site, conn *net.TCPConn) {
				_, _ = io.WriteString(conn, c.reply)
				_, _ = io.Copy(s, conn)
			})
			b := newBench(t, s)
			b.send(c.request + "GET /stolen HTTP/1.1\r\nHost: evil.test\r\n\r\n")
			if s.conns() == 0 || strings.Contains(s.bytes(), "stolen") {
				t.Errorf("arrived %q", s.bytes())
			}
			if got := b.decisions(); len(got) != 2 || !strings.HasPrefix(got[1], "deny http") {
				t.Errorf("recorded: %q", got)
			}
		})
	}
}

func TestWebSocketPasses(t *testing.T) {
	const request, reply = toWebSocket, webSocket
	s := newSite(t, func(s *site, conn *net.TCPConn) {
		_, _ = io.CopyN(s, conn, int64(len(request)))
		_, _ = io.WriteString(conn, reply)
		_, _ = io.Copy(conn, conn)
	})
	b := newBench(t, s)
	if back := b.send(request, "\x81\x05hello"); back != reply+"\x81\x05hello" {
		t.Errorf("got %q", back)
	}
	if s.bytes() != request {
		t.Errorf("arrived %q", s.bytes())
	}
}

func TestPolicyThatNarrowsEndsConnections(t *testing.T) {
	s := newSite(t, func(_ *site, conn *net.TCPConn) { _, _ = io.Copy(conn, conn) })
	b := newBench(t, s)
	open := func(name string) *net.TCPConn {
		conn := b.dial()
		sent := hello(sni(name)) + strings.Repeat("x", 100)
		if _, err := io.WriteString(conn, sent); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, make([]byte, len(sent))); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	stays, goes := open("ok.test"), open("also.test")
	b.server.SetPolicy(policyFor(t, s, firewall.Network{Allow: []string{"ok.test"}}))
	if n, err := goes.Read(make([]byte, 1)); err == nil {
		t.Errorf("read %d bytes of a name that is not allowed any more", n)
	}
	if _, err := io.WriteString(stays, "y"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(stays, make([]byte, 1)); err != nil {
		t.Errorf("a name that is still allowed: %v", err)
	}
	if back := b.send(hello(sni("also.test"))); len(back) != 7 {
		t.Errorf("answer %q", back)
	}
}

// A reply to an earlier request may still be under way when its name goes.
func TestAttackEarlierNameOutlivesThePolicy(t *testing.T) {
	s := newSite(t, func(_ *site, conn *net.TCPConn) { _, _ = io.Copy(conn, conn) })
	b := newBench(t, s)
	conn := b.dial()
	const requests = "GET / HTTP/1.1\r\nHost: also.test\r\n\r\nGET / HTTP/1.1\r\nHost: ok.test\r\n\r\n"
	if _, err := io.WriteString(conn, requests); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, len(requests))); err != nil {
		t.Fatal(err)
	}
	b.server.SetPolicy(policyFor(t, s, firewall.Network{Allow: []string{"ok.test"}}))
	if n, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read %d bytes, %v, want a reset", n, err)
	}
}

// aliased says that ok.test is an alias.
type aliased struct{ names }

func (aliased) Aliases(name string) []string {
	if name == "ok.test" {
		return []string{"edge.test"}
	}
	return nil
}

// The target of an allowed name's alias can be denied later.
func TestAttackAliasOutlivesThePolicy(t *testing.T) {
	s := newSite(t, func(_ *site, conn *net.TCPConn) { _, _ = io.Copy(conn, conn) })
	b := newBench(t, s, func(o *guard.Options) { o.Names = aliased{names{s.addr.Addr()}} })
	open := func(name string) *net.TCPConn {
		conn := b.dial()
		sent := hello(sni(name))
		if _, err := io.WriteString(conn, sent); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, make([]byte, len(sent))); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	goes, stays := open("ok.test"), open("also.test")
	b.server.SetPolicy(policyFor(t, s, firewall.Network{Allow: []string{"ok.test", "also.test"}, Deny: []string{"edge.test"}}))
	if n, err := goes.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read %d bytes, %v, want a reset", n, err)
	}
	if _, err := stays.Write(record(23, []byte{7})); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(stays, make([]byte, 6)); err != nil {
		t.Errorf("another name: %v", err)
	}
	if back := b.send(hello(sni("ok.test"))); len(back) != 7 {
		t.Errorf("answer %q", back)
	}
}

// All names of a connection are remembered, and so they are bounded.
func TestAttackNamesWithoutEndOnAConnection(t *testing.T) {
	s := sink(t, answer)
	zone := homes{}
	var sent, want string
	for i := range 40 {
		name := fmt.Sprintf("n%d.ok.test", i)
		zone[name] = []netip.Addr{s.addr.Addr()}
		request := "GET / HTTP/1.1\r\nHost: " + name + "\r\n\r\n"
		sent += request
		if i < 32 {
			want += request
		}
	}
	b := newBench(t, s, func(o *guard.Options) {
		p, errs := firewall.NewPolicy(firewall.Network{Allow: []string{fmt.Sprintf("*.ok.test:%d", s.addr.Port())},
			Private: []string{"*.ok.test"}})
		if errs != nil {
			t.Fatal(errs)
		}
		o.Policy, o.Names = p, zone
	})
	b.send(sent)
	if s.bytes() != want {
		t.Errorf("arrived %q", s.bytes())
	}
}

func TestAttackUnrecordedConnection(t *testing.T) {
	s := sink(t, answer)
	b := newBench(t, s, func(o *guard.Options) {
		o.Record = func(audit.Record) error { return errors.New("the disk is full") }
	})
	b.send(hello(sni("ok.test")))
	b.send("GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n")
	if s.conns() != 0 {
		t.Errorf("arrived: %q", s.bytes())
	}
}

func TestSlowHelloEnds(t *testing.T) {
	s := sink(t, answer)
	b := newBench(t, s, func(o *guard.Options) { o.Timeout = 50 * time.Millisecond })
	for _, begin := range []string{"", hello(sni("ok.test"))[:20], "GET / HTTP/1.1\r\nHost:"} {
		conn := b.dial()
		if _, err := io.WriteString(conn, begin); err != nil {
			t.Fatal(err)
		}
		back, err := io.ReadAll(conn)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q: still open", begin)
		}
		if !strings.Contains(string(back), "named no site within 50ms") && (len(back) != 7 || back[0] != 21) {
			t.Errorf("%q: answer %q", begin, back)
		}
	}
	if got := b.decisions(); !slices.Equal(got, []string{"deny http ", "deny sni ", "deny http "}) {
		t.Errorf("recorded: %q", got)
	}
	if s.conns() != 0 {
		t.Error("the site was connected to")
	}
}

func TestTooManyConnectionsAreReset(t *testing.T) {
	s := newSite(t, func(_ *site, conn *net.TCPConn) { _, _ = io.Copy(conn, conn) })
	b := newBench(t, s, func(o *guard.Options) { o.MaxConns = 2 })
	for range 2 {
		conn := b.dial()
		sent := hello(sni("ok.test")) + strings.Repeat("x", 60)
		if _, err := io.WriteString(conn, sent); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, make([]byte, len(sent))); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := net.Dial("tcp", b.addr)
	if err != nil {
		return // the reset was faster than the connection
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, hello(sni("ok.test")))
	// Reset, or closed before it said anything; a client that is left waiting is neither.
	if back, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) || len(back) > 0 {
		t.Errorf("a third connection got %q, %v", back, err)
	}
	if got := b.decisions(); len(got) != 3 || !strings.HasPrefix(got[2], "deny ") {
		t.Errorf("recorded: %q", got)
	}
}
