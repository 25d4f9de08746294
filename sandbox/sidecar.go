package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/lifeline"
	"github.com/org/claude-sandbox/internal/tunnel"
)

// readyTimeout bounds the sidecar's way from start to a verified firewall. It
// takes some hundred milliseconds; a slow machine may need seconds.
const readyTimeout = 60 * time.Second

// sidecar is the running firewall's container.
type sidecar struct {
	id     string
	exit   <-chan engine.Exit
	stderr *tail
	conn   io.ReadWriteCloser // its standard streams; both containers end with them
}

// createSidecar creates the firewall's container.
func createSidecar(ctx context.Context, e *engine.Engine, p *Plan) (*sidecar, error) {
	id, err := e.Create(ctx, p.Sidecar)
	if err != nil {
		return nil, imageError(err, p.Sidecar.Image)
	}
	return &sidecar{id: id, stderr: &tail{}}, nil
}

// start puts this program's own sbx-init and the policy into the container, and
// starts it.
func (s *sidecar) start(ctx context.Context, e *engine.Engine, p *Plan, t *Timings) error {
	begin := time.Now()
	binary, _, err := imagebuild.CarriedInit(ctx, e)
	if err != nil {
		return err
	}
	policy, err := p.policyFile()
	if err != nil {
		return fmt.Errorf("writing the policy: %w", err)
	}
	// Nobody may read it: what nobody may read cannot be traced or dumped from
	// its first instruction on.
	err = e.CopyTo(ctx, s.id, initFolder, []engine.File{{Path: agentInit, Mode: 0o111, Data: binary}})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoStart, err)
	}
	// Folders are listed so that they belong to root whatever the image holds.
	err = e.CopyIn(ctx, s.id, []engine.File{
		{Path: "/usr/local/sbin", Mode: 0o755},
		{Path: InitPath, Link: agentInit},
		{Path: "/etc/sbx", Mode: 0o755},
		{Path: policyPath, Mode: 0o644, Data: policy},
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoStart, err)
	}
	t.SidecarCreate = time.Since(begin)
	begin = time.Now()
	stream, err := e.Attach(ctx, s.id, true, false)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoStart, err)
	}
	s.conn = stream.Conn(s.stderr)
	s.exit = e.Wait(context.WithoutCancel(ctx), s.id)
	if err := e.Start(ctx, s.id); err != nil {
		return fmt.Errorf("%w: %w", ErrNoStart, err)
	}
	go lifeline.Keep(s.conn)
	t.SidecarStart = time.Since(begin)
	return nil
}

// verified waits until the firewall says that it is verified.
func (s *sidecar) verified(ctx context.Context, t *Timings) (err error) {
	begin := time.Now()
	t.Firewall, err = s.waitReady(ctx, s.conn)
	t.SidecarReady = t.SidecarStart + time.Since(begin)
	return err
}

// waitReady waits for the line in which sbx-init says that the firewall is
// verified, and returns how long that took it.
func (s *sidecar) waitReady(ctx context.Context, out io.Reader) (time.Duration, error) {
	type line struct {
		Ready          bool    `json:"ready"`
		FirewallMillis float64 `json:"firewallMillis"`
	}
	ready := make(chan line, 1)
	go func() {
		defer close(ready)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var l line
			if json.Unmarshal(lines.Bytes(), &l) == nil && l.Ready {
				ready <- l
				break
			}
		}
		_, _ = io.Copy(io.Discard, out) // so that the sidecar never blocks on its output
	}()
	timeout := time.NewTimer(readyTimeout)
	defer timeout.Stop()
	select {
	case l, ok := <-ready:
		if ok {
			return time.Duration(l.FirewallMillis * float64(time.Millisecond)), nil
		}
		select {
		case exit := <-s.exit:
			return 0, s.failed(fmt.Sprintf("sbx-init ended with exit code %d", exit.Code))
		case <-timeout.C:
			return 0, s.failed("sbx-init closed its output")
		}
	case <-timeout.C:
		return 0, s.failed(fmt.Sprintf("sbx-init did not get ready within %s", readyTimeout))
	case <-ctx.Done():
		return 0, fmt.Errorf("%w: waiting for the firewall: %w", ErrNoStart, context.Cause(ctx))
	}
}

// failed makes an error of what the sidecar wrote last.
func (s *sidecar) failed(what string) error {
	var said, hint string
	for line := range strings.Lines(s.stderr.String()) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "sbx-init:"))
		if text, ok := strings.CutPrefix(line, "hint:"); ok {
			hint = strings.TrimSpace(text)
		} else if text, ok := strings.CutPrefix(line, "error:"); ok {
			said = strings.TrimSpace(text)
		} else if said == "" {
			said = line
		}
	}
	err := fmt.Errorf("%w: firewall: %s: %s", ErrNoStart, what, said)
	if hint == "" {
		hint = "the firewall's image needs iptables and ip6tables; choose one with --firewall-image, or leave that out"
	}
	return diag.WithHint(err, "%s", hint)
}

// imageError says what to do about an image that the engine does not have.
func imageError(err error, image string) error {
	err = fmt.Errorf("%w: %w", ErrNoStart, err)
	if errors.Is(err, engine.ErrNotFound) {
		return diag.WithHint(err, "get the image with 'sbx-devc image pull %s', or build one with 'sbx-devc image build'", image)
	}
	return err
}

// tunnelHost is the host's end of the tunnel and the process at its other end.
type tunnelHost struct {
	*tunnel.Host
	stderr *tail
}

// openTunnel starts the tunnel's guest in the sidecar, as nobody, and serves
// handler to it. It returns when the agent's side accepts connections.
func openTunnel(ctx context.Context, e *engine.Engine, sidecar string, handler http.Handler) (*tunnelHost, error) {
	// ExecSpec.User: the exec would otherwise be root with NET_ADMIN.
	stream, err := e.Exec(ctx, sidecar, engine.ExecSpec{Command: []string{InitPath, "tunnel"}, User: "65534:65534", WorkingDir: "/",
		Stdin: true})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoStart, err)
	}
	t := &tunnelHost{stderr: &tail{}}
	t.Host = tunnel.NewHost(stream.Conn(t.stderr), handler)
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := t.WaitReady(ctx); err != nil {
		_ = t.Close()
		return nil, fmt.Errorf("%w: tunnel to the model API: %w: %s", ErrNoStart, err, strings.TrimSpace(t.stderr.String()))
	}
	return t, nil
}

// tail keeps the last bytes that were written to it.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// tailSize is enough for an error with its hint and some context.
const tailSize = 8 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(p)
	if over := t.buf.Len() - tailSize; over > 0 {
		t.buf.Next(over)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}
