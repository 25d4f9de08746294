//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// muslImage has musl as its C library, as Alpine has it, and a shell that Claude
// Code takes; nothing else.
const muslImage = `FROM debian:bookworm-slim AS parts
RUN apt-get update && apt-get install -y --no-install-recommends musl bash-static busybox-static && mkdir -p /out/lib /out/bin && \
    cp -L /lib/ld-musl-*.so.1 /out/lib/ && cp /bin/bash-static /out/bin/bash && cp /bin/busybox /out/bin/cat
FROM scratch
COPY --from=parts /out/ /
ENV PATH=/bin
`

// Claude Code comes along with any image, and the firewall needs nothing of it.
func TestRunOnImagesOfOthers(t *testing.T) {
	musl := "sbx-run-image:musl"
	build := exec.CommandContext(t.Context(), "docker", "build", "-q", "-t", musl, "-")
	build.Stdin = strings.NewReader(muslImage)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, image := range map[string]string{"Debian": "debian:bookworm-slim", "musl": musl, "Node": "node:22-bookworm-slim"} {
		t.Run(name, func(t *testing.T) {
			cmd := runProgram(t, []string{scripted(t, "type claude >found; exec 2>refused; echo evil >>/.sbx-program/claude; "+
				"echo evil >/.sbx-program/new; cat /.sbx-program/claude >copy; :")}, "--image", image)
			repository := exec.Command("sh", "-c",
				"git init -q && echo '*.bin filter=lfs' >.gitattributes && chown -R --reference=. .git .gitattributes")
			repository.Dir = cmd.Dir
			if out, err := repository.CombinedOutput(); err != nil {
				t.Fatal(err, string(out))
			}
			var stdout, stderr bytes.Buffer
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("go"), &stdout, &stderr
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s%s", err, &stderr, &stdout)
			}
			if !strings.Contains(stderr.String(), "has no git, and the agent cannot commit") {
				t.Errorf("the image's lack of git is not said: %s", &stderr)
			}
			if !strings.Contains(stderr.String(), "has no git-lfs: the agent commits the whole content") {
				t.Errorf("the image's lack of git-lfs is not said: %s", &stderr)
			}
			if found, err := os.ReadFile(filepath.Join(cmd.Dir, "found")); err != nil || string(found) != "claude is /.sbx-program/claude\n" {
				t.Errorf("the agent finds %q: %v", found, err)
			}
			// Attack: it can neither be changed nor read.
			if copied, err := os.ReadFile(filepath.Join(cmd.Dir, "copy")); err != nil || len(copied) > 0 {
				t.Errorf("%d bytes of Claude Code's program were read: %v", len(copied), err)
			}
			refused, err := os.ReadFile(filepath.Join(cmd.Dir, "refused"))
			for _, want := range []string{"claude: Permission denied", "new: Read-only file system"} {
				if err != nil || !strings.Contains(string(refused), want) {
					t.Errorf("it was not told %q: %s %v", want, refused, err)
				}
			}
		})
	}
}

// In the default image the agent commits pointers of Git LFS's files, as the user does.
func TestFilesOfLFSInTheDefaultImage(t *testing.T) {
	cmd := runProgram(t,
		[]string{
			scripted(t,
				"echo large >a.bin && git add a.bin && git commit -q -m x && git cat-file -p HEAD:a.bin >pointer && git status "+
					"--porcelain a.bin >>pointer")})
	repository := exec.Command("sh", "-c",
		"git init -q && echo '*.bin filter=lfs diff=lfs merge=lfs -text' >.gitattributes && chown -R --reference=. .git .gitattributes")
	repository.Dir = cmd.Dir
	if out, err := repository.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	cmd.Stdin = strings.NewReader("go")
	out, err := cmd.CombinedOutput()
	pointer, _ := os.ReadFile(filepath.Join(cmd.Dir, "pointer"))
	if err != nil || !strings.HasPrefix(string(pointer), "version https://git-lfs.github.com/spec/v1\n") ||
		!strings.HasSuffix(string(pointer), "size 6\n") {
		t.Errorf("%v: %q\n%s", err, pointer, out)
	}
	if strings.Contains(string(out), "git-lfs") {
		t.Errorf("it says that something is missing: %s", out)
	}
}

// Programs that ask who they are get an answer, whoever the project belongs to.
func TestTheAgentIsAUserInTheDefaultImage(t *testing.T) {
	testenv.Root(t)
	for _, uid := range []int{1000, 1001, 1234} {
		cmd := runProgram(t,
			[]string{scripted(t, `{ whoami; id -un; node -p 'const u = require("os").userInfo(); u.username + " " + u.homedir'; `+
				`ssh -o BatchMode=yes -o ConnectTimeout=2 nowhere.example true; git init -q made && git -C made -c user.name=a -c `+
				`user.email=a@b.example commit -q --allow-empty -m x && echo committed; } >who 2>&1`)})
		if err := os.Chown(cmd.Dir, uid, uid); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		cmd.Stdin, cmd.Stderr = strings.NewReader("go"), &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("uid %d: %v\n%s", uid, err, &stderr)
		}
		who, _ := os.ReadFile(filepath.Join(cmd.Dir, "who"))
		if got := string(who); !strings.HasPrefix(got, "agent\nagent\nagent /home/agent\nssh: Could not resolve hostname nowhere.example") ||
			!strings.HasSuffix(got, "\ncommitted\n") {
			t.Errorf("uid %d: %q", uid, got)
		}
	}
}

// A project of root's is changed on a copy, of which apply takes the work. Where the user wants
// the folder itself, the run ends before anything starts, with the command that helps.
func TestAProjectOfRoots(t *testing.T) {
	testenv.Root(t)
	cmd := runProgram(t, []string{scripted(t, "touch x")})
	if err := os.Chown(cmd.Dir, 0, 0); err != nil {
		t.Fatal(err)
	}
	with := func(args ...string) (code int, out string) {
		again := exec.Command(cmd.Path, args...)
		again.Env, again.Dir, again.Stdin = cmd.Env, cmd.Dir, strings.NewReader("go")
		text, err := again.CombinedOutput()
		return exitCodeOf(err), string(text)
	}
	isThere := func() bool {
		_, err := os.Lstat(filepath.Join(cmd.Dir, "x"))
		return err == nil
	}
	code, out := with(append(cmd.Args[1:], "--workspace", "bind")...)
	if code != exitRefused || !strings.Contains(out, "chown -R 1000:1000") || !strings.Contains(out, "--accept-read-only") {
		t.Errorf("the folder itself: exit %d: %s", code, out)
	}
	if code, out = with(append(cmd.Args[1:], "--accept-read-only")...); code != 0 ||
		!strings.Contains(out, "the agent can read "+cmd.Dir+" and not change it") {
		t.Errorf("accepted: exit %d: %s", code, out)
	}
	if code, out = with(cmd.Args[1:]...); code != 0 || !strings.Contains(out, "note: the project belongs to root") || isThere() {
		t.Errorf("a copy: exit %d, taken %v: %s", code, isThere(), out)
	}
	if code, out = with("apply"); code != 0 || !isThere() {
		t.Errorf("apply: exit %d: %s", code, out)
	}
}

// A run takes the project's dev container when its user has accepted it, as it was
// accepted. Attack: a Dockerfile that nobody accepted, or that changed since, would
// run its steps on the engine, with the network. It is not built.
func TestRunOnTheProjectsDevContainer(t *testing.T) {
	upstream := scripted(t, "cat /from-the-project >found 2>&1; :")
	cmd := runProgram(t, []string{upstream, "XDG_CONFIG_HOME=" + t.TempDir()})
	project, env := cmd.Dir, cmd.Env
	write := func(step string) {
		t.Helper()
		folder := filepath.Join(project, ".devcontainer")
		err := os.MkdirAll(folder, 0o755)
		for name, text := range map[string]string{
			"devcontainer.json": `{"build": {"dockerfile": "Dockerfile", "args": {"WORD": "argued"}}, "initializeCommand": ` +
				`"touch /tmp/sbx-image-hook-ran"}`,
			"Dockerfile": "FROM debian:bookworm-slim\nARG WORD\nCOPY word /word\nRUN echo \"" + step + " $WORD $(cat /word)\" >/from-the-project\n",
			"word":       "copied",
		} {
			if err == nil {
				err = os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	call := func(want string, args ...string) (stderr string) {
		t.Helper()
		var errs bytes.Buffer
		c := exec.CommandContext(t.Context(), builtProgram(t), args...)
		c.Dir, c.Env, c.Stdin, c.Stderr = project, env, strings.NewReader("go"), &errs
		if err := c.Run(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, &errs)
		}
		if !strings.Contains(errs.String(), want) {
			t.Errorf("%q does not say %q:\n%s", args, want, &errs)
		}
		return errs.String()
	}
	found := func() string {
		text, err := os.ReadFile(filepath.Join(project, "found"))
		if err != nil {
			t.Error(err)
		}
		return strings.TrimSpace(string(text))
	}
	run := []string{"run", "--print", "--verbose"}
	write("evil")
	said := call("not the dev container's (.devcontainer/devcontainer.json), because you have not accepted it", run...)
	if !strings.Contains(found(), "No such file") || strings.Contains(said, "evil") {
		t.Errorf("a Dockerfile that nobody accepted: the agent finds %q\n%s", found(), said)
	}
	write("good")
	call("built from .devcontainer/Dockerfile, whose steps run on this engine with the network", "trust", "--yes")
	said = call("the image is the one of the project's dev container, built from .devcontainer/Dockerfile", run...)
	if got := found(); got != "good argued copied" {
		t.Errorf("the agent finds %q\n%s", got, said)
	}
	if said = call("", run...); strings.Contains(said, "building") {
		t.Errorf("it is built again:\n%s", said)
	}
	write("evil")
	said = call("because you have not accepted it", run...)
	if !strings.Contains(found(), "No such file") || strings.Contains(said, "evil") {
		t.Errorf("a Dockerfile that changed: the agent finds %q\n%s", found(), said)
	}
	if _, err := os.Stat("/tmp/sbx-image-hook-ran"); err == nil {
		t.Error("a hook of the project ran on the host")
	}
}

// A run takes the image of a Compose service with its Features, and says which parts it
// leaves out. Attack: a Feature's script that nobody accepted, or that changed since,
// would run on the engine, with the network. It is not run.
func TestRunOnADevContainerWithFeaturesAndCompose(t *testing.T) {
	upstream := scripted(t, "{ cat /told; echo $FROM_FEATURE; } >found 2>&1; :")
	cmd := runProgram(t, []string{upstream, "XDG_CONFIG_HOME=" + t.TempDir()})
	p := &devProject{t: t, dir: cmd.Dir}
	p.write("compose.yaml",
		"services: {app: {build: {context: .devcontainer, args: [WORD=argued]}, environment: {A: b}}, db: {image: nowhere.example/db}}\n")
	p.write(".devcontainer/Dockerfile", "FROM debian:bookworm-slim\nARG WORD\nRUN echo $WORD >/told\n")
	p.write(".devcontainer/devcontainer.json",
		`{"dockerComposeFile": "../compose.yaml", "service": "app", "features": {"./ours": {"word": "given"}}}`)
	p.write(".devcontainer/ours/devcontainer-feature.json", `{"id": "ours", "version": "1.0.0", "containerEnv": {"FROM_FEATURE": "set"}}`)
	p.write(".devcontainer/ours/install.sh", "echo \"$WORD as $_REMOTE_USER\" >>/told\n")
	run := func(want string, args ...string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), builtProgram(t), args...)
		c.Dir, c.Env, c.Stdin = cmd.Dir, cmd.Env, strings.NewReader("go")
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Fatalf("%q: %v, does not say %q:\n%s", args, err, want, out)
		}
	}
	found := func(want string) {
		t.Helper()
		if text, err := os.ReadFile(filepath.Join(cmd.Dir, "found")); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("the agent finds %q, want %q: %v", text, want, err)
		}
	}
	run("because you have not accepted it", "run", "--print", "--verbose")
	found("No such file")
	run("with the Features ./ours, whose scripts run on this engine with the network", "trust", "--yes")
	run("built from .devcontainer/Dockerfile, with its Features ./ours; left out: of its Compose file the other services (db)",
		"run", "--print", "--verbose")
	found("argued\ngiven as root\nset\n")
	p.write(".devcontainer/ours/install.sh", "echo evil >>/told\n")
	run("because you have not accepted it", "run", "--print", "--verbose")
	found("No such file")
}
