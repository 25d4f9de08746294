package operation

import (
	"slices"
	"strings"
)

const githubCom = "github.com"

// githubSite is github.com, a part of ghe.com or a GitHub of one's own: where its API is
// (docs.github.com/rest, docs.github.com/enterprise-server/rest).
type githubSite struct {
	web                   Host // as entries name it
	api, graphql, uploads githubRoot
}

// githubRoot is a part of a site: all that is below a path of a host.
type githubRoot struct {
	host Host
	path []string
}

// isGitHub reports whether a host can be the name of a site. Those below github.com are
// parts of it, and so are those below a name of ghe.com.
func isGitHub(host string) bool {
	tenant, ok := strings.CutSuffix(host, ".ghe.com")
	return host != "ghe.com" && !strings.HasSuffix(host, "."+githubCom) && !(ok && strings.Contains(tenant, "."))
}

func newGitHubSite(web Host) githubSite {
	if web.Name != githubCom && !strings.HasSuffix(web.Name, ".ghe.com") {
		root := func(part string) githubRoot { return githubRoot{web, []string{"api", part}} }
		return githubSite{web, root("v3"), root("graphql"), root("uploads")}
	}
	api, uploads := web, web
	api.Name, uploads.Name = "api."+web.Name, "uploads."+web.Name
	return githubSite{web, githubRoot{host: api}, githubRoot{api, []string{"graphql"}}, githubRoot{host: uploads}}
}

func (s githubSite) is(other githubSite) bool { return s.web == other.web }

func (s githubSite) hosts() []Host { return []Host{s.api.host, s.uploads.host} }

// target writes a repository as entries do.
func (s githubSite) target(repo []string) string {
	name := strings.Join(repo, "/")
	if s.web.Name == githubCom {
		return name
	}
	return hostText(&Request{Host: s.web.Name, Port: s.web.Port}) + "/" + name
}

func (s githubSite) inWords() string {
	if s.web.Name == githubCom {
		return ""
	}
	return " at " + s.web.Name
}

// githubCall is a request to a part of a site.
type githubCall struct {
	site    githubSite
	graphql bool
	uploads bool
	below   []string // the path behind the part's, in segments
}

func (s githubSite) call(req *Request) (call githubCall, ok bool) {
	call.site = s
	if call.below, ok = s.graphql.below(req); ok && len(call.below) == 0 {
		call.graphql = true
		return call, true
	}
	if call.below, ok = s.uploads.below(req); ok {
		call.uploads = true
		return call, true
	}
	call.below, ok = s.api.below(req)
	return call, ok
}

// below cuts the path of a request to the part.
func (r githubRoot) below(req *Request) (segments []string, ok bool) {
	n := len(r.path)
	if !r.host.Matches(req.Host, req.Port) || len(req.Path.Segments) < n || !slices.Equal(req.Path.Segments[:n], r.path) {
		return nil, false
	}
	return req.Path.Segments[n:], true
}
