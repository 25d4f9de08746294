package action

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/org/claude-sandbox/action/github"
	"github.com/org/claude-sandbox/action/proposal"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox/changes"
)

const jobToken = "ghs_not-a-real-token_0123456789abcdef"

// hub is a stand-in of GitHub: git's own server for the repository o/r, and the API for pull
// requests of it.
type hub struct {
	t        *testing.T
	url      string
	bare     string // the repository
	checkout string // of the workflow
	temp     string
	env      map[string]string
	refuses  string // the beginning of a path of the API that answers 403

	mu       sync.Mutex
	pulls    []github.Pull
	noDrafts bool
	reviews  []string
	closed   bool
	queries  []string
	comments pullHub
}

// Hub is the stand-in for tests outside of the package.
type Hub struct {
	URL, Checkout, Token string

	hub *hub
}

// NewHub starts one.
func NewHub(t *testing.T) Hub {
	h := newHub(t)
	h.git(h.checkout, "config", "--unset", "http."+h.url+"/.extraheader") // as persist-credentials: false
	h.git(h.checkout, "remote", "add", "origin", "https://github.com/o/r")
	return Hub{h.url, h.checkout, jobToken, h}
}

// Told is what it was told through the API, a line each.
func (h Hub) Told() (lines []string) {
	h.hub.mu.Lock()
	defer h.hub.mu.Unlock()
	for _, p := range h.hub.pulls {
		lines = append(lines, fmt.Sprintf("pull request %q from %s to %s, draft %v", p.Title, p.Head, p.Base, p.Draft))
	}
	for _, c := range h.hub.comments.lines {
		lines = append(lines, fmt.Sprintf("comment at %v:%v: %v", c["path"], c["line"], c["body"]))
	}
	for _, c := range h.hub.comments.plain {
		lines = append(lines, fmt.Sprintf("comment: %v", c["body"]))
	}
	return lines
}

// Git runs git in the server's repository.
func (h Hub) Git(args ...string) string { return h.hub.git(h.hub.bare, args...) }

func newHub(t *testing.T) *hub {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		testenv.Missing(t, "git", err.Error())
	}
	root := t.TempDir()
	h := &hub{t: t, bare: filepath.Join(root, "o", "r"), checkout: filepath.Join(root, "checkout"), temp: filepath.Join(root, "temp")}
	server := httptest.NewServer(h.handler(program, root))
	t.Cleanup(server.Close)
	h.url = server.URL
	h.git(root, "init", "-q", "--bare", "-b", "main", h.bare)
	h.git(h.bare, "config", "http.receivepack", "true")
	h.git(root, "init", "-q", "-b", "main", h.checkout)
	for name, text := range map[string]string{"a.txt": "one\ntwo\n", "gone.txt": "x\n", ".gitignore": "dist/\n", "package.json": "{}\n"} {
		write(t, filepath.Join(h.checkout, name), text)
	}
	if err := os.Symlink("/etc", filepath.Join(h.checkout, "link")); err != nil {
		t.Fatal(err)
	}
	h.git(h.checkout, "add", "-A")
	h.git(h.checkout, "commit", "-qm", "start")
	h.git(h.checkout, "push", "-q", h.bare, "main")
	// actions/checkout leaves this there unless it is told not to.
	h.git(h.checkout, "config", "http."+h.url+"/.extraheader", "AUTHORIZATION: basic wrong")
	write(t, filepath.Join(h.checkout, ".git", "hooks", "pre-push"), "#!/bin/sh\nexit 1\n")
	if err := os.Chmod(filepath.Join(h.checkout, ".git", "hooks", "pre-push"), 0o755); err != nil {
		t.Fatal(err)
	}
	h.env = map[string]string{
		"GITHUB_WORKSPACE": h.checkout, "GITHUB_SERVER_URL": h.url, "GITHUB_API_URL": h.url + "/api", "GITHUB_REPOSITORY": "o/r",
		"GITHUB_REF": "refs/heads/main", "GITHUB_ACTOR": "ann", "GITHUB_RUN_ID": "7", "GITHUB_RUN_ATTEMPT": "1",
		"GITHUB_OUTPUT": filepath.Join(h.temp, "output"), "GITHUB_STEP_SUMMARY": filepath.Join(h.temp, "summary"),
		"INPUT_PATCH_FILE": filepath.Join(h.temp, "changes.diff"), "INPUT_GITHUB_TOKEN": jobToken,
	}
	return h
}

// handler serves git with the job's token as GitHub takes it, and the API.
func (h *hub) handler(program, root string) http.Handler {
	backend := &cgi.Handler{Path: program, Args: []string{"http-backend"},
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=job"}}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+jobToken))
	mux := http.NewServeMux()
	mux.HandleFunc("/o/r/", func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Values("Authorization"); len(got) != 1 || got[0] != basic {
			http.Error(w, "who is it", http.StatusBadRequest)
			return
		}
		backend.ServeHTTP(w, r)
	})
	mux.HandleFunc("/api/repos/o/r/", func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		path := strings.TrimPrefix(r.URL.Path, "/api/repos/o/r")
		h.queries = append(h.queries, r.Method+" "+path)
		if r.Header.Get("Authorization") != "Bearer "+jobToken || h.refuses != "" && strings.HasPrefix(path, h.refuses) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"message":"GitHub Actions is not permitted to create pull requests"}`))
			return
		}
		switch {
		case r.Method == http.MethodPost && path == "/pulls":
			var p github.Pull
			_ = json.NewDecoder(r.Body).Decode(&p)
			h.pulls = append(h.pulls, p)
			_ = json.NewEncoder(w).Encode(github.Opened{Number: 5, URL: h.url + "/o/r/pull/5", Draft: p.Draft && !h.noDrafts})
		case r.Method == http.MethodPost && path == "/pulls/5/requested_reviewers":
			var asked struct {
				Reviewers []string `json:"reviewers"`
				Teams     []string `json:"team_reviewers"`
			}
			_ = json.NewDecoder(r.Body).Decode(&asked)
			h.reviews = slices.Concat(asked.Reviewers, asked.Teams)
			_, _ = w.Write([]byte("{}"))
		case r.Method == http.MethodPatch && path == "/pulls/5":
			h.closed = true
			_, _ = w.Write([]byte("{}"))
		case path == "/collaborators/ann/permission":
			_, _ = w.Write([]byte(`{"permission":"write"}`))
		default:
			r.URL.Path = strings.TrimPrefix(r.URL.Path, "/api")
			h.comments.ServeHTTP(w, r)
		}
	})
	return mux
}

func (h *hub) git(dir string, args ...string) string {
	h.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=t",
		"GIT_COMMITTER_EMAIL=t@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// A picture of an agent's lands in the pull request, byte for byte.
func TestApplyLandsBinaryFiles(t *testing.T) {
	h := newHub(t)
	const picture = "\x89PNG\r\n\x1a\n\x00\x01\x02"
	dir, keep := t.TempDir(), t.TempDir()
	look, err := changes.Take(t.Context(), dir, changes.Options{Keep: keep, Binaries: true})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "docs", "a.png"), picture)
	var diff bytes.Buffer
	if err := look.Compare(t.Context()).WritePatch(&diff); err != nil {
		t.Fatal(err)
	}
	_, out := h.apply(diff.String())
	if out["conclusion"] != "proposed" || out["changed_files"] != "docs/a.png" {
		t.Fatalf("%v\n%s", out, diff.String())
	}
	if got := h.git(h.bare, "show", out["commit"]+":docs/a.png"); got != picture {
		t.Errorf("%q", got)
	}
	lied := strings.Replace(diff.String(), "literal 11\n", "literal 10\n", 1)
	if _, out := h.apply(lied); out["conclusion"] != "refused" || out["commit"] != "" {
		t.Errorf("a wrong size: %v", out)
	}
}

// apply runs the step with a patch and returns its log and its outputs.
func (h *hub) apply(patch string, env ...string) (log string, outputs map[string]string) {
	h.t.Helper()
	write(h.t, filepath.Join(h.temp, "changes.diff"), patch)
	for _, name := range []string{"output", "summary"} {
		_ = os.Remove(filepath.Join(h.temp, name))
	}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		h.env[name] = value
	}
	var out bytes.Buffer
	Apply(h.t.Context(), ApplyOptions{Getenv: func(name string) string { return h.env[name] }, Stdout: &out})
	text, err := os.ReadFile(filepath.Join(h.temp, "output"))
	if err != nil {
		h.t.Fatal(err, out.String())
	}
	return out.String(), readOutputs(h.t, string(text))
}

// branches are those of the server.
func (h *hub) branches() string {
	return strings.TrimSpace(h.git(h.bare, "for-each-ref", "--format=%(refname:short)", "refs/heads"))
}

const ordinary = `diff --git a/a.txt b/a.txt
--- a/a.txt
+++ b/a.txt
@@ -1,2 +1,2 @@
 one
-two
+2
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1,1 +0,0 @@
-x
diff --git a/src/new file.go b/src/new file.go
new file mode 100644
--- /dev/null
+++ b/src/new file.go
@@ -0,0 +1,1 @@
+package src
diff --git a/dist/out.js b/dist/out.js
new file mode 100644
--- /dev/null
+++ b/dist/out.js
@@ -0,0 +1,1 @@
+built
sbx-devc: dist/big/: 40,000 new files, 1 GB
`

const newWorkflow = `diff --git a/.github/workflows/x.yml b/.github/workflows/x.yml
new file mode 100644
--- /dev/null
+++ b/.github/workflows/x.yml
@@ -0,0 +1,1 @@
+on: push
`

func TestApplyOpensAPullRequest(t *testing.T) {
	h := newHub(t)
	log, got := h.apply(ordinary, "INPUT_TITLE=Fix it", "INPUT_BODY=I fixed it, @everybody\n```\n[x](http://evil.example)",
		"INPUT_REVIEWERS=bob, o/core")
	if got["conclusion"] != "proposed" || got["branch"] != "claude-sandbox/7-1" || got["pull_request_number"] != "5" ||
		!strings.HasSuffix(got["pull_request"], "/o/r/pull/5") {
		t.Fatalf("%v\n%s", got, log)
	}
	if want := "a.txt\ngone.txt\nsrc/new file.go"; got["changed_files"] != want || got["protected_files"] != "" {
		t.Errorf("changed_files %q, protected_files %q", got["changed_files"], got["protected_files"])
	}
	if tree := h.git(h.bare, "ls-tree", "-r", "--name-only",
		"claude-sandbox/7-1"); tree != ".gitignore\na.txt\nlink\npackage.json\nsrc/new file.go\n" {
		t.Errorf("the commit has %s", tree)
	}
	if text := h.git(h.bare, "show", "claude-sandbox/7-1:a.txt"); text != "one\n2\n" {
		t.Errorf("a.txt: %q", text)
	}
	if p := h.pulls[0]; p.Title != "Fix it" || p.Base != "main" || p.Head != "claude-sandbox/7-1" || p.Draft ||
		!strings.Contains(p.Body, "````text\nI fixed it, @everybody\n```\n[x](http://evil.example)\n````") {
		t.Errorf("the pull request: %+v", p)
	}
	if !slices.Equal(h.reviews, []string{"bob", "core"}) {
		t.Errorf("asked for a review: %v", h.reviews)
	}
	if status := h.git(h.checkout, "status", "--porcelain"); status != "" || strings.Count(log, jobToken) != 1 { // in its mask
		t.Errorf("the checkout changed: %q, or the token is in the log:\n%s", status, log)
	}
	// The same again: the branch is there.
	if _, got := h.apply(ordinary, "INPUT_TITLE=Again"); got["conclusion"] != "failure" ||
		!strings.Contains(got["result"], "is there already") || len(h.pulls) != 1 {
		t.Errorf("a second time: %v", got)
	}
}

// A patch of a folder of the repository lands in it, whether its paths are the folder's or the
// repository's, and never in a folder of the same name below it.
func TestApplyInAFolderOfTheRepository(t *testing.T) {
	const file = "diff --git a/%[1]s b/%[1]s\n--- a/%[1]s\n+++ b/%[1]s\n@@ -1,1 +1,1 @@\n-one\n+two\n"
	const manifest = "diff --git a/%[1]s b/%[1]s\nnew file mode 100644\n--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1,1 @@\n+{}\n"
	for name, c := range map[string]struct{ patch, folder, conclusion string }{
		"the folder's paths":     {fmt.Sprintf(file, "a.txt"), "packages/a", "proposed"},
		"the repository's paths": {fmt.Sprintf(file, "packages/a/a.txt"), "", "proposed"},
		"a manifest there":       {fmt.Sprintf(file, "a.txt") + fmt.Sprintf(manifest, "package.json"), "./packages/a/", "draft"},
		"both":                   {fmt.Sprintf(file, "packages/a/a.txt"), "packages/a", "refused"},
		"another folder":         {fmt.Sprintf(file, "a.txt"), "packages/b", "refused"},
		"the folder is a link":   {fmt.Sprintf(manifest, "x"), "link", "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			write(t, filepath.Join(h.checkout, "packages", "a", "a.txt"), "one\n")
			h.git(h.checkout, "add", "-A")
			h.git(h.checkout, "commit", "-qm", "a package")
			h.git(h.checkout, "push", "-q", "--no-verify", h.bare, "main")
			log, got := h.apply(c.patch, "INPUT_WORKING_DIRECTORY="+c.folder)
			if got["conclusion"] != c.conclusion {
				t.Fatalf("%v\n%s", got, log)
			}
			if c.conclusion == "refused" {
				if h.branches() != "main" || got["refused"] == "" {
					t.Errorf("%v, branches %s", got, h.branches())
				}
				return
			}
			changed := strings.Split(got["changed_files"], "\n")
			if changed[0] != "packages/a/a.txt" || h.git(h.bare, "show", got["commit"]+":packages/a/a.txt") != "two\n" {
				t.Errorf("%q in %v", changed, got)
			}
			for _, place := range strings.Split(strings.TrimSpace(h.git(h.bare, "diff", "--name-only", "main", got["commit"])), "\n") {
				if !strings.HasPrefix(place, "packages/a/") {
					t.Errorf("%s changed", place)
				}
			}
		})
	}
}

func TestApplyOfNothing(t *testing.T) {
	h := newHub(t)
	if _, got := h.apply("sbx-devc: dist/: 4 new files\n"); got["conclusion"] != "unchanged" || h.branches() != "main" || len(h.pulls) > 0 {
		t.Errorf("%v, branches %s", got, h.branches())
	}
}

// Attack: the patch changes files that CI and builds obey.
func TestAttackProtectedFilesWaitForAPerson(t *testing.T) {
	h := newHub(t)
	log, got := h.apply(ordinary + newWorkflow)
	if got["conclusion"] != "draft" || !h.pulls[0].Draft || !slices.Equal(h.reviews, []string{"ann"}) ||
		!strings.HasPrefix(got["protected_files"], ".github/workflows/x.yml: ") {
		t.Errorf("%v, reviews %v\n%s", got, h.reviews, log)
	}
	body := h.pulls[0].Body
	if first := strings.Index(body, "workflows/x.yml"); first < 0 || first > strings.Index(body, "a.txt") {
		t.Errorf("a protected file is not shown first:\n%s", body)
	}
	h = newHub(t)
	if _, got := h.apply(ordinary+newWorkflow, "INPUT_PROTECTED_FILES=fail"); got["conclusion"] != "refused" ||
		h.branches() != "main" || len(h.pulls) > 0 {
		t.Errorf("with fail: %v, branches %s", got, h.branches())
	}
	h = newHub(t)
	h.noDrafts = true
	if _, got := h.apply(newWorkflow); got["conclusion"] != "failure" || !h.closed || h.branches() != "main" {
		t.Errorf("without drafts: %v, closed %v, branches %s", got, h.closed, h.branches())
	}
}

// Attack: changes whose place in the commit is something else than a plain file. Nothing
// of such a patch is applied.
func TestAttackPlacesInTheCommit(t *testing.T) {
	h := newHub(t)
	for name, patch := range map[string]string{
		"below a link": "diff --git a/link/x b/link/x\nnew file mode 100644\n--- /dev/null\n+++ b/link/x\n@@ -0,0 +1,1 @@\n+a\n",
		"below a file": "diff --git a/a.txt/x b/a.txt/x\nnew file mode 100644\n--- /dev/null\n+++ b/a.txt/x\n@@ -0,0 +1,1 @@\n+a\n",
		"through a link": "diff --git a/link b/link\n--- a/link\n+++ b/link\n@@ -1,1 +1,1 @@\n-/etc\n\\ No newline at end of file\n" +
			"+/root\n\\ No newline at end of file\n",
		"a link's folder":    "diff --git a/LINK/x b/LINK/x\nnew file mode 100644\n--- /dev/null\n+++ b/LINK/x\n@@ -0,0 +1,1 @@\n+a\n",
		"another case":       "diff --git a/A.txt b/A.txt\nnew file mode 100644\n--- /dev/null\n+++ b/A.txt\n@@ -0,0 +1,1 @@\n+a\n",
		"new, and there":     "diff --git a/a.txt b/a.txt\nnew file mode 100644\n--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,1 @@\n+a\n",
		"changed, not there": "diff --git a/b.txt b/b.txt\n--- a/b.txt\n+++ b/b.txt\n@@ -1,1 +1,1 @@\n-a\n+b\n",
		"another content":    "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-ONE\n+b\n",
		"another mode":       "diff --git a/a.txt b/a.txt\nold mode 100755\nnew mode 100644\n",
		"another commit's": ordinary +
			"diff --git a/package.json b/package.json\n--- a/package.json\n+++ b/package.json\n@@ -1,1 +1,1 @@\n-[]\n+b\n",
		"a path out":           "diff --git a/../x b/../x\nnew file mode 100644\n--- /dev/null\n+++ b/../x\n@@ -0,0 +1,1 @@\n+a\n",
		"no patch of sbx-devc": "From 0\n",
	} {
		if _, got := h.apply(patch); got["conclusion"] != "refused" || got["refused"] == "" {
			t.Errorf("%s: %v", name, got)
		}
	}
	if h.branches() != "main" || len(h.pulls)+len(h.queries) > 0 {
		t.Errorf("branches %s, %d pull requests, %v", h.branches(), len(h.pulls), h.queries)
	}
}

// A proposal that cannot be finished leaves nothing behind on GitHub.
func TestApplyThatFailsTakesItsBranchBack(t *testing.T) {
	h := newHub(t)
	h.refuses = "/pulls"
	log, got := h.apply(ordinary)
	if summary, err := os.ReadFile(filepath.Join(h.temp, "summary")); err != nil ||
		!strings.Contains(string(summary), "\n  the job needs contents: write") {
		t.Errorf("the summary does not say what to do: %v\n%s", err, summary)
	}
	if got["conclusion"] != "failure" || got["branch"] != "" || h.branches() != "main" || !strings.Contains(log, "pull-requests: write") ||
		strings.Contains(strings.ReplaceAll(log, "::add-mask::"+jobToken, ""), jobToken) {
		t.Errorf("%v, branches %s\n%s", got, h.branches(), log)
	}
}

func TestApplyInputsAreRefused(t *testing.T) {
	h := newHub(t)
	inside := filepath.Join(h.checkout, "changes.diff")
	write(t, inside, ordinary)
	for title, tc := range map[string]struct{ set, want string }{
		"in the checkout": {"INPUT_PATCH_FILE=" + inside, "is in the checkout"},
		"relative":        {"INPUT_PATCH_FILE=changes.diff", "no absolute path"},
		"no patch":        {"INPUT_PATCH_FILE=" + filepath.Join(h.temp, "none"), "patch_file"},
		"no token":        {"INPUT_GITHUB_TOKEN=", "github_token is empty"},
		"protected":       {"INPUT_PROTECTED_FILES=allow", `"allow" is not known`},
		"no base":         {"GITHUB_REF=refs/tags/v1", "input base is empty"},
		"folder":          {"INPUT_WORKING_DIRECTORY=../x", "leads out"},
		"files":           {"INPUT_MAX_FILES=0", "max_files"},
	} {
		name, _, _ := strings.Cut(tc.set, "=")
		was := h.env[name]
		if _, got := h.apply(ordinary, tc.set); got["conclusion"] != "config_error" || !strings.Contains(got["result"], tc.want) {
			t.Errorf("%s: %v", title, got)
		}
		h.env[name] = was
	}
	if _, got := h.apply(ordinary, "INPUT_BRANCH=main"); got["conclusion"] != "failure" ||
		!strings.Contains(got["result"], "is there already") {
		t.Errorf("a branch that is there: %v", got)
	}
	if _, got := h.apply(ordinary, "INPUT_BRANCH=a..b"); got["conclusion"] != "failure" ||
		!strings.Contains(got["result"], "no name of a branch") {
		t.Errorf("a bad branch: %v", got)
	}
}

func TestInputsOfApplyFileAndCodeAgree(t *testing.T) {
	text, docs := repoFile(t, "apply/action.yml"), repoFile(t, "docs/action.md")
	for _, field := range reflect.VisibleFields(reflect.TypeFor[ApplyInputs]()) {
		name := field.Tag.Get("input")
		if !strings.Contains(text, "\n  "+name+":\n") || !strings.Contains(text, "INPUT_"+strings.ToUpper(name)+": ${{ inputs."+name+" }}\n") {
			t.Errorf("apply/action.yml lacks input %s", name)
		}
		if !strings.Contains(docs, "| `"+name+"` |") {
			t.Errorf("docs/action.md has no row for input %s", name)
		}
	}
	if n := strings.Count(text, "INPUT_"); n != reflect.TypeFor[ApplyInputs]().NumField() {
		t.Errorf("apply/action.yml passes %d inputs", n)
	}
	for _, p := range (&applied{}).pairs() {
		if !strings.Contains(text, "value: ${{ steps.apply.outputs."+p.name+" ") || !strings.Contains(docs, "`"+p.name+"`") {
			t.Errorf("output %s is not passed on or not documented", p.name)
		}
	}
}

// Attack: patches of names and changes that no run writes, at random. What lands is what is said,
// as plain files, and git takes it.
func TestAttackWhatLandsIsWhatIsSaid(t *testing.T) {
	h := newHub(t)
	base := strings.TrimSpace(h.git(h.checkout, "rev-parse", "HEAD"))
	names := []string{
		"a.txt", "A.txt", "a.txt/x", "gone.txt", "gone.txt/x", "package.json", "PACKAGE.json/x", "link", "link/x", "LINK",
		".gitignore", ".gitignore/x",
		"x", "X", "x/y", "x/Y", "X/z", "x/y/z", "dist", "dist/x", "DIST/x", "-rf", "--", "sp ace", "\"q\"", "é", "e\u0301", "K", "\u212a", "s",
		"ſ", ".gitmodules", ".GITATTRIBUTES", "HEAD",
		"objects/x", "refs/x", "@", "@{0}", "a..b", ".lock", "x.lock", "~", "*", "?", "[a]", ".github/workflows/y.yml", "con", "nul.txt", "a.",
		" ", "$(id)", "`id`", "'",
	}
	random := rand.New(rand.NewPCG(3, 4))
	piece := func(about int) string {
		name := names[(about+random.IntN(8))%len(names)] // neighbours get into each other's way
		quoted := func(p string) string { return p }
		if strings.ContainsAny(name, `"`) {
			quoted = func(p string) string { return `"` + strings.ReplaceAll(p, `"`, `\"`) + `"` }
		}
		a, b := quoted("a/"+name), quoted("b/"+name)
		head := "diff --git " + a + " " + b + "\n"
		switch random.IntN(6) {
		case 0:
			return head + "deleted file mode 100644\n--- " + a + "\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n"
		case 1:
			return head + "--- " + a + "\n+++ " + b + "\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
		case 2:
			return head + "old mode 100644\nnew mode 100755\n"
		}
		return head + "new file mode 100644\n--- /dev/null\n+++ " + b + "\n@@ -0,0 +1,1 @@\n+a\n"
	}
	repo, landed := proposal.Repository{Dir: h.checkout}, 0
	for range 300 {
		var text strings.Builder
		about := random.IntN(len(names))
		for range 1 + random.IntN(3) {
			text.WriteString(piece(about))
		}
		var a applied
		write(t, filepath.Join(h.temp, "p"), text.String())
		if err := a.judge(t.Context(), repo, ApplyInputs{PatchFile: filepath.Join(h.temp, "p"), MaxFiles: 9, MaxKilobytes: 9}); err != nil ||
			a.conclusion == Refused {
			continue
		}
		commit, refused, err := repo.Commit(t.Context(), base, a.verdict.Files, proposal.Message{Text: "t\n", Name: "n", Email: "n@example.com"})
		if err != nil {
			t.Fatalf("%v\n%s", err, text.String())
		}
		if len(refused) > 0 || commit == "" {
			continue
		}
		landed++
		var said, is []string
		for _, f := range a.verdict.Files {
			said = append(said, f.Path)
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(h.git(h.checkout, "diff-tree", "-r", "-z", "--no-renames", base, commit), "\x00"),
			"\x00:") {
			about, name, _ := strings.Cut(line, "\x00")
			if mode := strings.Fields(about)[1]; !slices.Contains([]string{"100644", "100755", "000000"}, mode) {
				t.Errorf("%s has the mode %s", name, mode)
			}
			is = append(is, name)
		}
		if slices.Sort(is); !slices.Equal(is, said) {
			t.Errorf("in the commit are %q, and it says %q\n%s", is, said, text.String())
		}
		h.git(h.checkout, "update-ref", fmt.Sprintf("refs/landed/%d", landed), commit)
	}
	if out := h.git(h.checkout, "fsck", "--strict", "--no-dangling"); strings.Contains(out, "error") || strings.Contains(out, "warning") {
		t.Errorf("git fsck: %s", out)
	}
	if landed < 40 {
		t.Errorf("%d patches landed", landed)
	}
}
