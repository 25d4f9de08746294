package sandbox

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/excerpt"
	"github.com/org/claude-sandbox/internal/lifeline"
	"github.com/org/claude-sandbox/internal/tunnel"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace/copytree"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// readyTimeout bounds the sidecar's way from start to a verified firewall. It
// takes some hundred milliseconds; a slow machine may need seconds.
const readyTimeout = 60 * time.Second

// sidecar is the running firewall's container.
type sidecar struct {
	id       string
	exit     <-chan engine.Exit
	stderr   *excerpt.Tail
	conn     io.ReadWriteCloser // its standard streams; both containers end with them
	said     chan said          // what it says on its output; closed at its end
	log      chan []byte        // its whole audit log, when it was told to end; closed at its output's end
	canaries *canaries          // nil = none are tried
	boot     string             // the id of its kernel's start, once it is closed
}

// said is a line in which sbx-init says how far the firewall is.
type said struct {
	Closed         bool    `json:"closed"` // nothing passes
	Boot           string  `json:"boot"`   // with Closed: the id of its kernel's start
	Ready          bool    `json:"ready"`  // and what may pass is open and verified
	FirewallMillis float64 `json:"firewallMillis"`
}

// createSidecar creates the firewall's container.
func createSidecar(ctx context.Context, e *engine.Engine, p *runplan.Plan) (*sidecar, error) {
	id, err := e.Create(ctx, p.Sidecar)
	if err != nil {
		return nil, imageError(err, p.Sidecar.Image)
	}
	return &sidecar{id: id, stderr: newTail()}, nil
}

// fill puts this program's own sbx-init, if no volume has it, the policy, what the
// agent's home begins with, and its git directories into the container.
func (s *sidecar) fill(ctx context.Context, e *engine.Engine, p *runplan.Plan, h Host) error {
	policy, err := p.PolicyFile()
	if err != nil {
		return fmt.Errorf("writing the policy: %w", err)
	}
	files := []engine.File{
		// Folders are listed so that they belong to root whatever the image holds.
		{Path: "/usr/local/sbin", Mode: 0o755},
		{Path: runplan.InitPath, Link: runplan.AgentInit},
		{Path: "/etc/sbx", Mode: 0o755},
		{Path: runplan.PolicyPath, Mode: 0o644, Data: policy},
	}
	if slices.Contains(p.Sidecar.Volumes, runplan.InitFolder) { // see MountInit
		binary, _, err := imagebuild.CarriedInit(ctx, e)
		if err != nil {
			return err
		}
		file := InitFile(binary)
		file.Path = runplan.AgentInit
		files = append([]engine.File{file}, files...)
	}
	from, to := io.Pipe()
	go func() { to.CloseWithError(writeFiles(ctx, p, tar.NewWriter(to), files, h)) }()
	err = e.Fill(ctx, s.id, []string{runplan.InitFolder, runplan.ClaudeHomes, runplan.KeptHomes, gitdir.Volumes, runplan.CarriedFolder}, from)
	_ = from.CloseWithError(err)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoStart, err)
	}
	return nil
}

// InitFile is sbx-init as it lies in its volume, at the root. It can be run and not
// read: the kernel lets no user trace or dump such a program, from its first instruction on.
func InitFile(binary []byte) engine.File {
	return engine.File{Path: "/" + path.Base(runplan.AgentInit), Mode: 0o111, Data: binary}
}

// writeFiles writes the archive that the firewall's container is filled with.
func writeFiles(ctx context.Context, p *runplan.Plan, tw *tar.Writer, files []engine.File, h Host) error {
	if err := engine.WriteTar(tw, files); err != nil {
		return err
	}
	if err := fillHomes(p, tw, h); err != nil {
		return fmt.Errorf("giving Claude a folder of its own: %w", err)
	}
	if err := p.Project.Git.Fill(tw, p.Place.Owner); err != nil {
		return fmt.Errorf("giving the agent its own git directory: %w", err)
	}
	for _, c := range p.Project.Carried {
		if err := copytree.Pack(ctx, tw, c.Source, strings.TrimPrefix(c.Volume, "/"), p.Place.Owner.UID, p.Place.Owner.GID); err != nil {
			return fmt.Errorf("carrying the project to the engine: %w", err)
		}
	}
	return tw.Close()
}

// start starts the container, which is filled.
func (s *sidecar) start(ctx context.Context, e *engine.Engine, t *Timings) error {
	begin := time.Now()
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
	s.said, s.log = make(chan said, 2), make(chan []byte, 1) // it says no more than two things
	go s.listen()
	t.SidecarStart = time.Since(begin)
	return nil
}

// closed waits until the firewall says that nothing passes.
func (s *sidecar) closed(ctx context.Context) error {
	l, err := s.wait(ctx, "closed the network")
	if err == nil && !l.Closed {
		err = s.failed("sbx-init did not close the network first")
	}
	s.boot = l.Boot
	return err
}

// verified waits until the firewall says that it is verified. It comes after closed.
func (s *sidecar) verified(ctx context.Context, t *Timings) error {
	begin := time.Now()
	l, err := s.wait(ctx, "got ready")
	if err == nil && !l.Ready {
		err = s.failed("sbx-init is not ready")
	}
	t.Firewall = time.Duration(l.FirewallMillis * float64(time.Millisecond))
	t.SidecarReady = t.SidecarStart + time.Since(begin)
	return err
}

// begin lets the agent's container start its command.
func (s *sidecar) begin() error {
	if _, err := s.conn.Write([]byte{lifeline.Begin}); err != nil {
		return fmt.Errorf("%w: telling the firewall's container: %w", ErrNoStart, err)
	}
	return nil
}

// listen reads what the container says, to its end: it must never block on its output.
func (s *sidecar) listen() {
	lines := bufio.NewScanner(s.conn)
	lines.Buffer(nil, lifeline.MaxLog)
	for n := 0; n < cap(s.said) && lines.Scan(); {
		var l said
		if json.Unmarshal(lines.Bytes(), &l) == nil && (l.Closed || l.Ready) {
			s.said <- l
			n++
		}
	}
	close(s.said)
	log := bytes.NewBuffer([]byte{})
	for log.Len() < lifeline.MaxLog && lines.Scan() {
		if lines.Text() == lifeline.LogEnd {
			s.log <- log.Bytes()
			break
		}
		_, _ = fmt.Fprintf(log, "%s\n", lines.Bytes())
	}
	close(s.log)
	_, _ = io.Copy(io.Discard, s.conn)
}

// end ends the firewall in order and returns its audit log; nil = it has to be read in the
// container, which has ended then.
func (s *sidecar) end(ctx context.Context, e *engine.Engine) (log []byte) {
	if s.exit == nil || e.Kill(ctx, s.id, "TERM") != nil {
		return nil
	}
	grace := time.After(runplan.GraceTerminate)
	select {
	case log := <-s.log:
		if log != nil {
			return log
		}
	case <-grace:
		return nil
	case <-ctx.Done():
		return nil
	}
	select {
	case <-s.exit:
	case <-grace:
	case <-ctx.Done():
	}
	return nil
}

// wait waits for the next thing that sbx-init says, which is that it did what.
func (s *sidecar) wait(ctx context.Context, what string) (said, error) {
	timeout := time.NewTimer(readyTimeout)
	defer timeout.Stop()
	select {
	case l, ok := <-s.said:
		if ok {
			return l, nil
		}
		select {
		case exit := <-s.exit:
			return said{}, s.failed(fmt.Sprintf("sbx-init ended with exit code %d", exit.Code))
		case <-timeout.C:
			return said{}, s.failed("sbx-init closed its output")
		}
	case <-timeout.C:
		return said{}, s.failed(fmt.Sprintf("sbx-init has not %s within %s", what, readyTimeout))
	case <-ctx.Done():
		return said{}, fmt.Errorf("%w: waiting for the firewall: %w", ErrNoStart, context.Cause(ctx))
	}
}

// endedToo reports whether the container has ended, or does within newsLag, and how.
func (s *sidecar) endedToo() (e engine.Exit, ended bool) {
	if s.exit == nil {
		return e, false
	}
	select {
	case e = <-s.exit:
		s.exit = nil
		return e, true
	case <-time.After(newsLag):
		return e, false
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
	if engine.NoSource(err) { // here it has one: this program is in a container
		return fmt.Errorf("%w: %w", ErrNoStart, runplan.Elsewhere(err.Error()))
	}
	return err
}

// newTail keeps the end of what a program says: enough for an error with its hint and some
// context.
func newTail() *excerpt.Tail { return &excerpt.Tail{Most: 8 << 10} }

// tunnelHost is the host's end of the tunnel and the process at its other end.
type tunnelHost struct {
	*tunnel.Host
	stderr *excerpt.Tail
}

// openTunnel starts the tunnel's guest in the sidecar, as nobody, and serves
// handler to it. It returns when the agent's side accepts connections.
func openTunnel(ctx context.Context, e *engine.Engine, sidecar string, handler http.Handler) (*tunnelHost, error) {
	// ExecSpec.User: the exec would otherwise be root with NET_ADMIN.
	stream, err := e.Exec(ctx, sidecar, engine.ExecSpec{Command: []string{runplan.InitPath, "tunnel"}, User: "65534:65534", WorkingDir: "/",
		Stdin: true})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoStart, err)
	}
	t := &tunnelHost{stderr: newTail()}
	t.Host = tunnel.NewHost(stream.Conn(t.stderr), handler)
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := t.WaitReady(ctx); err != nil {
		_ = t.Close()
		return nil, fmt.Errorf("%w: tunnel to the model API: %w: %s", ErrNoStart, err, strings.TrimSpace(t.stderr.String()))
	}
	return t, nil
}
