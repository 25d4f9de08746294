package relay_test

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall/relay"
	"github.com/org/claude-sandbox/internal/test/operationtest"
)

// leastAttacks is how many different requests TestAttackOperationsThroughTheRelay tries at least.
const leastAttacks = 300

// Attack: each request of the tables of what no entry allows, in both protocols, judged by
// what arrives. Straight to the host all of them do, so that each is one which a server would
// carry out; through the relay none does.
func TestAttackOperationsThroughTheRelay(t *testing.T) {
	tried := map[string]bool{}
	for _, class := range operationtest.Classes() {
		for _, protocol := range protocols() {
			t.Run(class.Name+" "+protocol, func(t *testing.T) { attackOperations(t, class, protocol, tried) })
		}
	}
	if len(tried) < leastAttacks {
		t.Errorf("%d requests were tried, want at least %d", len(tried), leastAttacks)
	}
	t.Logf("%d requests", len(tried))
}

func attackOperations(t *testing.T, class operationtest.Class, protocol string, tried map[string]bool) {
	rules := compile(t, class.Entries...)
	var names []string
	for _, c := range class.Cases {
		if rules.Opens(c.Host, 443) && !slices.Contains(names, c.Host) { // of others the guard takes no connection
			names = append(names, c.Host)
		}
	}
	h := newHost(t, []string{protocol}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for _, x := range class.Before {
			if string(body) == x.Body {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"data":%s}`, x.Data)
			}
		}
	}, names...)
	for _, name := range names {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		b := newBoxAt(t, l, h, name, netip.MustParseAddrPort("192.0.2.1:443"), class.Entries...)
		through := &tls.Config{ServerName: name, RootCAs: b.roots, NextProtos: []string{protocol}}
		straight := &tls.Config{ServerName: name, RootCAs: world().pool, NextProtos: []string{protocol}}
		for _, x := range class.Before {
			if sendOne(t, b.addr, through, x.Case); len(h.requests()) == 0 {
				t.Fatalf("%s did not arrive: %q", x.Name, b.recorded())
			}
		}
		for _, c := range class.Cases {
			// a path of CONNECT is HTTP/1.1's alone
			if c.Host != name || protocol == "h2" && (c.Method == http.MethodConnect || len(c.Body) > 10<<10) {
				continue
			}
			before := len(h.requests())
			if sendOne(t, b.addr, through, c); len(h.requests()) != before {
				t.Errorf("%.200s arrived: %q", c.Name, h.requests()[before:])
				continue
			}
			if sendOne(t, h.addr, straight, c); len(h.requests()) != before+1 {
				t.Errorf("%.200s does not arrive straight either", c.Name)
				continue
			}
			tried[c.Method+" "+c.URL()+" "+c.Body] = true
		}
	}
}

// sendOne sends a request as it is, and waits for what comes back.
func sendOne(t *testing.T, addr string, config *tls.Config, c operationtest.Case) {
	t.Helper()
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: limit}, "tcp", addr, config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(limit))
	if config.NextProtos[0] == "h2" {
		fields := []string{":method: " + c.Method, ":scheme: https", ":authority: " + c.Host, ":path: " + c.Target}
		for name, values := range c.Header {
			fields = append(fields, strings.ToLower(name)+": "+values[0])
		}
		f := newFrames(t, conn)
		err := f.head(1, c.Body == "", fields...)
		if c.Body != "" {
			err = cmp.Or(err, f.WriteData(1, true, []byte(c.Body)))
		}
		if err != nil {
			t.Fatal(err)
		}
		f.settle(1)
		return
	}
	var head strings.Builder
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", c.Method, c.Target, c.Host)
	if c.Body != "" {
		fmt.Fprintf(&head, "Content-Length: %d\r\n", len(c.Body))
	}
	_ = c.Header.Write(&head)
	// The relay may answer and close before it has read everything.
	go func() { _, _ = io.WriteString(conn, head.String()+"\r\n"+c.Body) }()
	if _, err := io.Copy(io.Discard, bufio.NewReader(conn)); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%.200s: no answer", c.Name)
	}
}

// Attack: a request on which the judge itself fails. It is refused, in words and on record,
// and others are judged as before.
func TestAttackOperationTheJudgeFails(t *testing.T) {
	for _, protocol := range protocols() {
		h := newHost(t, []string{protocol}, nil)
		b := newBox(t, h, "github:ok.test/acme/app issues.comment", usual)
		relay.LoseMemory(b.relay)
		c := b.client(protocol)
		mutation := operationtest.Document(`mutation { addComment(input: {subjectId: "I_1", body: "x"}) { clientMutationId } }`, nil)
		res, text := ask(t, c, http.MethodPost, "https://ok.test/api/graphql", strings.NewReader(mutation.Body))
		if res.StatusCode != http.StatusForbidden || !strings.Contains(text, "the request could not be judged") || len(h.requests()) > 0 {
			t.Errorf("%d %s, arrived: %q", res.StatusCode, text, h.requests())
		}
		if got := b.recorded(); len(got) != 1 || !strings.HasPrefix(got[0], "deny ") {
			t.Errorf("recorded %q", got)
		}
		if res, _ := ask(t, c, http.MethodGet, "https://ok.test/v1/a", nil); res.StatusCode != http.StatusOK {
			t.Errorf("%d", res.StatusCode)
		}
	}
}
