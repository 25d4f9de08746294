package operation

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

const ownEntryText = "github:ghe.example.com/Acme/App pulls.create, issues.comment, releases.upload"

// askGraph asks the GraphQL of a site.
func askGraph(t *testing.T, r *Rules, m *Memory, url, query string) Decision {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query})
	if err != nil {
		t.Fatal(err)
	}
	return ask(t, r, m, "POST", url, string(body), nil)
}

func TestGitHubOfOnesOwn(t *testing.T) {
	r := compile(t, ownEntryText, "github:corp.ghe.com/acme/app issues.comment", "git:ghe.example.com/acme/app",
		"github:github.com/acme/lib issues.comment")
	for text, want := range map[string]string{
		"GET ghe.example.com/api/v3/repos/acme/app/pulls?state=open":               "github read ghe.example.com/acme/app",
		"POST ghe.example.com/api/v3/repos/ACME/app/issues/7/comments":             "github issues.comment ghe.example.com/acme/app",
		"POST ghe.example.com/api/uploads/repos/acme/app/releases/1/assets?name=x": "github releases.upload ghe.example.com/acme/app",
		"GET ghe.example.com/api/v3/meta":                                          "github GET /api/v3/meta",
		"GET ghe.example.com/api/v3/":                                              "github GET /api/v3/",
		"POST api.corp.ghe.com/repos/acme/app/issues/7/comments":                   "github issues.comment corp.ghe.com/acme/app",
		"GET ghe.example.com/acme/app.git/info/refs?service=git-upload-pack":       "git fetch ghe.example.com/acme/app",
		"POST api.github.com/repos/acme/lib/issues/7/comments":                     "github issues.comment acme/lib",
	} {
		method, url, _ := strings.Cut(text, " ")
		if d := ask(t, r, NewMemory(), method, url, "{}", nil); !d.Allowed || d.Operation != want {
			t.Errorf("%s: %+v, want %q", text, d, want)
		}
	}
	var hosts []string
	for _, h := range r.Hosts() {
		hosts = append(hosts, h.String())
	}
	slices.Sort(hosts)
	want := []string{"api.corp.ghe.com:443", "api.github.com:443", "ghe.example.com:443", "uploads.corp.ghe.com:443", "uploads.github.com:443"}
	if !slices.Equal(hosts, want) {
		t.Errorf("%q is opened, want %q", hosts, want)
	}
	if text, reads := Words(ownEntryText); reads ||
		!strings.HasPrefix(text, "GitHub's API at ghe.example.com: read acme/app, and there pulls.create") {
		t.Error(text, reads)
	}
	for narrow, want := range map[string]bool{
		"github:ghe.example.com/acme/app issues.comment": true, "github:acme/app issues.comment": false, "github:acme/lib": true,
		"github:other.example.com/acme/app": false, "github:corp.ghe.com/acme/app": true,
	} {
		if r.Covers(narrow) != want {
			t.Errorf("%q: not %v", narrow, want)
		}
	}
}

// An id that one site gave is none of the other's: sites count their objects each for
// itself, and the agent may make objects at one until an id fits.
func TestAttackOperationGraphQLIdOfAnotherSite(t *testing.T) {
	const own, com = "ghe.example.com/api/graphql", "api.github.com/graphql"
	r, m := compile(t, ownEntryText, "github:acme/app issues.comment"), NewMemory()
	for url, id := range map[string]string{own: "ID_own", com: "ID_com"} {
		d := askGraph(t, r, m, url, `{ repository(owner: "acme", name: "app") { issue(number: 1) { id } } }`)
		if !d.Allowed || d.Observe == nil {
			t.Fatalf("%s: %+v", url, d)
		}
		w := d.Observe(http.StatusOK, http.Header{"Content-Type": {"application/json"}})
		_, _ = io.WriteString(w, `{"data":{"repository":{"issue":{"id":"`+id+`"}}}}`)
		_ = w.Close()
	}
	for _, c := range []struct {
		url, id string
		allowed bool
	}{{own, "ID_own", true}, {com, "ID_com", true}, {own, "ID_com", false}, {com, "ID_own", false}} {
		d := askGraph(t, r, m, c.url, `mutation { addComment(input: {subjectId: "`+c.id+`", body: "x"}) { clientMutationId } }`)
		if d.Allowed != c.allowed {
			t.Errorf("%s %s: %+v", c.url, c.id, d)
		}
	}
}

func TestGitHubSiteEntries(t *testing.T) {
	for text, want := range map[string]string{
		"github:api.github.com/acme/app": "names no GitHub", "github:ghe.com/acme/app": "names no GitHub",
		"github:api.corp.ghe.com/acme/app": "names no GitHub",
		"github:*.example.com/acme/app":    "names no GitHub", "github:10.0.0.1/acme/app": "is an address",
		"github:ghe.example.com/acme":       "names no repository",
		"github:ghe.example.com/acme/app/x": "names no repository", "github:ghe.example.com/acme/* issues.comment": "writes to any repository",
		"github:ghe.example.com:99999/acme/app": "is not a port", "github:gist.github.com/acme/app": "names no GitHub",
	} {
		if _, problems := Compile([]string{text}); len(problems) != 1 || !strings.Contains(problems[0].Message, want) {
			t.Errorf("%q: %+v, want %q", text, problems, want)
		}
	}
}
