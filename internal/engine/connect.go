package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
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

	asking sync.Mutex
	known  *client.ServerVersionResult // what server returned
}

// Host is the engine's address, such as "unix:///var/run/docker.sock".
func (e *Engine) Host() string { return e.host }

// Close releases idle connections.
func (e *Engine) Close() error { return e.client.Close() }

// Connect finds the engine as the docker command would: DOCKER_HOST, then the
// current docker context, then the default socket; then, where nothing is set
// explicitly, the compatible sockets of Docker Desktop and Podman. When none
// answers the error wraps ErrUnavailable.
func Connect(ctx context.Context) (*Engine, error) {
	var failures []error
	for _, host := range candidates(os.Getenv) {
		e, err := connect(ctx, host)
		if err == nil {
			return e, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("connecting to the container engine: %w", ctx.Err())
		}
		failures = append(failures, fmt.Errorf("%s: %w", host, err))
	}
	return nil, unavailable(failures, os.Getenv)
}

func connect(ctx context.Context, host string) (*Engine, error) {
	c, err := client.New(client.FromEnv, client.WithHost(host))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if _, err := c.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		c.Close()
		return nil, err
	}
	return &Engine{client: c, host: host}, nil
}

// candidates lists the addresses to try, best first. An explicit choice
// (DOCKER_HOST, a context) is the only candidate: falling through to another
// engine would run the sandbox on a machine that the user did not name.
func candidates(getenv func(string) string) []string {
	if host := getenv("DOCKER_HOST"); host != "" {
		return []string{host}
	}
	if host := contextHost(getenv); host != "" {
		return []string{host}
	}
	hosts := []string{client.DefaultDockerHost}
	if runtime.GOOS == "windows" {
		return hosts
	}
	if home := getenv("HOME"); home != "" {
		hosts = append(hosts, "unix://"+filepath.Join(home, ".docker/run/docker.sock"))
	}
	if dir := getenv("XDG_RUNTIME_DIR"); dir != "" {
		hosts = append(hosts,
			"unix://"+filepath.Join(dir, "docker.sock"), // rootless Docker
			"unix://"+filepath.Join(dir, "podman/podman.sock"))
	}
	return append(hosts, "unix:///run/podman/podman.sock")
}

// contextHost returns the address of the docker context in use, or "" for the
// default one. Contexts lie in ~/.docker/contexts/meta/<sha256 of the name>.
func contextHost(getenv func(string) string) string {
	dir := getenv("DOCKER_CONFIG")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".docker")
	}
	name := getenv("DOCKER_CONTEXT")
	if name == "" {
		var config struct{ CurrentContext string }
		if readJSON(filepath.Join(dir, "config.json"), &config) != nil {
			return ""
		}
		name = config.CurrentContext
	}
	if name == "" || name == "default" {
		return ""
	}
	sum := sha256.Sum256([]byte(name))
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}
	if readJSON(filepath.Join(dir, "contexts", "meta", hex.EncodeToString(sum[:]), "meta.json"), &meta) != nil {
		return ""
	}
	return meta.Endpoints["docker"].Host
}

func readJSON(file string, v any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// denied reports whether the socket is there and not for this user. The client
// says that in words alone (moby/client, request.go).
func denied(err error) bool {
	return errors.Is(err, os.ErrPermission) || strings.Contains(err.Error(), "permission denied while trying to connect")
}

// unavailable turns the failures of all attempts into one error whose hint
// fits the commonest cause.
func unavailable(failures []error, getenv func(string) string) error {
	err := fmt.Errorf("%w: %w", ErrUnavailable, failures[0])
	switch {
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
	return diag.WithHint(err, "start it with 'sudo systemctl start docker' (or 'sudo systemctl start podman.socket', and run this "+
		"as root); if none is installed: https://docs.docker.com/engine/install/")
}
