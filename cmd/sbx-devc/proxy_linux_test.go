package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/org/claude-sandbox/internal/test/netnstest"
)

// Attack: the operator of an allowed name answers with a public address of the machine on
// which the forward proxy is. Judged by what arrives at a service there.
func TestAttackANameLeadsToTheProxysOwnMachine(t *testing.T) {
	const own = "9.9.9.77"
	machine := netnstest.New(t, own).Internet
	var listener net.Listener
	var err error
	machine.Do(func() { listener, err = net.Listen("tcp", own+":443") })
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var arrived atomic.Int64
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			arrived.Add(1)
			conn.Close()
		}
	}()
	hosts := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(hosts, []byte(own+" own.invalid\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		private []string
		arrives bool
		want    string
	}{
		{nil, false, "or an address of its host"},
		{[]string{"--private", "own.invalid"}, true, "could not be reached"},
	} {
		before := arrived.Load()
		text := throughAProxy(t, machine, hosts, "https://own.invalid/",
			append([]string{"--allow", "https://own.invalid GET /**"}, c.private...)...)
		if got := arrived.Load() > before; got != c.arrives || !strings.Contains(text, c.want) {
			t.Errorf("%q: arrived: %v, answered: %s", c.private, got, text)
		}
	}
}

// throughAProxy asks a forward proxy, which works in a network with a file of hosts, for a
// URL, and returns its answer.
func throughAProxy(t *testing.T, in *netnstest.Namespace, hosts, wanted string, args ...string) string {
	t.Helper()
	home := t.TempDir()
	cmd := exec.Command("unshare",
		append([]string{"--mount", "sh", "-c", `mount --bind "$0" /etc/hosts && exec "$@"`, hosts, builtProgram(t), "proxy"}, args...)...)
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + home,
		"ANTHROPIC_API_KEY=sk-ant-key-of-this-test"}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in.Do(func() { err = cmd.Start() })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	set := map[string]string{}
	for lines := bufio.NewReader(out); len(set) < 4; {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%v: %s", err, &said)
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		set[name] = value
	}
	proxy, err := url.Parse(set["HTTPS_PROXY"])
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := os.ReadFile(set["SBX_CA_FILE"])
	roots := x509.NewCertPool()
	if err != nil || !roots.AppendCertsFromPEM(certificate) {
		t.Fatalf("%v %q", err, certificate)
	}
	client := &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: roots},
		Dial: func(network, address string) (conn net.Conn, err error) {
			in.Do(func() { conn, err = net.Dial(network, address) })
			return conn, err
		},
	}}
	defer client.CloseIdleConnections()
	res, err := client.Get(wanted)
	if err != nil {
		t.Fatalf("%v: %s", err, &said)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return fmt.Sprint(res.Status, " ", string(text), err)
}
