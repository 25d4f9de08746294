package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/excerpt"
	"github.com/org/claude-sandbox/internal/hostprogram"
	"github.com/org/claude-sandbox/internal/shellword"
)

// sshCommand is the command line that reaches the engine of an address such as
// ssh://user@host:22 or ssh://host/path/of/docker.sock, as the docker command does: the
// program docker, or podman, there copies between its standard streams and the socket.
// ssh asks nothing: each connection is a program of its own.
func sshCommand(address string, podman bool) ([]string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	if _, has := u.User.Password(); has {
		return nil, errors.New("an address with a password is not taken: use a key")
	}
	user, host := u.User.Username(), u.Hostname()
	if host == "" || strings.HasPrefix(host, "-") || strings.HasPrefix(user, "-") || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("this is no address of the form ssh://USER@HOST[:PORT][/PATH]")
	}
	args := []string{"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-T"}
	if user != "" {
		args = append(args, "-l", user)
	}
	if u.Port() != "" {
		args = append(args, "-p", u.Port())
	}
	args = append(args, "--", host)
	program, option := "docker", "--host"
	if podman {
		program, option = "podman", "--url"
	}
	args = append(args, program)
	if u.Path != "" && u.Path != "/" { // ssh joins its arguments for a shell there
		args = append(args, option, shellword.Quote("unix://"+u.Path))
	}
	return append(args, "system", "dial-stdio"), nil
}

// sshDialer makes connections to an engine over the standard streams of ssh.
type sshDialer struct {
	args []string
	mu   sync.Mutex
	open []*sshConn // all that it made
}

func (d *sshDialer) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	program, err := hostprogram.Find(d.args[0])
	if err != nil {
		return nil, diag.OrHint(err, "install ssh: the engine's address begins with ssh://")
	}
	// The command lives as long as the connection, and not as ctx.
	c := &sshConn{cmd: exec.Command(program, d.args[1:]...), said: excerpt.Tail{Most: 512}}
	ownGroup(c.cmd)
	c.cmd.Stderr = &c.said
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if c.out, err = c.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = append(d.open, c)
	return c, nil
}

// close ends every program: the client closes the connections that it knows to be idle,
// and one may become so a moment later.
func (d *sshDialer) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.open {
		_ = c.Close()
	}
}

// sshConn is a connection through a program. It knows no deadlines, which the
// engine's client does not set on connections.
type sshConn struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   io.ReadCloser
	said  excerpt.Tail
	heard atomic.Bool // the engine has said something
	once  sync.Once
}

// sshEnd is how long a program may take to end whose output has ended.
const sshEnd = 2 * time.Second

func (c *sshConn) Read(p []byte) (int, error) {
	n, err := c.out.Read(p)
	if n > 0 {
		c.heard.Store(true)
	}
	return n, c.reason(err)
}

func (c *sshConn) Write(p []byte) (int, error) {
	n, err := c.in.Write(p)
	return n, c.reason(err)
}

// reason is why a connection failed: ssh says it where it did not get to the engine.
func (c *sshConn) reason(err error) error {
	if err == nil || c.heard.Load() {
		return err
	}
	c.end(sshEnd)
	if text := strings.Join(strings.Fields(c.said.String()), " "); text != "" {
		return fmt.Errorf("ssh: %s", text)
	}
	return err
}

// CloseWrite ends what this side says.
func (c *sshConn) CloseWrite() error { return c.in.Close() }

func (c *sshConn) Close() error {
	c.end(0)
	return nil
}

// end ends the program, after a time in which it may do so by itself.
func (c *sshConn) end(after time.Duration) {
	c.once.Do(func() {
		_ = c.in.Close()
		kill := time.AfterFunc(after, func() { _ = c.cmd.Process.Kill() })
		defer kill.Stop()
		_ = c.cmd.Wait()
	})
}

func (c *sshConn) LocalAddr() net.Addr              { return sshAddr{} }
func (c *sshConn) RemoteAddr() net.Addr             { return sshAddr{} }
func (c *sshConn) SetDeadline(time.Time) error      { return nil }
func (c *sshConn) SetReadDeadline(time.Time) error  { return nil }
func (c *sshConn) SetWriteDeadline(time.Time) error { return nil }

type sshAddr struct{}

func (sshAddr) Network() string { return "ssh" }
func (sshAddr) String() string  { return "ssh" }
