package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/client"

	"github.com/org/claude-sandbox/internal/diag"
)

// ErrUnavailable reports that no container engine answers. The error that
// wraps it carries a hint with the exact thing to do.
var ErrUnavailable = errors.New("no container engine answers")

// pingTimeout bounds one attempt to reach an engine. A local socket answers
// within milliseconds, a remote one over ssh or TLS within a second or two.
const pingTimeout = 10 * time.Second

// Engine is a connection to a container engine. It is safe for concurrent use.
type Engine struct {
	client *client.Client
	host   string // the address that answered, for example "unix:///var/run/docker.sock"
	note   string
	ssh    *sshDialer // nil = not over ssh

	asking sync.Mutex
	known  *client.ServerVersionResult // what server returned

	describing sync.Mutex
	described  *Description // what Describe returned
	facts      *podmanFacts // what podman returned
}

// Host is the engine's address, such as "unix:///var/run/docker.sock".
func (e *Engine) Host() string { return e.host }

// Close releases idle connections.
func (e *Engine) Close() error {
	if e.ssh != nil {
		defer e.ssh.close()
	}
	return e.client.Close()
}

// Remote reports whether the address leads to another machine, which has not the files
// of this one. A local one may do so, too, and does not say it: see package sandbox.
func (e *Engine) Remote() bool { return remote(e.host) }

// Elsewhere reports whether Connect, which it does not call, would take an engine of
// another machine, as far as its address says. getenv reads the environment.
func Elsewhere(getenv func(string) string) bool {
	w, err := find(getenv)
	return err == nil && w.explicit && remote(w.candidates[0].host)
}

// Note is what a person should know about the choice of this engine, "" = nothing.
func (e *Engine) Note() string { return e.note }

// Connect finds the engine. An address in DOCKER_HOST, or else a docker context, is the
// only one that is tried. Else Podman's sockets come first, then Docker's, and the kind
// that RuntimeVariable names is the only one. When none answers the error wraps
// ErrUnavailable.
func Connect(ctx context.Context) (*Engine, error) { return connectBy(ctx, os.Getenv) }

func connectBy(ctx context.Context, getenv func(string) string) (*Engine, error) {
	w, err := find(getenv)
	if err != nil {
		return nil, err
	}
	var failures []error
	for i, c := range w.candidates {
		e, err := connect(ctx, c)
		if err == nil {
			err = e.fits(ctx, w, c)
		}
		if err == nil {
			if c.podman && !w.explicit && w.runtime == "auto" && answers(ctx, w.candidates[i+1:]) {
				e.note = "Podman and Docker both answer; this is on Podman (--runtime docker takes the other)"
			}
			return e, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("connecting to the container engine: %w", ctx.Err())
		}
		failures = append(failures, fmt.Errorf("%s: %w", c.host, err))
	}
	return nil, unavailable(failures, getenv)
}

// fits refuses an engine of another kind than the user wants, and a Podman that he did not
// name and that runs could not use, see fitting: Docker may be there as well.
func (e *Engine) fits(ctx context.Context, w wanted, c candidate) error {
	if w.runtime == "auto" && (w.explicit || !c.podman) {
		return nil
	}
	podman, err := e.fitting(ctx)
	if err == nil && w.runtime != "auto" && (podman != nil) != (w.runtime == "podman") {
		err = fmt.Errorf("this is no %s, which --runtime or %s asks for", w.runtime, RuntimeVariable)
	}
	if err != nil {
		e.Close()
	}
	return err
}

// answers reports whether one of the engines that are not Podman's answers.
func answers(ctx context.Context, list []candidate) bool {
	for _, c := range list {
		if c.podman {
			continue
		}
		if e, err := connect(ctx, c); err == nil {
			e.Close()
			return true
		}
	}
	return false
}

func connect(ctx context.Context, to candidate) (*Engine, error) {
	e := &Engine{host: to.host}
	options := []client.Opt{client.WithAPIVersionFromEnv()}
	switch {
	case strings.HasPrefix(to.host, "ssh://"):
		args, err := sshCommand(to.host, to.podman)
		if err != nil {
			return nil, err
		}
		e.ssh = &sshDialer{args: args}
		options = append(options, client.WithHost("tcp://engine"), client.WithDialContext(e.ssh.dial))
	case to.certs != "":
		file := func(name string) string {
			name = filepath.Join(to.certs, name)
			if _, err := os.Stat(name); err != nil && filepath.Base(name) != "ca.pem" { // an engine may want no certificate of ours
				return ""
			}
			return name
		}
		options = append(options, client.WithTLSClientConfig(file("ca.pem"), file("cert.pem"), file("key.pem")), client.WithHost(to.host))
	default:
		options = append(options, client.WithHost(to.host))
	}
	var err error
	if e.client, err = client.New(options...); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if _, err := e.client.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// denied reports whether the socket is there and not for this user. The client
// says that in words alone (moby/client, request.go).
func denied(err error) bool {
	return errors.Is(err, os.ErrPermission) || strings.Contains(err.Error(), "permission denied while trying to connect")
}

// Silence is how an engine did not answer.
type Silence string

// The ways.
const (
	Missing Silence = "missing" // nothing is at its address
	Closed  Silence = "closed"  // its socket is not for this user
	Silent  Silence = "silent"  // something is at its address, and does not answer
	Unfit   Silence = "unfit"   // it answers and cannot be used, or what leads to it cannot be read
)

// SilenceOf reports in which way err is ErrUnavailable.
func SilenceOf(err error) Silence {
	switch {
	case denied(err):
		return Closed
	case client.IsErrConnectionFailed(err) && errors.Is(err, fs.ErrNotExist):
		return Missing
	case client.IsErrConnectionFailed(err), errors.Is(err, context.DeadlineExceeded):
		return Silent
	}
	return Unfit
}

// unavailable turns the failures of all attempts into one error whose hint
// fits the commonest cause.
func unavailable(failures []error, getenv func(string) string) error {
	err := fmt.Errorf("%w: %w", ErrUnavailable, telling(failures))
	switch {
	case errors.Is(err, errRootless):
		return err // with its own hint
	case getenv(RuntimeVariable) == "podman" && getenv("DOCKER_HOST") == "":
		return diag.WithHint(err, "start it with 'systemctl --user start podman.socket', or take another engine with --runtime auto")
	case strings.HasPrefix(getenv("DOCKER_HOST"), "ssh://"):
		return diag.WithHint(err, "'ssh HOST docker version' must work without a question: connect once to learn the host's key, and add "+
			"yours to the agent (ssh-add)")
	case slices.ContainsFunc(failures, denied):
		return diag.WithHint(err, "your user may not open the engine's socket: join the group docker (sudo usermod -aG docker $USER, "+
			"then log in again)")
	case getenv("DOCKER_HOST") != "":
		return diag.WithHint(err, "DOCKER_HOST is %s: start the engine there, or unset DOCKER_HOST to use the local one",
			getenv("DOCKER_HOST"))
	}
	switch runtime.GOOS {
	case "darwin", "windows":
		return diag.WithHint(err, "start Docker Desktop (or 'podman machine start'), wait until it says it is running, and try again")
	}
	return diag.WithHint(err, "start it with 'sudo systemctl start docker' (or 'systemctl --user start podman.socket'); "+
		"if none is installed: https://docs.docker.com/engine/install/")
}

// telling is the failure that says most: a socket that is not there says least.
func telling(failures []error) error {
	for _, err := range failures {
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return failures[len(failures)-1]
}
