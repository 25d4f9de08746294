package tunnel

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// container runs the test's own small program (testdata/guest) as PID 1 of a
// container that has no network, no capability and nothing else in it.
func container(t *testing.T) (docker, id string) {
	t.Helper()
	docker = testenv.Program(t, "docker")
	if out, err := exec.Command(docker, "version", "--format", "{{.Server.APIVersion}}").CombinedOutput(); err != nil {
		testenv.Missing(t, "a container engine", string(out))
	}
	binary := filepath.Join(t.TempDir(), "guest")
	build := exec.Command("go", "build", "-o", binary, "./testdata/guest")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the guest: %v\n%s", err, out)
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	var image bytes.Buffer
	tw := tar.NewWriter(&image)
	if err := tw.WriteHeader(&tar.Header{Name: "guest", Mode: 0o755, Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	if _, err := tw.Write(program); err != nil {
		t.Fatal(err)
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	var nonce [4]byte
	_, _ = rand.Read(nonce[:])
	name := fmt.Sprintf("sbx-tunnel-test-%x", nonce)
	load := exec.Command(docker, "import", "-", name)
	load.Stdin = &image
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("docker import: %v\n%s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command(docker, "rmi", "-f", name).Run() })
	out, err := exec.Command(docker, "run", "-d", "--name", name, "--network", "none", "--cap-drop", "ALL",
		"--read-only", "--user", "1000", "--security-opt", "no-new-privileges", name, "/guest", "idle").CombinedOutput()
	if err != nil {
		t.Fatalf("docker run: %v\n%s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command(docker, "rm", "-f", name).Run() })
	return docker, name
}

func TestRealExecCarriesParallelBodiesAndEvents(t *testing.T) {
	docker, id := container(t)
	host, _, err := execTunnel(patience(t), t, docker, id, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/events" {
			echo(w, r)
			return
		}
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	out, err := exec.CommandContext(patience(t), docker, "exec", id, "/guest", "load").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("50 parallel bodies of 1 MiB, echoed: %s (%s with the exec)", strings.TrimSpace(string(out)),
		time.Since(begin).Round(time.Millisecond))
	out, err = exec.CommandContext(patience(t), docker, "exec", id, "/guest", "events").CombinedOutput()
	if err != nil || string(out) != "data: 0\n\ndata: 1\n\ndata: 2\n\n" {
		t.Errorf("events: %v %q", err, out)
	}
	if err := host.Close(); err != nil {
		t.Error(err)
	}
}

// The host's process dies without a word. The engine must end the guest, or a
// later run would find the port taken and its requests going nowhere.
func TestHostDeathEndsTheGuestInARealContainer(t *testing.T) {
	docker, id := container(t)
	_, cmd, err := execTunnel(patience(t), t, docker, id, http.HandlerFunc(echo))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil { // the client of the exec, by SIGKILL
		t.Fatal(err)
	}
	ctx := patience(t)
	for {
		// A new guest can open the port once the old one is gone.
		host, _, err := execTunnel(ctx, t, docker, id, http.HandlerFunc(echo))
		if err == nil {
			_ = host.Close()
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("the guest outlived its host: %v", err)
		}
	}
}

// execTunnel starts `docker exec -i` with the guest and waits until it is
// ready. It fails when the guest ends first.
func execTunnel(ctx context.Context, t *testing.T, docker, id string, h http.Handler) (*Host, *exec.Cmd, error) {
	t.Helper()
	cmd := exec.Command(docker, "exec", "-i", id, "/guest", "tunnel")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	host := NewHost(pipes{stdout, stdin, []io.Closer{stdin, stdout}}, h)
	t.Cleanup(func() {
		_ = host.Close() // ends the guest and with it the exec
		_ = cmd.Wait()
	})
	if err := host.WaitReady(ctx); err != nil {
		return nil, nil, errors.Join(err, host.Close())
	}
	return host, cmd, nil
}
