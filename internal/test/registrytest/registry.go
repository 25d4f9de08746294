// Package registrytest runs the registry that image tests push to, and a proxy
// before it that does what registries do to clients.
//
//	test ─► Faulty (429, 404, 5xx, cut, slow, garbled) ─► docker-registry
package registrytest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// Start runs Debian's docker-registry on a free loopback port until the test
// ends, and returns its address, HOST:PORT.
func Start(t testing.TB) string {
	t.Helper()
	program := testenv.Program(t, "docker-registry")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yml")
	text := fmt.Sprintf("version: 0.1\nstorage: {filesystem: {rootdirectory: %s}, delete: {enabled: true}}\nhttp: {addr: %q}\n"+
		"log: {level: error, accesslog: {disabled: true}}\n", filepath.Join(dir, "data"), addr)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	cmd := exec.Command(program, "serve", config)
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(20 * time.Second); ; {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			c.Close()
			return addr
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // its output is complete then
			t.Fatalf("the registry does not listen on %s: %v: %s", addr, err, output.String())
		}
		time.Sleep(10 * time.Millisecond)
	}
}
