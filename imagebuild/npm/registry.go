// Package npm fetches Claude Code's platform packages from the npm registry and
// checks what is in them. A package's tarball, a gzip-compressed tar, is also a
// valid layer: as it is, its digest is one that npm vouches for.
//
//	Registry.Resolve(name, version) ─► Package ─► Registry.Open ─► Check ─► Tarball
package npm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
)

// domain is npm's; its public registry is a host below it.
const domain = "npmjs.org"

// Registry is an npm registry. Its fields are required.
type Registry struct {
	URL  string // DefaultURL(), or a mirror's
	HTTP *http.Client
}

// DefaultURL is the address of the public registry.
func DefaultURL() string { return "https://registry." + domain }

// Package is one version of a package as the registry describes it.
type Package struct {
	Name      string
	Version   string
	Integrity string // sha512-BASE64 of the tarball
	Tarball   string // address of the tarball
}

// PlatformPackage returns the name of the package that holds Claude Code for
// linux/arch with glibc, where arch is "amd64" or "arm64".
func PlatformPackage(arch string) (string, error) {
	p, err := Pinned(arch, Glibc)
	return p.Name, err
}

// Resolve looks a version up; "latest" is the newest stable one.
func (r Registry) Resolve(ctx context.Context, name, version string) (Package, error) {
	address := strings.TrimSuffix(r.URL, "/") + "/" + strings.ReplaceAll(name, "/", "%2f") + "/" + url.PathEscape(version)
	resp, err := r.get(ctx, address)
	if err != nil {
		return Package{}, fmt.Errorf("asking npm for %s@%s: %w", name, version, err)
	}
	defer resp.Body.Close()
	var m struct {
		Name, Version string
		Dist          struct{ Integrity, Tarball string }
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 8<<20)).Decode(&m); err != nil {
		return Package{}, fmt.Errorf("asking npm for %s@%s: %w", name, version, err)
	}
	if m.Name != name || (version != "latest" && m.Version != version) || !strings.HasPrefix(m.Dist.Integrity, "sha512-") ||
		m.Dist.Tarball == "" {
		return Package{}, fmt.Errorf("asking npm for %s@%s: the answer describes %s@%s with the checksum %q", name, version, m.Name,
			m.Version, m.Dist.Integrity)
	}
	return Package{m.Name, m.Version, m.Dist.Integrity, m.Dist.Tarball}, nil
}

// Open reads a tarball. The caller checks what arrives.
func (r Registry) Open(ctx context.Context, tarball string) (io.ReadCloser, error) {
	resp, err := r.get(ctx, tarball)
	if err != nil {
		return nil, fmt.Errorf("fetching a package from npm: %w", err)
	}
	return resp.Body, nil
}

// TarballURL is where registries keep the tarball of a scoped package.
func (r Registry) TarballURL(name, version string) string {
	_, base, _ := strings.Cut(name, "/")
	return strings.TrimSuffix(r.URL, "/") + "/" + name + "/-/" + base + "-" + version + ".tgz"
}

func (r Registry) get(ctx context.Context, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	// The file itself, not what a transport makes of it.
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := r.HTTP.Do(req)
	if err != nil {
		return nil, diag.WithHint(err, "check the connection, or name a mirror with --npm-registry")
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return nil, diag.WithHint(errors.New("not found"), "see the published versions with 'npm view @anthropic-ai/claude-code versions'")
	}
	return nil, fmt.Errorf("the registry answers %s", resp.Status)
}
