package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

func TestPassthroughsAreOfThisMachine(t *testing.T) {
	for _, text := range []string{"a=http://127.0.0.1:3000/mcp", "a=http://[::1]:3000/", "a=http://localhost:3000/x/y", "a=unix:/run/x.sock"} {
		if p, err := runplan.ParsePassthrough(text); err != nil || p.Name != "a" {
			t.Errorf("%s: %+v %v", text, p, err)
		}
	}
	for _, text := range []string{"a", "a=", "=http://127.0.0.1:1/", "a b=http://127.0.0.1:1/", "a=http://192.0.2.1:80/mcp",
		"a=http://example.com:80/",
		"a=http://127.0.0.1/mcp", "a=https://127.0.0.1:1/", "a=http://u:p@127.0.0.1:1/", "a=http://127.0.0.1:1/?x", "a=unix:x.sock",
		"a=http://127.0.0.1.example.com:1/",
		"a=http://0.0.0.0:1/", "a=http://169.254.169.254:80/", "../a=http://127.0.0.1:1/"} {
		if p, err := runplan.ParsePassthrough(text); err == nil {
			t.Errorf("%s is accepted: %+v", text, p)
		}
	}
}

// A server of this machine that nobody has started ends the run before anything starts.
func TestAPassthroughToNobodyIsSaid(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p, err := runplan.ParsePassthrough("issues=http://" + listener.Addr().String() + "/mcp")
	if err := errors.Join(err, passthroughAnswers(t.Context(), p)); err != nil {
		t.Error(err)
	}
	_ = listener.Close()
	socket, err := runplan.ParsePassthrough("issues=unix:" + filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []runplan.Passthrough{p, socket} {
		err := passthroughAnswers(t.Context(), p)
		if ExitCode(err) != 66 || !strings.Contains(fmt.Sprint(err), "the MCP server issues does not answer: dial") || diag.HintOf(err) == "" {
			t.Errorf("got %v, hint %q", err, diag.HintOf(err))
		}
	}
	gone := &trial{options: runplan.Options{Environment: runplan.Environment{Passthroughs: []runplan.Passthrough{socket}}}}
	if tr := gone.run(t, connect(t)); ExitCode(tr.err) != 66 || tr.result.ExitCode == 0 {
		t.Errorf("a run: %v, exit code %d", tr.err, tr.result.ExitCode)
	}
}

// Attack: the agent takes the way to one server of the host's to reach another path,
// another server or another host.
func TestAttackAPassthroughLeadsToOneDestination(t *testing.T) {
	e := connect(t)
	var mu sync.Mutex
	var seen []string
	record := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintf("%s %s %s %s%s", r.Method, r.RequestURI, r.Header.Get("X-Own"), r.Header.Get("Cookie"), body))
		fmt.Fprintln(w, "pong", r.Host == "localhost" || strings.HasPrefix(r.Host, "127.0.0.1:"))
	}
	port := httptest.NewServer(http.HandlerFunc(record))
	defer port.Close()
	file := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", file)
	if err != nil {
		t.Fatal(err)
	}
	socket := httptest.NewUnstartedServer(http.HandlerFunc(record))
	socket.Listener = listener
	socket.Start()
	defer socket.Close()
	o := shell(`at=http://127.0.0.1:8790/mcp-passthrough
ask() { curl -sS --path-as-is --max-time 5 -o /tmp/out -w '%{http_code} ' "$@"; cat /tmp/out; }
ask -H 'X-Own: 1' -H 'Cookie: a' -H 'Origin: http://evil' -H 'Host: other.example.com' -d one $at/port; ask $at/socket
for path in port/ port/admin port/../../admin port/%2e%2e/admin port%2fadmin PORT other ../admin //port; do ask $at/$path; echo; done
ask "$at/port?admin=1"; ask -X PUT $at/port; ask -X CONNECT --request-target 127.0.0.1:22 $at/port; true`)
	o.User.Network.Mode = firewall.ModeNone
	for _, text := range []string{"port=" + port.URL + "/mcp", "socket=unix:" + file} {
		p, err := runplan.ParsePassthrough(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Passthroughs = append(o.Passthroughs, p)
	}
	tr := (&trial{options: o}).run(t, e)
	want := []string{"POST /mcp 1 one", "GET /mcp  ", "GET /mcp  "}
	if !slices.Equal(seen, want) {
		t.Errorf("what arrived is %q, want %q", seen, want)
	}
	if got := tr.stdout.String(); !strings.HasPrefix(got, "200 pong true\n200 pong true\n") || strings.Count(got, "200 ") != 3 ||
		!strings.Contains(got, "405 ") {
		t.Errorf("the agent got %s", got)
	}
	if said := strings.Join(tr.said, "\n"); strings.Count(said, "warning: the agent can ask the MCP server") != 2 {
		t.Errorf("said: %s", said)
	}
}

// Attack: a request to a server of this machine stays open, as Claude's own do, and the time
// without activity never begins.
func TestAttackAPassthroughKeepsTheRunFromBeingIdle(t *testing.T) {
	asked, end := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(asked)
		<-end
	}))
	defer server.Close()
	p, err := runplan.ParsePassthrough("slow=" + server.URL + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	does := newActivity()
	model := make(chan struct{})
	tunnel := httptest.NewServer(tunneled([]runplan.Passthrough{p}, does,
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(model) })))
	defer tunnel.Close()
	defer close(end) // first: the servers wait for their requests
	go func() {
		if answer, err := http.Get(tunnel.URL + runplan.PassthroughPath + "slow"); err == nil {
			answer.Body.Close()
		}
	}()
	<-asked
	time.Sleep(time.Millisecond)
	if does.idle() == 0 {
		t.Error("the run is not idle while a server is asked")
	}
	answer, err := http.Get(tunnel.URL + "/v1/messages")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	<-model
}
