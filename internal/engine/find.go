package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/moby/moby/client"

	"github.com/org/claude-sandbox/internal/diag"
)

// RuntimeVariable is the variable that says which kind of engine is wanted, by a word of
// Runtimes.
const RuntimeVariable = "SBX_DEVC_RUNTIME"

// Runtimes returns the words for kinds of engines; "auto" is what no word means.
func Runtimes() []string { return []string{"auto", "docker", "podman"} }

// candidate is an address to try.
type candidate struct {
	host   string
	podman bool   // Podman's own socket
	certs  string // a folder with ca.pem, cert.pem and key.pem for TLS; "" = without TLS
}

// wanted is what the environment says about the engine.
type wanted struct {
	runtime string // of Runtimes
	// explicit says that the user named one engine: falling through to another would
	// run the sandbox on a machine that he did not name.
	explicit   bool
	candidates []candidate // best first
}

// find reads which engine is wanted: DOCKER_HOST, then the docker context, then the
// sockets of Podman and Docker. With "podman" CONTAINER_HOST, Podman's own variable,
// counts first and a context does not.
func find(getenv func(string) string) (wanted, error) {
	w := wanted{runtime: cmp.Or(getenv(RuntimeVariable), "auto")}
	if host := getenv("CONTAINER_HOST"); w.runtime == "podman" && host != "" {
		w.explicit, w.candidates = true, []candidate{{host: host, podman: true}}
		return w, nil
	}
	if host := getenv("DOCKER_HOST"); host != "" {
		c := candidate{host: host}
		err := c.certsFromEnv(getenv)
		w.explicit, w.candidates = true, []candidate{c}
		return w, err
	}
	sockets := map[string][]candidate{"docker": dockerSockets(getenv), "podman": podmanSockets(getenv)}
	switch w.runtime {
	case "podman":
		w.candidates = sockets["podman"]
		return w, nil
	case "auto", "docker":
	default:
		return w, diag.WithHint(fmt.Errorf("%s=%q names no kind of engine", RuntimeVariable, w.runtime), "use %s", strings.Join(Runtimes(), ", "))
	}
	c, err := contextOf(getenv)
	if err != nil || c.host != "" {
		w.explicit, w.candidates = true, []candidate{c}
		return w, err
	}
	w.candidates = sockets["docker"]
	if w.runtime == "auto" {
		w.candidates = append(sockets["podman"], w.candidates...)
	}
	return w, nil
}

func dockerSockets(getenv func(string) string) []candidate {
	list := []candidate{{host: client.DefaultDockerHost}}
	if runtime.GOOS == "windows" {
		return list
	}
	if home := getenv("HOME"); home != "" {
		list = append(list, candidate{host: "unix://" + filepath.Join(home, ".docker/run/docker.sock")})
	}
	if dir := getenv("XDG_RUNTIME_DIR"); dir != "" {
		list = append(list, candidate{host: "unix://" + filepath.Join(dir, "docker.sock")}) // rootless Docker
	}
	return list
}

func podmanSockets(getenv func(string) string) (list []candidate) {
	add := func(host string) { list = append(list, candidate{host: host, podman: true}) }
	if runtime.GOOS == "windows" {
		add("npipe:////./pipe/podman-machine-default")
		return list
	}
	if dir := getenv("XDG_RUNTIME_DIR"); dir != "" {
		add("unix://" + filepath.Join(dir, "podman/podman.sock"))
	}
	if home := getenv("HOME"); home != "" && runtime.GOOS == "darwin" {
		add("unix://" + filepath.Join(home, ".local/share/containers/podman/machine/podman.sock"))
	}
	add("unix:///run/podman/podman.sock")
	return list
}

// certsFromEnv reads DOCKER_TLS_VERIFY and DOCKER_CERT_PATH as the docker command does:
// without the folder's name it is the one of docker's own files. Certificates without
// verification are refused, because anybody on the way could play the engine.
func (c *candidate) certsFromEnv(getenv func(string) string) error {
	if !strings.HasPrefix(c.host, "tcp://") {
		return nil
	}
	verify, certs := getenv("DOCKER_TLS_VERIFY") != "", getenv("DOCKER_CERT_PATH")
	if certs != "" && !verify {
		return diag.WithHint(fmt.Errorf("%w: DOCKER_CERT_PATH is set and DOCKER_TLS_VERIFY is not: the engine's certificate would not be checked",
			ErrUnavailable), "set DOCKER_TLS_VERIFY=1, or unset DOCKER_CERT_PATH for an engine without TLS")
	}
	if verify {
		dir, err := configDir(getenv)
		if certs == "" && err != nil {
			return err
		}
		c.certs = cmp.Or(certs, dir)
	}
	return nil
}

// configDir is the folder of the docker command's files.
func configDir(getenv func(string) string) (string, error) {
	if dir := getenv("DOCKER_CONFIG"); dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".docker"), err
}

// contextOf returns the address of the docker context in use, none for the default one.
// Contexts lie in contexts/meta/<sha256 of the name>. One that is named and cannot be
// read is an error: the default engine is another machine.
func contextOf(getenv func(string) string) (candidate, error) {
	dir, err := configDir(getenv)
	if err != nil {
		return candidate{}, nil // a machine without homes has none
	}
	name := getenv("DOCKER_CONTEXT")
	if name == "" {
		var config struct{ CurrentContext string }
		if err := readJSON(filepath.Join(dir, "config.json"), &config); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return candidate{}, diag.WithHint(fmt.Errorf("%w: %w", ErrUnavailable, err),
				"it names the docker context in use: correct it, or set DOCKER_CONTEXT")
		}
		name = config.CurrentContext
	}
	if name == "" || name == "default" {
		return candidate{}, nil
	}
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	var meta struct {
		Endpoints map[string]struct {
			Host          string
			SkipTLSVerify bool
		}
	}
	err = readJSON(filepath.Join(dir, "contexts", "meta", id, "meta.json"), &meta)
	endpoint := meta.Endpoints["docker"]
	switch {
	case err == nil && endpoint.Host == "":
		err = errors.New("it has no address of an engine")
	case err == nil && endpoint.SkipTLSVerify:
		err = errors.New("it does not check the engine's certificate, so anybody on the way could play the engine")
	}
	if err != nil {
		return candidate{}, diag.WithHint(fmt.Errorf("%w: the docker context %q: %w", ErrUnavailable, name, err),
			"'docker context ls' lists them, 'docker context use default' and an unset DOCKER_CONTEXT take this machine's engine")
	}
	c := candidate{host: endpoint.Host}
	certs := filepath.Join(dir, "contexts", "tls", id, "docker")
	if _, err := os.Stat(certs); err == nil {
		c.certs = certs
	}
	return c, nil
}

func readJSON(file string, v any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// remote reports whether an address leads to another machine, as far as it says.
func remote(host string) bool {
	u, err := url.Parse(host)
	if err != nil {
		return true
	}
	switch u.Scheme {
	case "unix", "npipe", "fd":
		return false
	case "tcp", "http", "https":
		ip := net.ParseIP(u.Hostname())
		return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
	}
	return true
}
