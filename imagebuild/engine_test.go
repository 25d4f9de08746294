package imagebuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/imagebuild/base"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/imagebuild/tags"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/registrytest"
)

func connect(t *testing.T) *engine.Engine {
	t.Helper()
	e := enginetest.Connect(t)
	enginetest.Carried(t)
	return e
}

// build builds a Dockerfile and returns the image's id.
func build(t *testing.T, e *engine.Engine, tag, dockerfile string) (id, output string, err error) {
	t.Helper()
	return buildWith(t, e, BuildOptions{Tag: tag}, dockerfile)
}

func buildWith(t *testing.T, e *engine.Engine, o BuildOptions, dockerfile string) (id, output string, err error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(dockerfile), 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	o.Context, o.Progress = dir, &out
	id, err = BuildDockerfile(context.Background(), e, o)
	if err == nil && o.Tag != "" {
		t.Cleanup(func() { removeImage(t, e, o.Tag) })
	}
	return id, out.String(), err
}

func removeImage(t *testing.T, e *engine.Engine, ref string) {
	if err := e.ImageRemove(context.Background(), ref); err != nil && !errors.Is(err, engine.ErrNotFound) {
		t.Error(err)
	}
}

// runInit runs the image's entry point with the argument version.
func runInit(t *testing.T, e *engine.Engine, image string) {
	t.Helper()
	ctx := context.Background()
	c, err := e.Create(ctx, engine.Spec{
		Name: fmt.Sprintf("sbx-imagebuild-test-%d", os.Getpid()), Image: image,
		Process: engine.Process{Command: []string{"version"}}, Link: engine.Link{Network: "none"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Remove(ctx, c)
	stream, err := e.Attach(ctx, c, false, false)
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

// Both builders find what sbx-devc carries, and say what they do.
func TestDockerfileCopiesTheCarriedInit(t *testing.T) {
	e := connect(t)
	for name, classic := range map[string]bool{"buildkit": false, "classic": true} {
		t.Run(name, func(t *testing.T) {
			id, output, err := buildWith(t, e, BuildOptions{Tag: "sbx-imagebuild-test:copy-" + name, Classic: classic},
				"FROM scratch\nCOPY --from="+release.InitImage()+" /sbx-init /usr/local/sbin/sbx-init\nENTRYPOINT [\"/usr/local/sbin/sbx-init\"]\n")
			if err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			if !strings.HasPrefix(id, "sha256:") {
				t.Errorf("the id is %q", id)
			}
			if !strings.Contains(output, "COPY --from=") || strings.HasPrefix(output, "#1 ") == classic {
				t.Errorf("the output:\n%s", output)
			}
			runInit(t, e, id)
		})
	}
}

func TestFailingStepIsShown(t *testing.T) {
	e := connect(t)
	// sbx-init stands for a shell: it prints why it does not work, and fails.
	failing := "FROM scratch\nCOPY --from=" + release.InitImage() + " /sbx-init /sbx-init\nRUN [\"/sbx-init\", \"no-such-command\"]\n"
	for name, classic := range map[string]bool{"buildkit": false, "classic": true} {
		t.Run(name, func(t *testing.T) {
			o := BuildOptions{Classic: classic}
			_, output, err := buildWith(t, e, o, "FROM scratch\nCOPY missing.txt /\n")
			if err == nil || !strings.Contains(err.Error(), "missing.txt") {
				t.Errorf("the error is %v", err)
			}
			if !strings.Contains(output, "COPY missing.txt /") {
				t.Errorf("the output does not show the step:\n%s", output)
			}
			if _, _, err := buildWith(t, e, o, "FORM scratch\n"); err == nil || !strings.Contains(err.Error(), "FORM") {
				t.Errorf("an unknown instruction gives %v", err)
			}
			_, output, err = buildWith(t, e, o, failing)
			if err == nil || !strings.Contains(err.Error(), "the step said last:\nsbx-init: error: ") ||
				!strings.Contains(output, "sbx-init: error: ") {
				t.Errorf("the error is %v; the output:\n%s", err, output)
			}
		})
	}
}

// A build that needs a secret is told who can give it one.
func TestASecretIsTheDockerCommands(t *testing.T) {
	e := connect(t)
	_, _, err := buildWith(t, e, BuildOptions{},
		"FROM scratch\nCOPY --from="+release.InitImage()+" /sbx-init /sbx-init\nRUN --mount=type=secret,id=token [\"/sbx-init\", \"version\"]\n")
	if err == nil || !strings.Contains(diag.HintOf(err), "docker build --secret") {
		t.Errorf("the error is %v, its hint %q", err, diag.HintOf(err))
	}
}

// An image of the engine is published, pulled and run.
func TestPushPullRun(t *testing.T) {
	e := connect(t)
	addr := registrytest.Start(t)
	ctx := context.Background()
	const local = "sbx-imagebuild-test:push"
	if _, out, err := build(t, e, local,
		"FROM scratch\nCOPY --from="+release.InitImage()+" /sbx-init /sbx-init\nLABEL mark=one\nENTRYPOINT [\"/sbx-init\"]\n"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	m := testMaterials(t, "")
	m.Save = e.Save
	opened, err := base.Open(ctx, m.sources(), "engine:"+local, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Relabel(opened, About{Title: "sandbox", Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := registry.Dial(ctx, addr+"/me/sandbox", true, nil, offline())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := registry.Push(ctx, c, a, registry.PushOptions{Tags: []tags.Tag{{Name: "v1.2.3", Immutable: true}}}); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{addr + "/me/sandbox@" + a.Index.Digest.String(), addr + "/me/sandbox:v1.2.3"} {
		pulled, err := Pull(ctx, e, offline(), ref, PullOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { removeImage(t, e, pulled.Ref) })
		if pulled.Digest != a.Index.Digest.String() {
			t.Errorf("%s: pulled %s", ref, pulled.Digest)
		}
		image, err := e.ImageInspect(ctx, pulled.Ref)
		if err != nil {
			t.Fatal(err)
		}
		if image.Labels["mark"] != "one" || image.Labels["org.opencontainers.image.version"] != "1.2.3" ||
			image.Labels["org.opencontainers.image.created"] == "" {
			t.Errorf("%s: the labels are %v", ref, image.Labels)
		}
		runInit(t, e, pulled.Ref)
	}
}

func TestPullSaysWhatIsWrong(t *testing.T) {
	e := connect(t)
	addr := registrytest.Start(t)
	ctx := context.Background()
	if _, err := Pull(ctx, e, offline(), addr+"/me/none:v1", PullOptions{}); !errors.Is(err, registry.ErrNotFound) ||
		!strings.Contains(diag.HintOf(err), "docker login") {
		t.Errorf("a missing image: %v with hint %q", err, diag.HintOf(err))
	}
	info, err := e.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[info.Arch]
	a, err := InitArtifact(map[string][]byte{other: []byte("program")}, About{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := registry.Dial(ctx, addr+"/me/other", true, nil, offline())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := registry.Push(ctx, c, a, registry.PushOptions{Tags: []tags.Tag{{Name: "v1"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := Pull(ctx, e, offline(), addr+"/me/other:v1", PullOptions{}); !errors.Is(err, ErrPlatform) ||
		!strings.Contains(err.Error(), "linux/"+info.Arch) {
		t.Errorf("an image for %s: %v", other, err)
	}
}

func TestInitArtifactHoldsTheProgramAndNothingElse(t *testing.T) {
	digest := func(binary string) string {
		t.Helper()
		a, err := InitArtifact(map[string][]byte{"amd64": []byte(binary), "arm64": []byte(binary)}, About{})
		if err != nil {
			t.Fatal(err)
		}
		for _, image := range a.Images {
			headers, contents := unpack(t, image.Blobs[1])
			h := headers["sbx-init"]
			if len(headers) != 1 || h.Mode != 0o755 || h.Uid != 0 || h.Gid != 0 || !h.ModTime.Equal(epoch) ||
				string(contents["sbx-init"]) != binary {
				t.Errorf("the program is packed as %+v", headers)
			}
		}
		return a.Index.Digest.String()
	}
	first := digest("one")
	if digest("one") != first {
		t.Error("two builds of one binary differ")
	}
	if digest("two") == first {
		t.Error("two binaries have one digest")
	}
}
