package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/registrytest"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/session/volumes"
)

// Stand-ins for actions and programs that only GitHub's machines can run.
// Each notes what it was given.
var workflowStandIns = map[string]string{
	"actions/setup-go": `inputs: {go-version-file: {required: true}, cache: {}}
runs:
  using: composite
  steps:
    - shell: bash
      run: |
        go version
        # The user of hosted runners is no root, and the agent never is.
        if [ "$(id -u)" = 0 ]; then chown -R 1000:1000 .; fi
`,
	"actions/upload-artifact": `inputs: {name: {required: true}, path: {required: true}, compression-level: {}, ` +
		`if-no-files-found: {}, retention-days: {}}
runs:
  using: composite
  steps:
    - shell: bash
      env: {NAME: "${{ inputs.name }}", FROM: "${{ inputs.path }}"}
      run: |
        rm -rf "$RESULTS/artifacts/$NAME"; mkdir -p "$RESULTS/artifacts"; cp -r "$FROM" "$RESULTS/artifacts/$NAME"
`,
	"actions/download-artifact": `inputs: {pattern: {required: true}}
runs:
  using: composite
  steps: [{shell: bash, run: cp -r "$RESULTS"/artifacts/. .}]
`,
	"actions/attest": `inputs: {subject-name: {}, subject-digest: {}, subject-checksums: {}, push-to-registry: {}, create-storage-record: {}}
runs:
  using: composite
  steps:
    - shell: bash
      env: {NAME: "${{ inputs.subject-name }}", DIGEST: "${{ inputs.subject-digest }}", SUMS: "${{ inputs.subject-checksums }}"}
      run: |
        if [ -n "$SUMS" ]; then cd "$(dirname "$SUMS")"; sha256sum -c "$(basename "$SUMS")"; exit; fi
        test -z "$FAIL_ATTEST"
        tags=$(curl -s "http://${NAME%%/*}/v2/${NAME#*/}/tags/list")
        echo "$NAME@$DIGEST $tags" >>"$RESULTS/attested"
`,
}

// ghStandIn keeps a release as a server of GitHub's would have it, below $RESULTS/host.
const ghStandIn = `#!/bin/bash
set -e
# Nobody is signed in: sbx-devc asks, where it pulls from ghcr.io.
if [ "$1" = auth ]; then exit 1; fi
place=$RESULTS/host/$GH_REPO/releases/download/$3
printf '%s\n' "$*" >>"$RESULTS/gh.log"
case "$1 $2" in
  "release view") if [ -d "$place" ]; then echo false; elif [ -d "$place.draft" ]; then echo true; else exit 1; fi ;;
  "release create") mkdir -p "$place.draft"; for arg; do if [ -f "$arg" ]; then cp "$arg" "$place.draft/"; fi; done ;;
  "release edit")
    mv "$place.draft" "$place"
    case $* in *--latest=true) mkdir -p "$place/../../latest"; ln -sfn "$place" "$place/../../latest/download" ;; esac ;;
  "release delete") rm -r "$place.draft" ;;
esac
`

// sudoStandIn has the user ci of the smoke workflow's own runner as a number: this machine gets
// no new user. Like sudo, it leaves variables out.
const sudoStandIn = `#!/bin/bash
set -e
case $1 in
  useradd) test "$*" = "useradd --create-home --uid 4242 --groups docker ci"; mkdir -p "$RESULTS/ci"; chown 4242:4242 "$RESULTS/ci" ;;
  chown) test "$2 $3" = "-R ci"; exec chown -R 4242:4242 "${@:4}" ;;
  chmod) exec "$@" ;;
  -H)
    test "$2 $3" = "-u ci"
    exec env -i HOME="$RESULTS/ci" CLAUDE_SANDBOX_MIRROR="$CLAUDE_SANDBOX_MIRROR" SSL_CERT_FILE="$SSL_CERT_FILE" \
      setpriv --reuid 4242 --regid 4242 --groups "$(stat -c %g /var/run/docker.sock)" "${@:4}" ;;
  *) echo "sudo has no stand-in for $*" >&2; exit 1 ;;
esac
`

// workflows runs the workflows of this repository in a copy of it.
type workflows struct {
	t                                 *testing.T
	act, project, results, cache, bin string
	places                            string // where act puts what a job checks out; another user comes there
	registry                          string
	flags                             []string
	docker                            string
	engine                            *engine.Engine
}

// workflowOwner has a capital, which names of images cannot have.
const workflowOwner = "Sbx-Workflow-Test"

func newWorkflows(t *testing.T) *workflows {
	t.Helper()
	if os.Getenv("SBX_WORKFLOWS") == "" {
		t.Skip("run by make release-dry-run: it compiles a release for every system")
	}
	testenv.Root(t) // the smoke's own runner has another user
	docker := testenv.Program(t, "docker")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/var/tmp", "sbx-workflows-") // other users read what is in it
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &workflows{
		t: t, act: testenv.Program(t, "act"), docker: docker, registry: registrytest.Start(t), engine: enginetest.Connect(t),
		places: filepath.Join(dir, "places"), project: filepath.Join(dir, "project"), results: filepath.Join(dir, "results"),
		cache: filepath.Join(dir, "cache"), bin: filepath.Join(dir, "bin"),
	}
	w.write(filepath.Join(w.bin, "gh"), ghStandIn, 0o755)
	w.write(filepath.Join(w.bin, "sudo"), sudoStandIn, 0o755)
	w.write(filepath.Join(w.home(), ".keep"), "", 0o644)
	for name := range strings.SplitSeq(w.run(root, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"), "\x00") {
		if text, err := os.ReadFile(filepath.Join(root, name)); err == nil && name != "" {
			info, err := os.Stat(filepath.Join(root, name))
			if err != nil {
				t.Fatal(err)
			}
			w.write(filepath.Join(w.project, name), string(text), info.Mode().Perm())
		}
	}
	address := "https://github.com/" + workflowOwner + "/claude-sandbox"
	// Not in the repository: act takes the owner from there.
	config := filepath.Join(dir, "gitconfig")
	w.write(config,
		"[url \""+w.host()+"\"]\n\tinsteadOf = "+address+"\n[user]\n\tname = t\n\temail = t@example.com\n[safe]\n\tdirectory = *\n", 0o644)
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	w.flags = append(w.flags, "--env", "GIT_CONFIG_GLOBAL="+config)
	w.run(w.project, "git", "init", "-q", "-b", "main")
	w.run(w.project, "git", "remote", "add", "origin", address)
	w.run(dir, "git", "init", "-q", "--bare", w.host())
	w.run(w.project, "git", "add", "-A")
	w.commit()
	w.standIns(filepath.Join(dir, "actions"))
	// Steps have a home of their own, and the test a cache folder. All compile into one cache: a
	// system's packages once, whatever builds them.
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS"} {
		value := strings.TrimSpace(w.run(root, "go", "env", name))
		t.Setenv(name, value)
		w.flags = append(w.flags, "--env", name+"="+value)
	}
	t.Cleanup(w.clean)
	w.otherBase()
	w.container()
	return w
}

// standIns puts stand-ins in the places of the actions that the workflows use.
func (w *workflows) standIns(folder string) {
	w.t.Helper()
	for _, name := range []string{"images.yml", "release.yml", "smoke.yml"} {
		text := readFile(w.t, filepath.Join(w.project, ".github", "workflows", name))
		for _, m := range regexp.MustCompile(`uses: ([\w-]+/[\w-]+)@([0-9a-f]{40})`).FindAllStringSubmatch(text, -1) {
			if m[1] == "actions/checkout" { // act copies the project
				continue
			}
			action := filepath.Join(folder, m[1])
			w.write(filepath.Join(action, "action.yml"), "name: stand-in\n"+workflowStandIns[m[1]], 0o644)
			w.flags = append(w.flags, "--local-repository", m[1]+"@"+m[2]+"="+action)
		}
	}
}

// container makes the image of the smoke workflow's job in a container, if this machine has none
// by the name: our base, with the one program that the job compiles. The image of the project's
// template takes its Go from there, too; the agent uses none.
func (w *workflows) container() {
	w.t.Helper()
	image := regexp.MustCompile(`image: (golang:\S+)`).
		FindStringSubmatch(readFile(w.t, filepath.Join(w.project, ".github", "workflows", "smoke.yml")))
	if image == nil {
		w.t.Fatal("smoke.yml names no image of Go")
	}
	const mark = "claude-sandbox.stand-in" // an earlier one, of a test that was killed, is made again
	if label, err := exec.Command(w.docker, "image", "inspect", "--format", `{{index .Config.Labels "`+mark+`"}}`,
		image[1]).Output(); err == nil && string(label) != "true\n" {
		return
	}
	dir := w.t.TempDir()
	w.run(w.project, "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-buildvcs=false", "-o", filepath.Join(dir, "scriptedapi"),
		"./scripts/scriptedapi")
	w.write(filepath.Join(dir, "go"),
		"#!/bin/sh\nset -e\ntest \"$1 $2 $4\" = \"build -o ./scripts/scriptedapi\"\ncp /scriptedapi \"$3\"\n", 0o755)
	w.write(filepath.Join(dir, "Dockerfile"),
		"FROM sbx-workflow-test:base\nLABEL "+mark+"=true\nCOPY scriptedapi /\nCOPY go /usr/local/bin/\nCOPY go /usr/local/go/bin/\n", 0o644)
	w.run(dir, w.docker, "build", "-q", "-t", image[1], ".")
	w.t.Cleanup(func() { _ = exec.Command(w.docker, "rmi", image[1]).Run() })
}

// clean removes what the workflows leave on the engine.
func (w *workflows) clean() {
	for _, cache := range []string{w.cache, filepath.Join(w.results, "ci", ".cache")} {
		store := volumes.Store{Engine: w.engine, Dir: filepath.Join(cache, "sbx-devc")}
		for _, kind := range []string{volumes.Claude, volumes.Init, volumes.Cache} {
			kept, err := store.List(context.Background(), kind)
			for _, k := range kept {
				err = errors.Join(err, store.Remove(context.Background(), k))
			}
			if err != nil {
				w.t.Error(err)
			}
		}
	}
	_ = exec.Command(w.docker, "rmi", "sbx-workflow-test:base").Run()
	_ = exec.Command(w.docker, "volume", "rm", "act-toolcache").Run() // act makes it again
	out, _ := exec.Command(w.docker, "images", "-q", "--filter", "reference=ghcr.io/"+strings.ToLower(workflowOwner)+"/*").Output()
	for _, id := range strings.Fields(string(out)) {
		_ = exec.Command(w.docker, "rmi", "-f", id).Run()
	}
}

// home is the runner's.
func (w *workflows) home() string { return filepath.Join(w.results, "home") }

// host is the repository at GitHub.
func (w *workflows) host() string { return filepath.Join(w.results, "github.git") }

// releaseServer answers for the host of releases and returns its address, which a job in a container
// reaches, too.
func (w *workflows) releaseServer() string {
	w.t.Helper()
	subnet, err := netip.ParsePrefix(
		strings.TrimSpace(w.run(w.project, w.docker, "network", "inspect", "-f", "{{(index .IPAM.Config 0).Subnet}}", "bridge")))
	if err != nil {
		w.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", netip.AddrPortFrom(subnet.Masked().Addr().Next(), 0).String())
	if err != nil {
		w.t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.FileServer(http.Dir(filepath.Join(w.results, "host"))))
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	w.t.Cleanup(server.Close)
	return server.URL
}

// tag makes the commit and the tag of a release, as a maintainer does, and checks it out.
func (w *workflows) tag(version string) (sha string) {
	w.t.Helper()
	w.t.Setenv("SBX_REPOSITORY", workflowOwner+"/claude-sandbox")
	w.t.Setenv("SBX_FIREWALL_DIGEST", "sha256:"+strings.Repeat("0", 64))
	w.run(w.project, "scripts/release", "tag", version)
	w.run(w.project, "git", "push", "-q", "origin", "main", "v"+version)
	w.run(w.project, "git", "checkout", "-q", "-f", "v"+version)
	return strings.TrimSpace(w.run(w.project, "git", "rev-parse", "HEAD"))
}

// otherBase makes the artifact with the base for the other architecture, which only a machine of
// that kind builds: the one of this machine, under the other's name.
func (w *workflows) otherBase() {
	w.t.Helper()
	w.t.Setenv("XDG_CACHE_HOME", w.cache)
	oci := filepath.Join(w.t.TempDir(), "oci")
	imageOK(w.t, "image", "build", filepath.Join(w.project, "images", "base"), "--dockerfile", "Dockerfile", "--title", "base", "--tag",
		"sbx-workflow-test:base", "--oci", oci)
	index, err := layout.ImageIndexFromPath(oci)
	if err != nil {
		w.t.Fatal(err)
	}
	// The layout names one index, which names one image.
	for range 2 {
		m, err := index.IndexManifest()
		if err != nil {
			w.t.Fatal(err)
		}
		if m.Manifests[0].MediaType.IsIndex() {
			if index, err = index.ImageIndex(m.Manifests[0].Digest); err != nil {
				w.t.Fatal(err)
			}
			continue
		}
		image, err := index.Image(m.Manifests[0].Digest)
		if err != nil {
			w.t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			w.t.Fatal(err)
		}
		config = config.DeepCopy()
		config.Architecture = "arm64"
		if image, err = mutate.ConfigFile(image, config); err != nil {
			w.t.Fatal(err)
		}
		p, err := layout.Write(filepath.Join(w.results, "artifacts", "base-arm64"), empty.Index)
		if err == nil {
			err = p.AppendImage(image, layout.WithPlatform(v1.Platform{OS: "linux", Architecture: "arm64"}))
		}
		if err != nil {
			w.t.Fatal(err)
		}
		return
	}
	w.t.Fatal("the base is no image in an index")
}

func (w *workflows) write(file, text string, mode fs.FileMode) {
	w.t.Helper()
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file, []byte(text), mode)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *workflows) run(dir, name string, args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
	return string(out)
}

func (w *workflows) commit() (sha string) {
	w.t.Helper()
	w.run(w.project, "git", "commit", "-q", "--allow-empty", "-m", "a change")
	return strings.TrimSpace(w.run(w.project, "git", "rev-parse", "HEAD"))
}

// workflow runs one workflow for an event at a ref, as GitHub's runner would.
func (w *workflows) workflow(file, event, ref string, more ...string) (log string, err error) {
	w.t.Helper()
	payload := filepath.Join(w.t.TempDir(), "event.json")
	w.write(payload, fmt.Sprintf(`{"ref": %q, "pull_request": {"number": 7, "head": {"ref": "x"}, "base": {"ref": "main"}}}`, ref), 0o644)
	// Of a matrix, this machine is the first runner: a second run on it shows nothing more. A job's
	// container names the engine's socket itself, and has a network and so a name of its own, as on
	// GitHub's machines.
	args := append([]string{
		event, "-W", filepath.Join(".github", "workflows", file), "--eventpath", payload, "--concurrent-jobs", "1",
		"-P", "ubuntu-24.04=-self-hosted", "--matrix", "runner:ubuntu-24.04", "--container-daemon-socket", "-", "--network", "bridge", "--rm",
		"--action-cache-path", w.places, "--action-offline-mode",
		"--var", "IMAGE_REGISTRY=" + w.registry, "-s", "GITHUB_TOKEN=not-a-token",
		"--env", "HOME=" + w.home(), "--env", "RESULTS=" + w.results, "--env", "XDG_CACHE_HOME=" + w.cache, "--env",
		"PATH=" + w.bin + string(os.PathListSeparator) + os.Getenv("PATH"),
	}, w.flags...)
	cmd := exec.CommandContext(w.t.Context(), w.act, append(args, more...)...)
	cmd.Dir = w.project
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return out.String(), err
}

// tags returns where the tags of a repository lead, without the lists of what
// is attached.
func (w *workflows) tags(repo string) map[string]string {
	w.t.Helper()
	resp, err := http.Get("http://" + w.registry + "/v2/" + repo + "/tags/list")
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	var list struct{ Tags []string }
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		w.t.Fatal(err)
	}
	out := map[string]string{}
	for _, tag := range list.Tags {
		if !strings.HasPrefix(tag, "sha256-") {
			out[tag] = w.inspect(repo + ":" + tag).Digest
		}
	}
	return out
}

// inspected is what image inspect says.
type inspected struct {
	Digest    string
	Platforms []struct {
		Platform string
		Labels   map[string]string
	}
	Referrers []struct{ Kind string }
}

func (w *workflows) inspect(ref string) (i inspected) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(imageOK(w.t, "image", "inspect", "--json", w.registry+"/"+ref)), &i); err != nil {
		w.t.Fatal(err)
	}
	return i
}

// TestWorkflowsPublish runs the workflows that publish, with act as GitHub's
// runner, a registry on this machine in place of ghcr.io, and stand-ins for the
// actions that talk to GitHub. The test looks at what arrives.
func TestWorkflowsPublish(t *testing.T) {
	w := newWorkflows(t)
	owner := strings.ToLower(workflowOwner)
	repo, initRepo := owner+"/claude-sandbox", owner+"/claude-sandbox-init"
	expect := func(what string, moved map[string]string, names ...string) map[string]string {
		t.Helper()
		var last map[string]string
		for _, r := range []string{initRepo, repo} {
			last = w.tags(r)
			if got := slices.Sorted(maps.Keys(last)); !slices.Equal(got, slices.Sorted(slices.Values(names))) {
				t.Errorf("%s: %s has the tags %v, want %v", what, r, got, names)
			}
		}
		for name, digest := range moved {
			if last[name] != digest {
				t.Errorf("%s: %s leads to %s, want %s", what, name, last[name], digest)
			}
		}
		return last
	}
	timing := regexp.MustCompile(`(?m)^.*(?:Success|Failure) - .*\[[\w.]+\]`)
	must := func(log string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("act: %v\n%s", err, log)
		}
		t.Log(strings.Join(timing.FindAllString(log, -1), "\n"))
	}

	// A release, which takes v1 and v1.2 from an older one.
	w.run(w.project, "git", "push", "-q", "origin", "HEAD:refs/tags/v1.2.2", "HEAD:refs/tags/v1.2", "HEAD:refs/tags/v1")
	mirror := w.releaseServer()
	sha := w.tag("1.2.3")
	names := []string{"v1.2.3", "v1.2", "v1", "latest", "sha-" + sha[:12]}
	log, err := w.workflow("release.yml", "push", "refs/tags/v1.2.3", "--env", "CLAUDE_SANDBOX_MIRROR="+mirror)
	must(log, err)
	for _, name := range []string{"v1.2", "v1"} {
		if line := name + " is v1.2.3\n"; strings.Count(log, line) != 1 {
			t.Errorf("the job that moves the tags does not say %q:\n%s", line, log)
		}
	}
	movesAfter := regexp.MustCompile(`(?s)smoke/(hosted|container|self-hosted)\s*\] 🏁  Job succeeded`).FindAllStringIndex(log, -1)
	if moved := strings.Index(log, `scripts/release move`); len(movesAfter) != 3 || movesAfter[2][1] > moved {
		t.Errorf("v1 moved before the smoke's three jobs succeeded:\n%s", log)
	}
	first := expect("v1.2.3", nil, names...)
	digest := first["v1.2.3"]
	for name, d := range first {
		if d != digest {
			t.Errorf("v1.2.3: %s leads to %s, not to %s", name, d, digest)
		}
	}
	i := w.inspect(repo + "@" + digest)
	var platforms, kinds []string
	for _, p := range i.Platforms {
		platforms = append(platforms, p.Platform)
		for key, want := range map[string]string{"version": "1.2.3", "revision": sha,
			"source": "https://github.com/" + workflowOwner + "/claude-sandbox", "licenses": "Apache-2.0", "title": "claude-sandbox"} {
			if got := p.Labels["org.opencontainers.image."+key]; got != want {
				t.Errorf("%s: the label %s is %q, want %q", p.Platform, key, got, want)
			}
		}
	}
	for _, r := range i.Referrers {
		kinds = append(kinds, r.Kind)
	}
	if !slices.Equal(platforms, []string{"linux/amd64", "linux/arm64"}) ||
		!slices.Contains(kinds, "application/spdx+json") || len(kinds) != 2 {
		t.Errorf("the image is for %v, attached are %v", platforms, kinds)
	}
	attested, err := os.ReadFile(filepath.Join(w.results, "attested"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []string{repo, initRepo} {
		line := w.registry + "/" + r + "@" + w.tags(r)["latest"] + " "
		at := strings.Index(string(attested), line)
		if at < 0 || strings.Contains(strings.SplitN(string(attested)[at:], "\n", 2)[0], "v1.2.3") {
			t.Errorf("%s was not attested before its tags were written: %s", r, attested)
		}
	}
	t.Run("Tags", func(t *testing.T) {
		for _, name := range []string{"v1.2.3^{}", "v1.2", "v1"} {
			if got := w.run(w.project, "git", "ls-remote", "origin", "refs/tags/"+name); !strings.HasPrefix(got, sha+"\t") {
				t.Errorf("%s is %q, want %s", name, got, sha)
			}
		}
	})
	dir := filepath.Join(w.results, "host", workflowOwner, "claude-sandbox", "releases", "download", "v1.2.3")
	t.Run("Files", func(t *testing.T) { releaseFiles(t, w, dir) })
	t.Run("Installs", func(t *testing.T) { releaseInstalls(t, w, dir, mirror) })
	w.run(w.project, "git", "checkout", "-q", "-f", "main")

	// The default branch.
	sha = w.commit()
	must(w.workflow("images.yml", "push", "refs/heads/main"))
	names = append(names, "edge", "sha-"+sha[:12])
	expect("main", map[string]string{"v1.2.3": digest, "v1": digest, "latest": digest}, names...)

	// A fix for an old line is not the latest.
	sha = w.commit()
	must(w.workflow("images.yml", "workflow_dispatch", "refs/tags/v1.1.9"))
	names = append(names, "v1.1.9", "v1.1", "sha-"+sha[:12])
	before := expect("v1.1.9", map[string]string{"v1.2.3": digest, "v1.2": digest, "v1": digest, "latest": digest}, names...)

	// A step that fails, and a pull request, leave every tag where it was.
	w.commit()
	if log, err := w.workflow("images.yml", "workflow_dispatch", "refs/tags/v1.3.0", "--env", "FAIL_ATTEST=1"); err == nil {
		t.Errorf("the workflow succeeds without an attestation:\n%s", log)
	}
	expect("without an attestation", before, names...)
	must(w.workflow("images.yml", "pull_request", "refs/pull/7/merge"))
	expect("a pull request", before, names...)
}
