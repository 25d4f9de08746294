package registry

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/hostprogram"
)

// helperTimeout is how long a credential helper may take. One that waits for a
// person behind a closed window must not hang a build.
const helperTimeout = 20 * time.Second

// Credentials finds the credentials for a registry: what was given, then
// GITHUB_TOKEN or GH_TOKEN for ghcr.io, then the configurations of docker and
// podman with their credential helpers, then the gh command for ghcr.io. No
// secret is ever an argument of a program or part of a message.
type Credentials struct {
	Username, Password string // given by the user; "" = not
	Getenv             func(string) string
	Home               string // the user's home folder; "" = no configurations
}

// dockerConfig is what docker's config.json and podman's auth.json say.
type dockerConfig struct {
	Auths       map[string]authEntry `json:"auths"`
	CredsStore  string               `json:"credsStore"`
	CredHelpers map[string]string    `json:"credHelpers"`
}

type authEntry struct {
	Auth, Username, Password, IdentityToken, RegistryToken string
}

// For returns the credentials for a repository and what they came from, in
// words; "" = there are none, and the requests are anonymous.
func (c Credentials) For(ctx context.Context, repo name.Repository) (auth authn.Authenticator, source string, err error) {
	if c.Password != "" {
		if c.Username == "" {
			return nil, "", diag.WithHint(errors.New("a password without a user"), "give --username, too")
		}
		return basic(c.Username, c.Password), "--username and --password-stdin", nil
	}
	host := repo.RegistryStr()
	if host == "ghcr.io" {
		for _, variable := range []string{"GITHUB_TOKEN", "GH_TOKEN"} {
			if token := c.Getenv(variable); token != "" {
				return basic(c.gitHubUser(), token), variable, nil
			}
		}
	}
	for _, file := range c.files() {
		auth, found, err := c.fromFile(ctx, file, repo)
		if err != nil {
			return nil, "", err
		}
		if found {
			return auth, file, nil
		}
	}
	if host == "ghcr.io" {
		if token := c.fromGH(ctx); token != "" {
			return basic(c.gitHubUser(), token), "gh auth token", nil
		}
	}
	return authn.Anonymous, "", nil
}

// DockerConfig returns the credentials for a repository as a docker config.json,
// for a program that reads nothing else. It is nil when that program finds them
// without us: in docker's own configuration, or because there are none.
func (c Credentials) DockerConfig(ctx context.Context, repo name.Repository) ([]byte, error) {
	auth, source, err := c.For(ctx, repo)
	if err != nil || source == "" || source == c.dockerFile() {
		return nil, err
	}
	found, err := auth.Authorization()
	if err != nil {
		return nil, err
	}
	host := repo.RegistryStr()
	if host == name.DefaultRegistry {
		host = authn.DefaultAuthKey
	}
	return json.Marshal(map[string]any{"auths": map[string]any{host: found}})
}

func basic(user, password string) authn.Authenticator {
	return authn.FromConfig(authn.AuthConfig{Username: user, Password: password})
}

// gitHubUser is the user name for a token; ghcr.io looks at the token alone.
func (c Credentials) gitHubUser() string {
	if user := c.Getenv("GITHUB_ACTOR"); user != "" {
		return user
	}
	return "token"
}

// dockerFile is docker's configuration; "" = neither DOCKER_CONFIG nor the home is known.
func (c Credentials) dockerFile() string {
	if dir := c.Getenv("DOCKER_CONFIG"); dir != "" {
		return filepath.Join(dir, "config.json")
	}
	if c.Home == "" {
		return ""
	}
	return filepath.Join(c.Home, ".docker", "config.json")
}

// files lists the configurations that may exist, docker's first.
func (c Credentials) files() []string {
	var files []string
	add := func(parts ...string) {
		if parts[0] != "" {
			files = append(files, filepath.Join(parts...))
		}
	}
	add(c.dockerFile())
	add(c.Getenv("REGISTRY_AUTH_FILE"))
	add(c.Getenv("XDG_RUNTIME_DIR"), "containers", "auth.json")
	if dir := c.Getenv("XDG_CONFIG_HOME"); dir != "" {
		add(dir, "containers", "auth.json")
	} else {
		add(c.Home, ".config", "containers", "auth.json")
	}
	return files
}

func (c Credentials) fromFile(ctx context.Context, file string, repo name.Repository) (authn.Authenticator, bool, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	var config dockerConfig
	if err == nil {
		err = json.Unmarshal(data, &config)
	}
	if err != nil {
		// The content may be a secret; what is wrong with it is not shown.
		return nil, false, diag.WithHint(fmt.Errorf("reading the credentials in %s failed", file),
			"correct the file, or log in again with 'docker login %s'", repo.RegistryStr())
	}
	for _, key := range keys(repo) {
		if helper := config.CredHelpers[key]; helper != "" {
			return askHelper(ctx, helper, key)
		}
		for name, entry := range config.Auths {
			if normal(name) == key && entry != (authEntry{}) {
				return entry.authenticator(file)
			}
		}
	}
	if config.CredsStore != "" {
		key := repo.RegistryStr()
		if key == name.DefaultRegistry {
			key = authn.DefaultAuthKey
		}
		return askHelper(ctx, config.CredsStore, key)
	}
	return nil, false, nil
}

// keys lists the names under which credentials for a repository may be kept,
// the most exact first, as podman writes them; docker writes the registry alone.
func keys(repo name.Repository) []string {
	host := repo.RegistryStr()
	var keys []string
	for path := repo.RepositoryStr(); path != "."; path = strings.TrimSuffix(filepath.ToSlash(filepath.Dir(path)), "/") {
		keys = append(keys, host+"/"+path)
	}
	keys = append(keys, host)
	if host == name.DefaultRegistry {
		keys = append(keys, "docker.io")
	}
	return keys
}

// normal strips what old versions of docker write around a registry's name.
func normal(key string) string {
	_, bare, ok := strings.Cut(key, "://")
	if !ok {
		return strings.TrimSuffix(key, "/")
	}
	host, _, _ := strings.Cut(bare, "/")
	return host
}

func (e authEntry) authenticator(file string) (authn.Authenticator, bool, error) {
	if e.Auth != "" && e.IdentityToken == "" {
		decoded, err := base64.StdEncoding.DecodeString(e.Auth)
		user, password, ok := strings.Cut(string(decoded), ":")
		if err != nil || !ok {
			return nil, false, fmt.Errorf("reading the credentials in %s: an entry is not in docker's form", file)
		}
		e.Username, e.Password = user, strings.TrimRight(password, "\x00")
	}
	return authn.FromConfig(authn.AuthConfig{
		Username: e.Username, Password: e.Password, IdentityToken: e.IdentityToken, RegistryToken: e.RegistryToken,
	}), true, nil
}

// askHelper runs a credential helper: the registry's name on its standard
// input, the secret on its standard output.
func askHelper(ctx context.Context, helper, server string) (authn.Authenticator, bool, error) {
	program := "docker-credential-" + helper
	if strings.ContainsAny(helper, `/\`) {
		return nil, false, fmt.Errorf("the credential helper %q is a path, not a name", helper)
	}
	out, err := run(ctx, server, program, "get")
	if err != nil {
		// Helpers say that they have nothing on either stream.
		if strings.Contains(strings.ToLower(string(out)+err.Error()), "credentials not found") {
			return nil, false, nil
		}
		return nil, false, diag.WithHint(fmt.Errorf("asking %s for the credentials of %s: %w", program, server, err),
			"log in again with 'docker login', or give --username and --password-stdin")
	}
	var answer struct{ Username, Secret string }
	if json.Unmarshal(out, &answer) != nil || answer.Secret == "" {
		return nil, false, nil
	}
	if answer.Username == "<token>" {
		return authn.FromConfig(authn.AuthConfig{IdentityToken: answer.Secret}), true, nil
	}
	return basic(answer.Username, answer.Secret), true, nil
}

// fromGH asks the gh command for the user's token; "" when it has none.
func (c Credentials) fromGH(ctx context.Context) string {
	out, err := run(ctx, "", "gh", "auth", "token")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// run starts a program that answers on its standard output, and kills it when
// it takes too long. The error never holds that output.
func run(ctx context.Context, input, program string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, helperTimeout)
	defer cancel()
	path, err := hostprogram.Find(program)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdin = strings.NewReader(input)
	var out, errout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errout
	cmd.WaitDelay = time.Second // a grandchild may hold the streams
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("no answer within %s", helperTimeout)
	case err != nil:
		return out.Bytes(), fmt.Errorf("%w: %s", err, oneLine(errout.String()))
	}
	return out.Bytes(), nil
}
