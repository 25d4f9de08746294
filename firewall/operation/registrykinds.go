package operation

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// Downloads are GET and HEAD; what a table does not have is refused. Searching is
// reading. The names under "writes" are for people: they would be refused without.

// npmRegistry: docs.npmjs.com, api-docs.npmjs.com. Names of packages begin with no
// "-" or "_", which is where the registry's own paths begin.
var npmRegistry = &registryKind{
	word:   "npm",
	public: publicSites("*.npmjs.org", "*.yarnpkg.com"),
	routes: []registryRoute{
		{method: http.MethodGet, pattern: "[^\\-_@]*", name: "metadata"},
		{method: http.MethodGet, pattern: "[^\\-_@]*/[^\\-]*", name: "metadata"},
		{method: http.MethodGet, pattern: "[^\\-_@]*/-/*", name: "download"},
		{method: http.MethodGet, pattern: "@*/*", name: "metadata"},
		{method: http.MethodGet, pattern: "@*/*/[^\\-]*", name: "metadata"},
		{method: http.MethodGet, pattern: "@*/*/-/*", name: "download"},
		{method: http.MethodGet, pattern: "@*/*/-/@*/*", name: "download"},
		{method: http.MethodGet, pattern: "download/@*/*/*/*", name: "download"},
		{method: http.MethodGet, pattern: "-/package/*/dist-tags", name: "metadata"},
		{method: http.MethodGet, pattern: "-/package/@*/*/dist-tags", name: "metadata"},
		{method: http.MethodGet, pattern: "-/npm/v1/keys", name: "metadata"},
		{method: http.MethodGet, pattern: "-/npm/v1/attestations/**", name: "metadata"},
		{method: http.MethodGet, pattern: "-/ping", query: "*", name: "ping"},
		{method: http.MethodGet, pattern: "-/v1/search", query: "*", name: "search"},
		{method: http.MethodPost, pattern: "-/npm/v1/security/advisories/bulk", name: "audit", check: checkAudit},
		{method: http.MethodPut, pattern: "-/user/**", name: "login", writes: true},
		{method: http.MethodPost, pattern: "-/v1/login", name: "login", writes: true},
		{method: http.MethodPut, pattern: "-/package/**", name: "dist-tag", writes: true},
		{method: http.MethodDelete, pattern: "-/package/**", name: "dist-tag", writes: true},
		{method: http.MethodPut, pattern: "*/-rev/*", name: "unpublish", writes: true},
		{method: http.MethodPut, pattern: "@*/*/-rev/*", name: "unpublish", writes: true},
		{method: http.MethodPut, pattern: "[^\\-_@]*", name: "publish", writes: true},
		{method: http.MethodPut, pattern: "@*/*", name: "publish", writes: true},
		{method: http.MethodDelete, pattern: "**", name: "unpublish", writes: true},
	},
	segments: splitScope,
	refusal:  func(message string) any { return map[string]string{"error": message} },
}

// pypiRegistry: docs.pypi.org, and the simple index of packaging.python.org.
var pypiRegistry = &registryKind{
	word:   "pypi",
	public: publicSites("pypi.org", "*.pypi.org", "*.pythonhosted.org"),
	routes: []registryRoute{
		{method: http.MethodGet, pattern: "simple", name: "metadata"},
		{method: http.MethodGet, pattern: "simple/", name: "metadata"},
		{method: http.MethodGet, pattern: "simple/*", name: "metadata"},
		{method: http.MethodGet, pattern: "simple/*/", name: "metadata"},
		{method: http.MethodGet, pattern: "simple/*/*", name: "download"},
		{method: http.MethodGet, pattern: "packages/**", name: "download"},
		{method: http.MethodGet, pattern: "files/**", name: "download"},
		{method: http.MethodGet, pattern: "pypi/*/json", name: "metadata"},
		{method: http.MethodGet, pattern: "pypi/*/*/json", name: "metadata"},
		{method: http.MethodGet, pattern: "integrity/*/*/*/provenance", name: "metadata"},
		{method: http.MethodPost, pattern: "legacy/", name: "upload", writes: true},
		{method: http.MethodPost, pattern: "_/oidc/mint-token", name: "login", writes: true},
	},
}

// goRegistry: go.dev/ref/mod, "GOPROXY protocol" and "Checksum database".
var goRegistry = &registryKind{
	word:   "go",
	public: publicSites("*.golang.org"),
	routes: []registryRoute{
		{method: http.MethodGet, pattern: "**/@v/list", name: "metadata"},
		{method: http.MethodGet, pattern: "**/@v/*.info", name: "metadata"},
		{method: http.MethodGet, pattern: "**/@v/*.mod", name: "metadata"},
		{method: http.MethodGet, pattern: "**/@v/*.ziphash", name: "metadata"},
		{method: http.MethodGet, pattern: "**/@v/*.zip", name: "download"},
		{method: http.MethodGet, pattern: "**/@latest", name: "metadata"},
		{method: http.MethodGet, pattern: "sumdb/*/supported", name: "checksum"},
		{method: http.MethodGet, pattern: "sumdb/*/latest", name: "checksum"},
		{method: http.MethodGet, pattern: "sumdb/*/lookup/**", name: "checksum"},
		{method: http.MethodGet, pattern: "sumdb/*/tile/**", name: "checksum"},
		{method: http.MethodGet, pattern: "supported", name: "checksum"},
		{method: http.MethodGet, pattern: "latest", name: "checksum"},
		{method: http.MethodGet, pattern: "lookup/**", name: "checksum"},
		{method: http.MethodGet, pattern: "tile/**", name: "checksum"},
	},
}

// cratesRegistry: doc.rust-lang.org/cargo, "Registry Index" and "Registry Web API".
var cratesRegistry = &registryKind{
	word:   "crates",
	public: publicSites("crates.io", "*.crates.io"),
	routes: []registryRoute{
		{method: http.MethodGet, pattern: "config.json", name: "metadata"},
		{method: http.MethodGet, pattern: "1/?", name: "metadata"},
		{method: http.MethodGet, pattern: "2/??", name: "metadata"},
		{method: http.MethodGet, pattern: "3/?/???", name: "metadata"},
		{method: http.MethodGet, pattern: "??/??/????*", name: "metadata"},
		{method: http.MethodGet, pattern: "crates/*/*", name: "download"},
		{method: http.MethodGet, pattern: "crates/*/*/download", name: "download"},
		{method: http.MethodGet, pattern: "api/v1/crates/*/*/download", name: "download"},
		{method: http.MethodGet, pattern: "api/v1/crates", query: "*", name: "search"},
		{method: http.MethodGet, pattern: "api/v1/crates/*", name: "metadata"},
		{method: http.MethodGet, pattern: "api/v1/crates/*/*", name: "metadata"},
		{method: http.MethodPut, pattern: "api/v1/crates/new", name: "publish", writes: true},
		{method: http.MethodDelete, pattern: "api/v1/crates/*/*/yank", name: "yank", writes: true},
		{method: http.MethodPut, pattern: "api/v1/crates/*/*/unyank", name: "yank", writes: true},
		{method: http.MethodPut, pattern: "api/v1/crates/*/owners", name: "owner", writes: true},
		{method: http.MethodDelete, pattern: "api/v1/crates/*/owners", name: "owner", writes: true},
	},
	refusal: func(message string) any {
		return map[string]any{"errors": []map[string]string{{"detail": message}}}
	},
}

// ociRegistry: the distribution specification of OCI, and the token endpoints of
// distribution.github.io/distribution/spec/auth.
var ociRegistry = &registryKind{
	word:   "oci",
	tokens: true,
	public: append(publicSites("docker.io", "*.docker.io"), filesSite("production.cloudflare.docker.com")),
	data: map[string][]string{
		"ghcr.io":           {"pkg-containers.githubusercontent.com"},
		"quay.io":           {"*.quay.io"},
		"mcr.microsoft.com": {"*.data.mcr.microsoft.com"},
	},
	routes: []registryRoute{
		{method: http.MethodGet, pattern: "v2", name: "ping"},
		{method: http.MethodGet, pattern: "v2/", name: "ping"},
		{method: http.MethodGet, pattern: "v2/_catalog", query: "*", name: "list"},
		{method: http.MethodGet, pattern: "v2/**/manifests/*", query: "*", name: "pull"},
		{method: http.MethodGet, pattern: "v2/**/blobs/*:*", query: "*", name: "pull"},
		{method: http.MethodGet, pattern: "v2/**/tags/list", query: "*", name: "list"},
		{method: http.MethodGet, pattern: "v2/**/referrers/*", query: "*", name: "list"},
		{method: http.MethodGet, pattern: "token", query: "*", name: "token", check: checkScope},
		{method: http.MethodGet, pattern: "v2/auth", query: "*", name: "token", check: checkScope},
		{method: http.MethodGet, pattern: "v2/token", query: "*", name: "token", check: checkScope},
		{method: http.MethodGet, pattern: "service/token", query: "*", name: "token", check: checkScope},
		{method: http.MethodGet, pattern: "jwt/auth", query: "*", name: "token", check: checkScope},
		{method: http.MethodPost, pattern: "token", name: "login", writes: true},
		{method: http.MethodPost, pattern: "v2/**", name: "push", writes: true},
		{method: http.MethodPost, pattern: "v2/**/blobs/uploads/", name: "push", writes: true},
		{method: http.MethodPut, pattern: "v2/**", name: "push", writes: true},
		{method: http.MethodPatch, pattern: "v2/**", name: "push", writes: true},
		{method: http.MethodDelete, pattern: "v2/**", name: "delete", writes: true},
	},
	refusal: func(message string) any {
		return map[string]any{"errors": []map[string]string{{"code": "DENIED", "message": message}}}
	},
}

func publicSites(names ...string) (sites []registrySite) {
	for _, name := range names {
		bare, wildcard := strings.CutPrefix(name, "*.")
		sites = append(sites, registrySite{host: Host{Name: bare, Wildcard: wildcard, Port: webPort}})
	}
	return sites
}

func filesSite(name string) registrySite {
	s := publicSites(name)[0]
	s.files = true
	return s
}

// splitScope reads the name of a scoped package, "@scope%2fname", which is one of
// two segments in another spelling. It returns nil for any other encoded slash.
func splitScope(p Path) (segments []string) {
	for _, segment := range p.Segments {
		scope, name, slash := strings.Cut(segment, "/")
		switch {
		case !slash:
			segments = append(segments, segment)
		case !strings.HasPrefix(scope, "@") || name == "" || strings.Contains(name, "/"):
			return nil
		default:
			segments = append(segments, scope, name)
		}
	}
	return segments
}

// maxCoded bounds a body that is decoded here, in bytes before and behind decoding.
const maxCoded = 2 << 20

var (
	errAudit       = errors.New("the audit says more than names and versions of packages")
	packageName    = regexp.MustCompile(`^(@[A-Za-z0-9._~-]+/)?[A-Za-z0-9._~-]+$`)
	packageVersion = regexp.MustCompile(`^[0-9A-Za-z.+-]{1,256}$`)
)

// checkAudit takes the names and versions of installed packages, for which npm asks
// after each install. npm's servers learn them; they give nothing of it to others.
func checkAudit(req *Request, body *Body) error {
	text, err := decodedWhole(req.Header, body, maxCoded)
	if err != nil {
		return err
	}
	packages, err := body.parse(text)
	if err != nil {
		return err
	}
	for name, versions := range packages {
		list, ok := versions.([]any)
		if !ok || len(name) > 214 || !packageName.MatchString(name) {
			return errAudit
		}
		for _, version := range list {
			if text, ok := version.(string); !ok || !packageVersion.MatchString(text) {
				return errAudit
			}
		}
	}
	return nil
}

var errCoding = errors.New("the body is encoded in a way that is not read here")

// decodedWhole returns the whole body, decoded.
func decodedWhole(header http.Header, body *Body, limit int) ([]byte, error) {
	text, err := body.Whole(limit)
	if err != nil || len(header["Content-Encoding"]) == 0 {
		return text, err
	}
	if codings := header["Content-Encoding"]; len(codings) > 1 || codings[0] != "gzip" {
		return nil, errCoding
	}
	body.beginParsing()
	rest := bytes.NewReader(text) // an io.ByteReader: nothing is read ahead of the end
	unzipped, err := gzip.NewReader(rest)
	if err != nil {
		return nil, errCoding
	}
	unzipped.Multistream(false)
	decoded, err := io.ReadAll(io.LimitReader(unzipped, int64(limit)+1))
	switch {
	case err != nil:
		return nil, errCoding
	case len(decoded) > limit:
		return nil, fmt.Errorf("%w: %d bytes", ErrLong, limit)
	case rest.Len() > 0: // which other programs take for a second part
		return nil, errCoding
	}
	return decoded, nil
}

var errScope = errors.New("the token would be for more than pulling")

// pullScope is a scope for pulling alone. The name may begin with a host and its port; a comma
// would be between actions.
var pullScope = regexp.MustCompile(`^repository:[^:,]+(:[0-9]+/[^:,]+)?:pull$`)

// checkScope takes a request for a token by which images can be pulled, and nothing else.
func checkScope(req *Request, _ *Body) error {
	parameters, err := url.ParseQuery(req.Query)
	if err != nil {
		return errScope
	}
	pulls := 0
	for name, values := range parameters {
		switch {
		case strings.EqualFold(name, "offline_token") || strings.EqualFold(name, "access_type"):
			return errScope
		case !strings.EqualFold(name, "scope"):
			continue
		}
		for scope := range strings.FieldsSeq(strings.Join(values, " ")) {
			if !pullScope.MatchString(scope) {
				return errScope
			}
			pulls++
		}
	}
	if pulls == 0 {
		return errScope
	}
	return nil
}
