package imagebuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/internal/testenv"
)

func connect(t *testing.T) *engine.Engine {
	t.Helper()
	testenv.Slow(t)
	e, err := engine.Connect(context.Background())
	if err != nil {
		testenv.Missing(t, "container engine", err.Error())
	}
	t.Cleanup(func() { e.Close() })
	if _, _, err := CarriedInit(context.Background(), e); err != nil {
		if errors.Is(err, carried.ErrNotCarried) {
			testenv.Missing(t, "carried sbx-init", "run scripts/build first")
		}
		t.Fatal(err)
	}
	return e
}

// startRegistry runs a real registry on a free loopback port and returns its
// address.
func startRegistry(t *testing.T) string {
	t.Helper()
	program := testenv.Program(t, "docker-registry")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yml")
	text := fmt.Sprintf("version: 0.1\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: %q}\nlog: {level: error, accesslog: {disabled: true}}\n", filepath.Join(dir, "data"), addr)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	cmd := exec.Command(program, "serve", config)
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("registry: %s", output.String())
		}
	})
	for deadline := time.Now().Add(20 * time.Second); ; {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			c.Close()
			return addr
		}
		if time.Now().After(deadline) {
			t.Fatalf("the registry does not listen on %s: %v", addr, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// build builds a Dockerfile and returns the image's id.
func build(t *testing.T, e *engine.Engine, tag, dockerfile string) (id, output string, err error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(dockerfile), 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	id, err = BuildDockerfile(context.Background(), e, BuildOptions{Context: dir, Tag: tag, Progress: &out})
	if err == nil && tag != "" {
		t.Cleanup(func() {
			if err := e.ImageRemove(context.Background(), tag); err != nil && !errors.Is(err, engine.ErrNotFound) {
				t.Error(err)
			}
		})
	}
	return id, out.String(), err
}

func TestDockerfileCopiesTheCarriedInit(t *testing.T) {
	e := connect(t)
	ctx := context.Background()
	id, output, err := build(t, e, "sbx-imagebuild-test:copy", "FROM scratch\nCOPY --from="+release.InitImage()+" /sbx-init /usr/local/sbin/sbx-init\nENTRYPOINT [\"/usr/local/sbin/sbx-init\"]\n")
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if !strings.HasPrefix(id, "sha256:") {
		t.Errorf("the id is %q", id)
	}
	c, err := e.Create(ctx, engine.Spec{Name: fmt.Sprintf("sbx-imagebuild-test-%d", os.Getpid()), Image: id, Command: []string{"version"}, Network: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Remove(ctx, c)
	stream, err := e.Attach(ctx, c, false)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	exit := e.Wait(ctx, c)
	if err := e.Start(ctx, c); err != nil {
		t.Fatal(err)
	}
	var out, errout bytes.Buffer
	if err := stream.Copy(&out, &errout); err != nil {
		t.Fatal(err)
	}
	if got := <-exit; got.Code != 0 || !strings.Contains(out.String(), release.Version) {
		t.Errorf("sbx-init version: exit %+v, %q, %q", got, out.String(), errout.String())
	}
}

func TestFailingStepIsShown(t *testing.T) {
	e := connect(t)
	_, output, err := build(t, e, "", "FROM scratch\nCOPY missing.txt /\n")
	if err == nil || !strings.Contains(err.Error(), "missing.txt") {
		t.Errorf("the error is %v", err)
	}
	if !strings.Contains(output, "COPY missing.txt /") {
		t.Errorf("the output does not show the step:\n%s", output)
	}
	if _, _, err := build(t, e, "", "FORM scratch\n"); err == nil || !strings.Contains(err.Error(), "FORM") {
		t.Errorf("an unknown instruction gives %v", err)
	}
}

func TestPushPullRun(t *testing.T) {
	e := connect(t)
	registry := startRegistry(t)
	ctx := context.Background()
	const local = "sbx-imagebuild-test:push"
	dockerfile := func(mark string) string {
		return "FROM scratch\nCOPY --from=" + release.InitImage() + " /sbx-init /sbx-init\nLABEL mark=" + mark + "\nENTRYPOINT [\"/sbx-init\"]\n"
	}
	if _, out, err := build(t, e, local, dockerfile("one")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	repo := registry + "/me/sandbox"
	options := PushOptions{Title: "sandbox", Version: "1.2.3", Revision: "abc", Source: "https://example.com/r", Licenses: "Apache-2.0"}
	refs := []string{repo + ":latest", repo + ":v1.2.3"}
	first, err := Push(ctx, e, local, refs, options)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Tags) != 2 || first.Tags[0] != repo+":v1.2.3" {
		t.Errorf("pushed %q, want the version first", first.Tags)
	}
	again, err := Push(ctx, e, local, refs, options)
	if err != nil || again.Digest != first.Digest {
		t.Errorf("pushing again gives %+v, %v; want the digest %s", again, err, first.Digest)
	}

	if _, out, err := build(t, e, local, dockerfile("two")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, err = Push(ctx, e, local, refs, options)
	if !errors.Is(err, ErrTagMoved) || !strings.Contains(diag.HintOf(err), "--force-tag") {
		t.Fatalf("moving v1.2.3 gives %v, want ErrTagMoved with a hint", err)
	}
	for _, ref := range refs { // nothing was written, not even to the floating tag
		if got := registryDigest(t, ref); got != first.Digest {
			t.Errorf("%s is %s after the refusal, want %s", ref, got, first.Digest)
		}
	}
	options.ForceTag = true
	second, err := Push(ctx, e, local, refs, options)
	if err != nil || second.Digest == first.Digest {
		t.Fatalf("--force-tag gives %+v, %v", second, err)
	}

	pulled, err := Pull(ctx, e, repo+"@"+first.Digest)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.ImageRemove(ctx, pulled.ID); err != nil {
			t.Error(err)
		}
	})
	image, err := e.ImageInspect(ctx, pulled.ID)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"mark": "one", "org.opencontainers.image.version": "1.2.3", "org.opencontainers.image.title": "sandbox",
		"org.opencontainers.image.revision": "abc", "org.opencontainers.image.source": "https://example.com/r", "org.opencontainers.image.licenses": "Apache-2.0",
	} {
		if image.Labels[key] != want {
			t.Errorf("label %s is %q, want %q", key, image.Labels[key], want)
		}
	}
	if _, err := time.Parse(time.RFC3339, image.Labels["org.opencontainers.image.created"]); err != nil {
		t.Error(err)
	}
	c, err := e.Create(ctx, engine.Spec{Name: fmt.Sprintf("sbx-imagebuild-test-%d", os.Getpid()), Image: pulled.Ref, Command: []string{"version"}, Network: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Remove(ctx, c)
	exit := e.Wait(ctx, c)
	if err := e.Start(ctx, c); err != nil {
		t.Fatal(err)
	}
	if got := <-exit; got.Code != 0 || got.Err != nil {
		t.Errorf("the pulled image ends with %+v", got)
	}
}

func TestPullOfAMissingImageHasAHint(t *testing.T) {
	e := connect(t)
	registry := startRegistry(t)
	_, err := Pull(context.Background(), e, registry+"/me/none:v1")
	if err == nil || !strings.Contains(diag.HintOf(err), "docker login") {
		t.Errorf("got %v with hint %q", err, diag.HintOf(err))
	}
}

func registryDigest(t *testing.T, ref string) string {
	t.Helper()
	tag, err := name.NewTag(ref)
	if err != nil {
		t.Fatal(err)
	}
	d, err := remote.Head(tag)
	if err != nil {
		t.Fatal(err)
	}
	return d.Digest.String()
}
