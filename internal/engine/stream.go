package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"
)

// Stream is the standard input, output and error of a process in a container.
type Stream struct {
	conn client.HijackedResponse
	exec string // id of the exec; "" for a container's first process
	tty  bool   // its output is one stream, a terminal's
}

// Write sends to the process's standard input.
func (s *Stream) Write(p []byte) (int, error) { return s.conn.Conn.Write(p) }

// CloseWrite ends the process's standard input.
func (s *Stream) CloseWrite() error { return s.conn.CloseWrite() }

// Close ends the stream. The process lives on.
func (s *Stream) Close() error {
	s.conn.Close()
	return nil
}

// Copy copies the process's output to stdout and stderr until it ends or the
// stream is closed. It returns the first error of a write. All output of a
// process that has a terminal goes to stdout.
func (s *Stream) Copy(stdout, stderr io.Writer) error {
	var err error
	if s.tty {
		_, err = io.Copy(stdout, s.conn.Reader)
	} else {
		_, err = stdcopy.StdCopy(stdout, stderr, s.conn.Reader)
	}
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Conn makes the process's standard input and output one connection; its
// standard error goes to stderr. Do not call Copy as well.
func (s *Stream) Conn(stderr io.Writer) io.ReadWriteCloser {
	r, w := io.Pipe()
	go func() {
		err := s.Copy(w, stderr)
		w.CloseWithError(err) // nil reads as io.EOF
	}()
	return &conn{s, r}
}

type conn struct {
	*Stream
	out *io.PipeReader
}

func (c *conn) Read(p []byte) (int, error) { return c.out.Read(p) }

func (c *conn) Close() error {
	c.out.Close() // first: the copier may be waiting for a reader
	return c.Stream.Close()
}

// Attach connects to the streams of a container's first process. Attach before
// Start, so that nothing it writes is missed. tty says whether Spec.TTY was set.
func (e *Engine) Attach(ctx context.Context, id string, stdin, tty bool) (*Stream, error) {
	r, err := e.client.ContainerAttach(ctx, id, client.ContainerAttachOptions{Stream: true, Stdin: stdin, Stdout: true, Stderr: true})
	if err != nil {
		return nil, wrap(cmp.Or(e.attachRefusal(ctx, id), err), "attaching to container", short(id))
	}
	return &Stream{conn: r.HijackedResponse, tty: tty}, nil
}

// Resize tells a running container's terminal its size, in characters. Its program
// gets SIGWINCH.
func (e *Engine) Resize(ctx context.Context, id string, columns, rows uint) error {
	_, err := e.client.ContainerResize(ctx, id, client.ContainerResizeOptions{Width: columns, Height: rows})
	return wrap(err, "resizing the terminal of container", short(id))
}

// attachRefusal asks once more, for the reason why the engine refuses to attach;
// nil if it gives none. The client keeps the status alone, and Podman makes a
// container ready when somebody attaches: what hinders its start is told here.
func (e *Engine) attachRefusal(ctx context.Context, id string) error {
	var said struct{ Message string }
	status, err := e.plain(ctx, http.MethodPost, "/containers/"+url.PathEscape(id)+"/attach?stream=1&stdout=1", &said)
	if err != nil || status < 400 || said.Message == "" {
		return nil
	}
	return errors.New(said.Message)
}

// plain asks the engine for what the client has no words for, and decodes the
// answer, which is JSON.
func (e *Engine) plain(ctx context.Context, method, path string, answer any) (status int, err error) {
	response, err := e.send(ctx, method, path)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if t := response.Header.Get("Content-Type"); !strings.HasPrefix(t, "application/json") {
		return response.StatusCode, fmt.Errorf("%s %s: answered with %q", method, path, t)
	}
	return response.StatusCode, json.NewDecoder(io.LimitReader(response.Body, maxPlain)).Decode(answer)
}

// send sends a request without a body, on a connection of its own.
func (e *Engine) send(ctx context.Context, method, path string) (*http.Response, error) {
	dial := e.client.Dialer()
	transport := &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		DisableKeepAlives: true,
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://engine/v"+e.client.ClientVersion()+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	return transport.RoundTrip(request)
}

// maxPlain is how much of a plain answer is read.
const maxPlain = 1 << 20

// ExecSpec describes a further process in a running container.
type ExecSpec struct {
	Command    []string
	User       string // uid:gid; "" = the container's
	WorkingDir string // "" = the container's
	Env        []string
	Stdin      bool // connect standard input
	TTY        bool // a terminal of its own is its streams
}

// Exec starts a further process in a running container.
func (e *Engine) Exec(ctx context.Context, id string, spec ExecSpec) (*Stream, error) {
	created, err := e.client.ExecCreate(ctx, id, client.ExecCreateOptions{
		Cmd: spec.Command, User: spec.User, WorkingDir: spec.WorkingDir, Env: spec.Env,
		AttachStdin: spec.Stdin, AttachStdout: true, AttachStderr: true, TTY: spec.TTY,
	})
	if err != nil {
		return nil, wrap(err, "running "+spec.Command[0]+" in container", short(id))
	}
	r, err := e.client.ExecAttach(ctx, created.ID, client.ExecAttachOptions{TTY: spec.TTY})
	if err != nil {
		return nil, wrap(err, "running "+spec.Command[0]+" in container", short(id))
	}
	return &Stream{conn: r.HijackedResponse, exec: created.ID, tty: spec.TTY}, nil
}

// ExecExit returns the exit code of a process started by Exec. Call it after
// Copy returned; a process that still runs is an error.
func (e *Engine) ExecExit(ctx context.Context, s *Stream) (int, error) {
	r, err := e.client.ExecInspect(ctx, s.exec, client.ExecInspectOptions{})
	if err != nil {
		return 0, wrap(err, "inspecting exec", short(s.exec))
	}
	if r.Running {
		return 0, fmt.Errorf("exec %s still runs", short(s.exec))
	}
	return r.ExitCode, nil
}

// Run runs a process in a running container to its end and returns its exit code. It reads
// input, nil = nothing. When ctx ends first, its cause is the error, and the process may go
// on. A process that says success without the whole input is an error.
func (e *Engine) Run(ctx context.Context, id string, spec ExecSpec, input []byte, stdout, stderr io.Writer) (code int, err error) {
	spec.Stdin = input != nil
	stream, err := e.Exec(ctx, id, spec)
	if err != nil {
		return 0, err
	}
	defer stream.Close()
	defer context.AfterFunc(ctx, func() { _ = stream.Close() })()
	sent := make(chan error, 1)
	go func() {
		if input == nil {
			sent <- nil
			return
		}
		_, err := stream.Write(input)
		sent <- errors.Join(err, stream.CloseWrite())
	}()
	if err := stream.Copy(stdout, stderr); err != nil || ctx.Err() != nil {
		return 0, cmp.Or(context.Cause(ctx), err)
	}
	code, err = e.ExecExit(ctx, stream)
	_ = stream.Close() // what is not sent now is not read
	if unsent := <-sent; err == nil && code == 0 {
		err = unsent
	}
	return code, err
}

func isNotFound(err error) bool { return errors.Is(err, ErrNotFound) }
