package operation

import (
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"io/fs"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall/operation/pktline"
)

// forge is a host of git repositories: git's own server behind the gate.
type forge struct {
	*gatedClient
	root string // of the bare repositories
	work string // a clone of acme/app
	main string // the commit that every repository has
}

func newForge(t *testing.T, entries ...string) *forge {
	t.Helper()
	f := &forge{root: t.TempDir()}
	backend := &cgi.Handler{
		Path: "/bin/sh", Args: []string{"-c", "exec git http-backend"}, Dir: f.root,
		Env: []string{"GIT_PROJECT_ROOT=" + f.root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=agent", "PATH=" + os.Getenv("PATH")},
	}
	g := &gate{rules: compile(t, entries...), memory: NewMemory(), sites: map[string]http.Handler{"": backend}}
	f.gatedClient = newGatedClient(t, g)
	seed := t.TempDir()
	f.must(seed, "git", "init", "-q", "-b", "main", ".")
	f.must(seed, "git", "commit", "-q", "--allow-empty", "-m", "first")
	for _, name := range []string{"acme/app.git", "evil/app.git"} {
		f.must(seed, "git", "clone", "-q", "--bare", seed, filepath.Join(f.root, name))
		f.must(filepath.Join(f.root, name), "git", "config", "receive.advertisePushOptions", "true")
	}
	f.main = f.must(seed, "git", "rev-parse", "main")
	f.work = filepath.Join(t.TempDir(), "work")
	f.must(seed, "git", "clone", "-q", "http://git.example.com/acme/app.git", f.work)
	return f
}

// refs returns the refs of all repositories, from git's own files: what arrived.
func (f *forge) refs() string {
	f.t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(f.root, func(path string, entry fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, f.root+"/")
		if err != nil || entry.IsDir() || !strings.Contains(name, ".git/refs/") && filepath.Base(name) != "packed-refs" {
			return err
		}
		text, err := os.ReadFile(path)
		all.WriteString(strings.TrimSpace(string(text)) + " " + name + "\n")
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return all.String()
}

func (f *forge) commit(message string) string {
	f.t.Helper()
	f.must(f.work, "git", "commit", "-q", "--allow-empty", "-m", message)
	return f.must(f.work, "git", "rev-parse", "HEAD")
}

const agentEntry = "git:git.example.com/acme/app push refs/heads/agent/*"

func TestGitPushesItsOwnRefs(t *testing.T) {
	t.Parallel()
	f := newForge(t, agentEntry)
	f.must(f.work, "git", "checkout", "-q", "-b", "agent/one")
	f.commit("one")
	f.must(f.work, "git", "push", "-q", "origin", "agent/one")
	last := f.commit("two")
	f.must(f.work, "git", "push", "-q", "origin", "agent/one", "HEAD:refs/heads/agent/deep/two")
	f.must(f.work, "git", "-c", "http.postBuffer=1", "push", "-q", "origin", "HEAD:refs/heads/agent/chunked")
	f.must(f.work, "git", "-c", "protocol.version=0", "push", "-q", "--atomic", "origin", "HEAD:refs/heads/agent/v0")
	f.must(f.work, "git", "-c", "protocol.version=1", "push", "-q", "origin", "HEAD:refs/heads/agent/v1")
	refs := f.refs()
	for _, ref := range []string{"deep/two", "chunked", "v0", "v1"} {
		if !strings.Contains(refs, last+" acme/app.git/refs/heads/agent/"+ref) {
			t.Errorf("agent/%s did not arrive:\n%s", ref, refs)
		}
	}
}

func TestGitPushFromAShallowClone(t *testing.T) {
	t.Parallel()
	f := newForge(t, agentEntry)
	f.must(f.work, "git", "push", "-q", "origin", "HEAD:refs/heads/agent/x")
	f.must(filepath.Join(f.root, "acme/app.git"), "git", "update-ref", "refs/heads/main", f.commit2())
	shallow := filepath.Join(t.TempDir(), "shallow")
	f.must(f.root, "git", "clone", "-q", "--depth=1", "http://git.example.com/acme/app", shallow)
	f.must(shallow, "git", "commit", "-q", "--allow-empty", "-m", "on top")
	f.must(shallow, "git", "push", "-q", "origin", "HEAD:refs/heads/agent/shallow")
	if !strings.Contains(f.refs(), "refs/heads/agent/shallow") {
		t.Error(f.refs())
	}
}

// commit2 makes a second commit on the server's side.
func (f *forge) commit2() string {
	f.t.Helper()
	app := filepath.Join(f.root, "acme/app.git")
	return f.must(app, "git", "commit-tree", "-p", "main", "-m", "second", "main^{tree}")
}

// Each is refused in words that git shows, and nothing of it arrives.
func TestAttackOperationGitClient(t *testing.T) {
	t.Parallel()
	f := newForge(t, agentEntry, "git:git.example.com/evil/app")
	f.must(f.work, "git", "remote", "add", "evil", "http://git.example.com/evil/app.git")
	f.must(f.work, "git", "tag", "v1")
	f.commit("secret")
	before := f.refs()
	for name, attack := range map[string]struct{ args, want string }{
		"main":                        {"origin main", "allowed by: git:git.example.com/acme/app push refs/heads/main"},
		"main by force":               {"--force origin main", "push refs/heads/main"},
		"another branch":              {"origin HEAD:refs/heads/agents", "push refs/heads/agents"},
		"the folder of the branches":  {"origin HEAD:refs/heads/agent", "push refs/heads/agent"},
		"another case":                {"origin HEAD:refs/heads/Agent/x", "push refs/heads/Agent/x"},
		"a foreign repository":        {"evil HEAD:refs/heads/agent/x", "git:git.example.com/evil/app push refs/heads/agent/x"},
		"the repository as a case":    {"http://git.example.com/Acme/app HEAD:refs/heads/agent/x", "git:git.example.com/Acme/app push"},
		"a repository that is none":   {"http://git.example.com/acme/other HEAD:refs/heads/agent/x", "git:git.example.com/acme/other push"},
		"a tag":                       {"origin v1", "push refs/tags/v1"},
		"tags that follow":            {"--tags origin HEAD:refs/heads/agent/x", "push refs/tags/v1"},
		"one good and one bad":        {"origin HEAD:refs/heads/agent/x HEAD:refs/heads/main", "push refs/heads/main"},
		"one good and one bad atomic": {"--atomic origin HEAD:refs/heads/agent/x HEAD:refs/heads/main", "push refs/heads/main"},
		"all":                         {"--all origin", "push refs/heads/main"},
		"mirror":                      {"--mirror origin", "push refs/"},
		"delete":                      {"--delete origin main", "no entry allows to delete refs/heads/main"},
		"notes":                       {"origin HEAD:refs/notes/x", "push refs/notes/x"},
		"a pull request's ref":        {"origin HEAD:refs/pull/1/head", "push refs/pull/1/head"},
		"gerrit's magic":              {"origin HEAD:refs/for/main", "push refs/for/main"},
		"push options":                {"-o merge_request.create origin HEAD:refs/heads/agent/x", ""},
		"an encoded repository":       {"http://git.example.com/%65vil/app HEAD:refs/heads/agent/x", "git:git.example.com/evil/app push"},
		"dots":                        {"http://git.example.com/acme/app/..%2f../evil/app.git HEAD:refs/heads/agent/x", "segment"},
	} {
		out, err := f.run(f.work, append([]string{"git", "push"}, strings.Fields(attack.args)...)...)
		if err == nil || !strings.Contains(out, attack.want) || attack.want != "" && !strings.Contains(out, "remote: ") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		if after := f.refs(); after != before {
			t.Fatalf("%s arrived:\n%s", name, after)
		}
	}
}

// The commits of others stay: their id is known to everybody, so knowing it proves nothing.
func TestAttackOperationGitForeignCommits(t *testing.T) {
	t.Parallel()
	f := newForge(t, "git:git.example.com/acme/app push refs/heads/*")
	app := filepath.Join(f.root, "acme/app.git")
	second := f.commit2()
	f.must(app, "git", "update-ref", "refs/heads/main", second)
	f.must(app, "git", "update-ref", "refs/heads/agent/theirs", second)
	f.must(f.work, "git", "fetch", "-q")
	f.commit("evil")
	before := f.refs()
	for _, args := range []string{
		"--force origin HEAD:refs/heads/main", "origin +HEAD:main", "--force-with-lease origin HEAD:main", "--force origin HEAD:agent/theirs",
		"origin " + second + "~0:refs/heads/agent/theirs --force", "--delete origin agent/theirs",
	} {
		if out, err := f.run(f.work, append([]string{"git", "push"}, strings.Fields(args)...)...); err == nil &&
			!strings.Contains(out, "up-to-date") {
			t.Errorf("%s: %s", args, out)
		}
	}
	// The server refuses a "new" branch that is there, so this sandbox owns nothing of it …
	f.rawPush(zeros+" "+second+" refs/heads/main\x00report-status", "")
	f.rawPush(zeros+" "+second+" refs/heads/main\x00 report-status side-band-64k", "")
	f.rawPush(zeros+" "+second+" refs/heads/main", "")
	// … and may not overwrite it after that.
	f.rawPush(second+" "+f.main+" refs/heads/main\x00report-status", "")
	if after := f.refs(); after != before {
		t.Fatalf("arrived:\n%s", after)
	}
	// A ref of its own that another moved on is not its own any more.
	f.must(f.work, "git", "push", "-q", "origin", "HEAD:refs/heads/agent/mine")
	f.must(app, "git", "update-ref", "refs/heads/agent/mine", second)
	f.must(f.work, "git", "fetch", "-q")
	before = f.refs()
	out, err := f.run(f.work, "git", "push", "--force", "origin", "HEAD:refs/heads/agent/mine")
	if err == nil || !strings.Contains(out, "did not push") || f.refs() != before {
		t.Errorf("%v %s\n%s", err, out, f.refs())
	}
}

// After the firewall starts again a sandbox goes on with the refs that it pushed, where
// its memory is kept, and with none where it is not.
func TestARestartKeepsTheRefsOfASandbox(t *testing.T) {
	t.Parallel()
	f := newForge(t, "git:git.example.com/acme/app push refs/heads/agent/*")
	var kept Pushed
	f.gate.startAgain(RestoreMemory(nil, func(p Pushed) { kept = p }))
	f.commit("one")
	f.must(f.work, "git", "push", "-q", "origin", "HEAD:refs/heads/agent/mine")
	f.commit("two")
	for _, step := range []struct {
		memory *Memory
		passes bool
	}{{NewMemory(), false}, {RestoreMemory(kept, nil), true}} {
		f.gate.startAgain(step.memory)
		if out, err := f.run(f.work, "git", "push", "origin", "HEAD:refs/heads/agent/mine"); err == nil != step.passes {
			t.Errorf("%v: %s", kept, out)
		}
	}
}

const zeros = "0000000000000000000000000000000000000000"

// emptyPack is a pack without objects; the server has those of these tests.
func emptyPack() string {
	head := "PACK\x00\x00\x00\x02\x00\x00\x00\x00"
	sum := sha1.Sum([]byte(head))
	return head + string(sum[:])
}

var pushHeader = http.Header{"Content-Type": {"application/x-git-receive-pack-request"}}

// rawPush sends one command as one packet, and more behind it.
func (f *forge) rawPush(command, more string) int {
	f.t.Helper()
	body := string(pktline.Append(nil, command)) + more + "0000" + emptyPack()
	return f.send("POST", "git.example.com/acme/app.git/git-receive-pack", body, pushHeader)
}

func zipped(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return out.String()
}

// The bytes of a push, made by hand. allowed is what shows that each would work.
func TestAttackOperationGitPackets(t *testing.T) {
	t.Parallel()
	f := newForge(t, agentEntry)
	target := "git.example.com/acme/app.git/git-receive-pack"
	line := func(text string) string { return string(pktline.Append(nil, text)) }
	command := func(ref string) string { return zeros + " " + f.main + " " + ref }
	end := "0000" + emptyPack()
	good, bad := command("refs/heads/agent/x"), command("refs/heads/evil")
	withHeader := func(name string, values ...string) http.Header {
		h := pushHeader.Clone()
		h[name] = values
		return h
	}
	gzipHeader := withHeader("Content-Encoding", "gzip")
	before := f.refs()
	for name, attack := range map[string]struct {
		body   string
		header http.Header
	}{
		"another ref":                   {line(bad+"\x00report-status") + end, nil},
		"behind a good one":             {line(good+"\x00report-status") + line(bad) + end, nil},
		"in front of a good one":        {line(bad+"\x00report-status") + line(good) + end, nil},
		"behind shallow":                {line("shallow "+f.main) + line(bad) + end, nil},
		"shallow with capabilities":     {line("shallow "+f.main+"\x00push-options") + line(good) + end, nil},
		"behind a delimiter":            {line(good) + "0001" + line(bad) + end, nil},
		"behind an end":                 {line(good) + "0002" + line(bad) + end, nil},
		"a newline in a ref":            {line(good+"\n"+bad) + end, nil},
		"a NUL in a ref":                {line(zeros+" "+f.main+" refs/heads/evil\x00/../agent/x") + end, nil},
		"capabilities on a second line": {line(good) + line(command("refs/heads/agent/y")+"\x00push-options") + end, nil},
		"the same ref twice":            {line(good+"\x00report-status") + line(good) + end, nil},
		"a length in upper case":        {strings.ToUpper(line(bad)[:4]) + line(bad)[4:] + end, nil},
		"a certificate": {line("push-cert\x00push-cert=x") + line("certificate version 0.1\n") + line(bad) +
			line("push-cert-end\n") + end, nil},
		"a certificate after a command": {line(good) + line("push-cert\x00") + end, nil},
		"a certificate without value":   {line("push-cert\n") + line("\n") + line(bad) + line("push-cert-end\n") + end, nil},
		"push options":                  {line(good+"\x00push-options") + "0000" + line("ci.variable=A=B") + end, nil},
		"an unknown capability":         {line(good+"\x00report-status elevate") + end, nil},
		"dots in a ref":                 {line(command("refs/heads/agent/../evil")) + end, nil},
		"two slashes in a ref":          {line(command("refs/heads/agent//x")) + end, nil},
		"no ref":                        {line(command("HEAD")) + end, nil},
		"the folder itself":             {line(command("refs/heads/agent/")) + end, nil},
		"a lock":                        {line(command("refs/heads/agent/x.lock")) + end, nil},
		"a star":                        {line(command("refs/heads/agent/*")) + end, nil},
		"an id in upper case":           {line(zeros+" "+strings.ToUpper(f.main)+" refs/heads/agent/x") + end, nil},
		"a short id":                    {line(zeros+" "+f.main[:39]+" refs/heads/agent/x") + end, nil},
		"a delete":                      {line(f.main+" "+zeros+" refs/heads/main") + "0000", nil},
		"a delete of the folder":        {line(f.main+" "+zeros+" refs/heads/agent/x") + "0000", nil},
		"an update of main":             {line(f.main+" "+f.main+" refs/heads/main") + end, nil},
		"a question with a pack":        {end, nil},
		"cut":                           {line(bad)[:20], nil},
		"no flush":                      {line(good), nil},
		"too many":                      {strings.Repeat(line("shallow "+f.main), 8000) + line(good) + end, nil},
		"gzip":                          {zipped(line(bad) + end), gzipHeader},
		"gzip in two members":           {zipped(line(good)) + zipped(end), gzipHeader},
		"gzip that is none":             {line(good) + end, gzipHeader},
		"not gzip that is one":          {zipped(line(good) + end), nil},
		"gzip twice":                    {zipped(line(good) + end), withHeader("Content-Encoding", "gzip", "gzip")},
		"gzip in a list":                {zipped(line(good) + end), withHeader("Content-Encoding", "gzip, gzip")},
		"a delimiter for the end":       {line(good) + "0001" + emptyPack() + "0000", nil},
		"an end for the end":            {line(good) + "0002" + emptyPack() + "0000", nil},
		"deflate":                       {line(good) + end, withHeader("Content-Encoding", "deflate")},
		"a bomb":                        {zipped(strings.Repeat(line("shallow "+f.main), 100000) + line(good) + end), gzipHeader},
		"another type":                  {line(bad) + end, withHeader("Content-Type", "application/x-www-form-urlencoded")},
		"two types":                     {line(good) + end, withHeader("Content-Type", "application/x-git-receive-pack-request", "text/plain")},
	} {
		if attack.header == nil {
			attack.header = pushHeader
		}
		f.send("POST", target, attack.body, attack.header)
		if after := f.refs(); after != before {
			t.Fatalf("%s arrived:\n%s", name, after)
		}
		if last := f.gate.arrived[len(f.gate.arrived)-1]; strings.HasPrefix(last, "POST") && strings.HasSuffix(last, "git-receive-pack") {
			t.Fatalf("%s arrived: %s", name, last)
		}
	}
	if n := len(f.gate.refused); n == 0 || slices.ContainsFunc(f.gate.refused, func(d Decision) bool { return d.Reason == "" }) {
		t.Errorf("%d refusals, one without a reason", n)
	}
	f.send("POST", target, zipped(line(good+"\x00report-status")+end), gzipHeader)
	f.send("POST", target, line(command("refs/heads/agent/y"))+end, pushHeader)
	if after := f.refs(); !strings.Contains(after, "refs/heads/agent/x") || !strings.Contains(after, "refs/heads/agent/y") {
		t.Errorf("the good commands did not arrive, so this test shows nothing:\n%s", after)
	}
}

func TestAttackOperationGitRequests(t *testing.T) {
	t.Parallel()
	f := newForge(t, agentEntry)
	before := len(f.gate.arrived)
	post := pushHeader
	for _, attack := range []struct {
		method, target string
		header         http.Header
	}{
		{"GET", "git.example.com/acme/app.git/info/refs", nil},
		{"GET", "git.example.com/acme/app.git/HEAD", nil},
		{"GET", "git.example.com/acme/app.git/objects/info/packs", nil},
		{"GET", "git.example.com/acme/app.git/objects/00/11", nil},
		{"GET", "git.example.com/acme/app.git/info/refs?service=git-upload-pack&service=git-receive-pack", nil},
		{"GET", "git.example.com/acme/app.git/info/refs?service=git-upload-archive", nil},
		{"GET", "git.example.com/acme/app.git/info/refs?service=git%2dreceive-pack", nil},
		{"GET", "git.example.com/evil/app.git/info/refs?service=git-upload-pack", nil},
		{"GET", "git.example.com/evil/app.git/info/refs?service=git-receive-pack", nil},
		{"GET", "git.example.com/acme/app.wiki.git/info/refs?service=git-upload-pack", nil},
		{"GET", "git.example.com/acme/app.git/../../evil/app.git/info/refs?service=git-upload-pack", nil},
		{"GET", "git.example.com/acme%2fapp.git/info/refs?service=git-upload-pack", nil},
		{"GET", "git.example.com/acme/app.git.git/info/refs?service=git-upload-pack", nil},
		{"GET", "git.example.com/acme/*/info/refs?service=git-upload-pack", nil},
		{"GET", "git.example.com/acme/app.git/git-receive-pack", nil},
		{"PUT", "git.example.com/acme/app.git/git-receive-pack", post},
		{"POST", "git.example.com/acme/app.git/git-receive-pack?x=1", post},
		{"POST", "git.example.com/acme/app.git/git-receive-pack/", post},
		{"POST", "git.example.com/acme/app.git/info/refs?service=git-receive-pack", post},
		{"POST", "git.example.com/acme/app.git/git-upload-archive", post},
		{"POST", "git.example.com/acme/app.git/git-upload-pack", post},
		{"PROPFIND", "git.example.com/acme/app.git/", nil},
		{"MKCOL", "git.example.com/acme/app.git/objects/zz/", nil},
		{"LOCK", "git.example.com/acme/app.git/info/refs", nil},
		{"GET", "git.example.com/acme/app/settings", nil},
		{"POST", "git.example.com/session", nil},
	} {
		if status := f.send(attack.method, attack.target, "0000", attack.header); status != http.StatusForbidden {
			t.Errorf("%s %s: %d", attack.method, attack.target, status)
		}
	}
	if len(f.gate.arrived) != before {
		t.Errorf("arrived: %q", f.gate.arrived[before:])
	}
}

// GitHub takes a repository for the same in any case of letters.
func TestGitHubRepositoriesHaveNoCase(t *testing.T) {
	r := compile(t, "git:github.com/Acme/App push refs/heads/agent/*", "git:gitlab.com/other/app")
	for target, want := range map[string]bool{
		"acme/app": true, "ACME/APP.git": true, "Acme/app.GIT": false, "acme/app2": false, "acme/a\u212Ap": false, "acme/app/x": false,
	} {
		d := ask(t, r, NewMemory(), "GET", "github.com/"+target+"/info/refs?service=git-receive-pack", "", nil)
		if d.Allowed != want {
			t.Errorf("%s: %+v", target, d)
		}
	}
	if d := ask(t, r, NewMemory(), "GET", "gitlab.com/acme/app/info/refs?service=git-upload-pack", "", nil); d.Allowed {
		t.Error("another host is GitHub")
	}
}

func TestGitEntries(t *testing.T) {
	r := compile(t, "git:git.example.com:8443/a/b/c.git read", "git:git.example.com/acme/*",
		"git:github.com/acme/app push refs/heads/x,refs/tags/v1 refs/heads/y/*")
	for _, h := range []Host{{"git.example.com", false, 8443}, {"git.example.com", false, 443}, {"github.com", false, 443}} {
		if !slices.Contains(r.Hosts(), h) {
			t.Errorf("%+v is not opened: %+v", h, r.Hosts())
		}
	}
	if d := ask(t, r, NewMemory(), "GET", "git.example.com/acme/any/info/refs?service=git-upload-pack", "", nil); !d.Allowed {
		t.Errorf("%+v", d)
	}
	if d := ask(t, r, NewMemory(), "GET", "git.example.com/other/any/info/refs?service=git-upload-pack", "", nil); d.Allowed ||
		d.Wants != "git:git.example.com/other/any" {
		t.Errorf("%+v", d)
	}
	if d := ask(t, r, NewMemory(), "GET", "git.example.com/acme/a%2fb/info/refs?service=git-upload-pack", "", nil); d.Allowed {
		t.Errorf("%+v", d)
	}
	for text, want := range map[string]string{
		"git:github.com":                                  "names no repository",
		"git:github.com/acme":                             "names no repository",
		"git:github.com/acme/app/x":                       "names no repository",
		"git:github.com/acme/**":                          "names no repository",
		"git:github.com/acme/":                            "names no repository",
		"git:*.github.com/acme/app":                       "names no one host",
		"git:10.0.0.1/acme/app":                           "is an address",
		"git://github.com/acme/app":                       "",
		"git:github.com/acme/app push":                    "names no refs",
		"git:github.com/acme/app push main":               "is no whole ref",
		"git:github.com/acme/app push refs/*":             "is every kind of ref",
		"git:github.com/acme/app push refs/heads/a*":      "is no ref",
		"git:github.com/acme/app push refs/heads/*/x":     "is no ref",
		"git:github.com/acme/app push refs/heads/a..b":    "is no ref",
		"git:github.com/acme/app push +refs/heads/x":      "is no whole ref",
		"git:github.com/acme/* push refs/heads/x":         "writes to any repository",
		"git:github.com/acme/* lfs push":                  "writes to any repository",
		"git:github.com/acme/app force":                   "is nothing that git does",
		"git:github.com/acme/app read push refs/heads/ab": "is nothing that git does",
	} {
		_, problems := Compile([]string{text})
		if len(problems) != 1 || !strings.Contains(problems[0].Message, want) {
			t.Errorf("%q: %+v, want %q", text, problems, want)
		}
	}
}

func TestGitEntriesCover(t *testing.T) {
	for _, c := range []struct {
		wide, narrow string
		want         bool
	}{
		{"github.com/acme/*", "github.com/Acme/app", true},
		{"github.com/acme/app", "github.com/acme/*", false},
		{"github.com/acme/app", "gitlab.com/acme/app", false},
		{"github.com/acme/app push refs/heads/*", "github.com/acme/app.git read", true},
		{"github.com/acme/app push refs/heads/*", "github.com/acme/app push refs/heads/a/*,refs/heads/b", true},
		{"github.com/acme/app push refs/heads/a/*", "github.com/acme/app push refs/heads/a/b,refs/heads/b", false},
		{"github.com/acme/app push refs/heads/a/*", "github.com/acme/app push refs/heads/*", false},
		{"github.com/acme/app push refs/heads/*", "github.com/acme/app lfs", false},
		{"github.com/acme/app lfs", "github.com/acme/app lfs push", false},
		{"github.com/acme/app lfs push", "github.com/acme/app lfs", true},
		{"github.com/acme/app", "github.com/acme/app lfs", false},
		{"github.com/acme/app lfs push", "github.com/acme/app push refs/heads/x", false},
	} {
		if got := compile(t, "git:"+c.wide).Covers("git:" + c.narrow); got != c.want {
			t.Errorf("%q covers %q: %v", c.wide, c.narrow, got)
		}
	}
}

func TestAttackOperationLFS(t *testing.T) {
	batch := func(operation string) string {
		return `{"operation":"` + operation + `","objects":[{"oid":"a","size":1}]}`
	}
	header := http.Header{"Content-Type": {lfsType + "; charset=utf-8"}}
	read := []string{"git:git.example.com/acme/app lfs"}
	write := []string{"git:git.example.com/acme/app lfs push"}
	for _, c := range []struct {
		entries            []string
		method, path, body string
		allowed            bool
		wants              string
	}{
		{read, "POST", "acme/app.git/info/lfs/objects/batch", batch("download"), true, ""},
		{read, "POST", "acme/app.git/info/lfs/objects/batch", batch("upload"), false, "git:git.example.com/acme/app lfs push"},
		{read, "POST", "acme/app.git/info/lfs/objects/batch", `{"operation":"download","operation":"upload"}`, false, ""},
		{read, "POST", "acme/app.git/info/lfs/objects/batch", `{"operation":"download","Operation":"upload"}`, false, ""},
		{read, "POST", "acme/app.git/info/lfs/objects/batch", `{"operation":["download"]}`, false, "git:git.example.com/acme/app lfs push"},
		{read, "POST", "acme/app.git/info/lfs/objects/batch", `operation=upload`, false, ""},
		{read, "POST", "acme/app.git/info/lfs/objects/batch", batch("download") + strings.Repeat(" ", maxBatch), false, ""},
		{read, "POST", "evil/app.git/info/lfs/objects/batch", batch("download"), false, "git:git.example.com/evil/app lfs"},
		{read, "PUT", "acme/app.git/info/lfs/objects/" + zeros, "x", false, "git:git.example.com/acme/app lfs push"},
		{read, "POST", "acme/app.git/info/lfs/locks", `{"path":"x"}`, false, ""},
		{write, "POST", "acme/app.git/info/lfs/locks", `{"path":"x"}`, false, ""},
		{write, "POST", "acme/app.git/info/lfs/objects/batch", batch("upload"), true, ""},
		{write, "POST", "evil/app.git/info/lfs/objects/batch", batch("upload"), false, "git:git.example.com/evil/app lfs push"},
		{write, "PUT", "acme/app.git/info/lfs/objects/" + zeros + "/12", "x", true, ""},
		{[]string{agentEntry}, "POST", "acme/app.git/info/lfs/objects/batch", batch("download"), false, "git:git.example.com/acme/app lfs"},
	} {
		d := ask(t, compile(t, c.entries...), NewMemory(), c.method, "git.example.com/"+c.path, c.body, header)
		if d.Allowed != c.allowed || d.Wants != c.wants {
			t.Errorf("%s: %s %s %.80s: %+v", c.entries, c.method, c.path, c.body, d)
		}
	}
}

// Git's server reads the commands of a push as this does: the refs of a
// repository after it are those that the commands name.
func FuzzPush(f *testing.F) {
	id := strings.Repeat("1", 40)
	line := func(text string) string { return string(pktline.Append(nil, text)) }
	f.Add(line(zeros+" "+id+" refs/heads/x\x00report-status agent=git/2.39 object-format=sha1") + "0000PACK")
	f.Add(line("shallow "+id) + line(zeros+" "+id+" refs/heads/x\n") + "0000")
	f.Add("0000")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := readPush(nil, NewBody(strings.NewReader(text)))
		if err != nil {
			return
		}
		again := ""
		for i, c := range p.commands {
			if !validRef(c.ref) || len(c.old) != len(c.new) {
				t.Fatalf("%q: %+v", text, c)
			}
			capabilities := ""
			if i == 0 && len(p.capabilities) > 0 {
				capabilities = "\x00" + strings.Join(p.capabilities, " ")
			}
			again += line(c.old + " " + c.new + " " + c.ref + capabilities)
		}
		q, err := readPush(nil, NewBody(strings.NewReader(again+"0000")))
		if err != nil || !slices.Equal(q.commands, p.commands) || !slices.Equal(q.capabilities, p.capabilities) {
			t.Fatalf("%q is read as %+v, and then as %+v, %v", text, p, q, err)
		}
	})
}

// validRef takes nothing that git refuses.
func TestRefsAreGits(t *testing.T) {
	for _, ref := range []string{
		"refs/heads/x", "refs/heads/a/b", "refs/heads/a..b", "refs/heads/.a", "refs/heads/a.lock", "refs/heads/a.lock/b",
		"refs/heads/a.", "refs/heads/@{",
		"refs/heads/a b", "refs/heads/a~1", "refs/heads/a^", "refs/heads/a:b", "refs/heads/a?", "refs/heads/a[", `refs/heads/a\b`,
		"refs/heads/ä", "refs//x",
		"refs/heads/", "refs/heads/a\x7f", "refs/heads/@", "refs/heads/-x", "HEAD", "heads/x",
	} {
		git := exec.Command("git", "check-ref-format", ref).Run() == nil
		if valid := validRef(ref); valid && !git || !valid && git && strings.HasPrefix(ref, "refs/") {
			t.Errorf("%q: %v, and git says %v", ref, valid, git)
		}
	}
}
