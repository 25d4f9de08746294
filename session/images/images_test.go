package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/imagebuild/npm"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/progress"
	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/registrytest"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session/volumes"
	"github.com/org/claude-sandbox/templates"
)

// bringer brings images with this user's own cache folder: what is in it, other
// tests and runs have fetched already.
func bringer(t *testing.T, said *bytes.Buffer) Images {
	t.Helper()
	e := enginetest.Connect(t)
	enginetest.Carried(t)
	cache, err := CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return Images{Engine: e, Getenv: os.Getenv, Progress: &progress.Reporter{Out: said}, Option: "--image", Cache: cache}
}

func planWith(image string) *runplan.Plan {
	return &runplan.Plan{
		Sidecar: engine.Spec{Image: FirewallName()},
		Agent:   engine.Spec{Image: image, Process: engine.Process{Entrypoint: []string{"/init", "--", runplan.DefaultClaudePath}}},
	}
}

// buildFrom builds a small image for the test.
func buildFrom(t *testing.T, image, dockerfile string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "docker", "build", "-q", "-t", image, "-")
	cmd.Stdin = strings.NewReader(dockerfile)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", "-f", image).Run() })
	return image
}

// The published image is not asked for: a program that was built from source does
// not even know whose registry it would ask.
func TestNobodysImageIsPulledUnasked(t *testing.T) {
	var said bytes.Buffer
	i := bringer(t, &said)
	if _, err := i.Engine.ImageInspect(t.Context(), release.Image()); !errors.Is(err, engine.ErrNotFound) {
		testenv.Missing(t, "an engine without "+release.Image(), fmt.Sprint(err))
	}
	plan := planWith(release.Image())
	i.Choice = Choice{Name: release.Image()}
	if err := i.Bring(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	built, err := i.Engine.ImageInspect(t.Context(), DefaultName(DefaultFiles()))
	if err != nil || strings.Contains(said.String(), "pulling") || plan.Agent.Image != built.ID {
		t.Errorf("the run takes %s: %s", plan.Agent.Image, &said)
	}
}

// The default image has the programs that people expect.
func TestTheDefaultImageHasTheUsualPrograms(t *testing.T) {
	var said bytes.Buffer
	i := bringer(t, &said)
	if _, _, err := i.bringDefault(t.Context()); err != nil {
		t.Fatal(err)
	}
	programs := "git curl jq dig node npm npx python3 pip uv uvx make cc g++ bash rg unzip"
	out, err := exec.CommandContext(t.Context(), "docker", "run", "--rm", "--network", "none", "--user", "4242:4242",
		DefaultName(DefaultFiles()),
		"sh", "-c", "for p in "+programs+`; do command -v "$p" >/dev/null || echo "no $p"; done`).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := exec.CommandContext(t.Context(), "docker", "run", "--rm", DefaultName(DefaultFiles()), "test", "!", "-e",
		"/usr/local/bin/claude").Output(); err != nil {
		t.Error("it has Claude Code in it, whose licence does not permit to pass it on")
	}
}

// Attack: an image of another's making has the name under which the firewall's is
// built here. A run takes the one that was built here, by its id.
func TestAttackTheFirewallsImageByItsName(t *testing.T) {
	var said bytes.Buffer
	i := bringer(t, &said)
	first, err := i.bringFirewall(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	evil := buildFrom(t, "sbx-images-evil:"+strings.ToLower(t.Name()), "FROM scratch\nLABEL evil=yes\n")
	if err := i.Engine.Tag(t.Context(), evil, FirewallName()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = exec.Command("docker", "tag", first, FirewallName()).Run() })
	// Another user, who has built none, does not take it by its name either.
	for who, cache := range map[string]string{"who built one": i.Cache, "another": t.TempDir()} {
		i.Cache = cache
		id, err := i.bringFirewall(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if image, err := i.Engine.ImageInspect(t.Context(), id); err != nil || image.Labels["evil"] != "" {
			t.Errorf("the user %s takes the image with the labels %v: %v", who, image.Labels, err)
		}
	}
}

// Attack: the name of an image comes to mean another one, between the look at it and
// the container that is made of it.
func TestAttackTheNameOfAnImageMoves(t *testing.T) {
	var said bytes.Buffer
	i := bringer(t, &said)
	name := "sbx-images-moves:" + strings.ToLower(t.Name())
	evil := buildFrom(t, name+"-evil", "FROM debian:bookworm-slim\nLABEL evil=yes\n")
	buildFrom(t, name+"-agent", "FROM debian:bookworm-slim\nLABEL evil=no\n")
	buildFrom(t, name+"-firewall", "FROM debian:bookworm-slim\nLABEL evil=no firewall=yes\n")
	plan := planWith(name + "-agent")
	plan.Sidecar.Image = name + "-firewall"
	if err := i.Bring(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	for role, spec := range map[string]engine.Spec{"agent": plan.Agent, "firewall": plan.Sidecar} {
		if err := i.Engine.Tag(t.Context(), evil, name+"-"+role); err != nil {
			t.Fatal(err)
		}
		id, err := i.Engine.Create(t.Context(), engine.Spec{
			Image:   spec.Image,
			Process: engine.Process{Command: []string{"/none"}}, Link: engine.Link{Network: "none"},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer i.Engine.Remove(t.Context(), id) //nolint:errcheck // it never ran
		out, err := exec.Command("docker", "inspect", "--format", `{{index .Config.Labels "evil"}}`, id).CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != "no" {
			t.Errorf("the container of the %s is made of another image than the one that was looked at: %s %v", role, out, err)
		}
	}
}

// Attack: an image has a link to the project where a run mounts its first process, the
// engine follows it, and the mount of the project covers that process with the project's.
func TestAttackAnImageWithALinkWhereARunMounts(t *testing.T) {
	for _, link := range []string{"/workspace/x /out/.sbx", "/workspace/x /out/.sbx-claude",
		"/workspace/x /out/.sbx-program", "/x /out/workspace"} {
		var said bytes.Buffer
		i := bringer(t, &said)
		evil := buildFrom(t, "sbx-images-evil:"+strings.ToLower(t.Name()), "FROM debian:bookworm-slim AS made\nRUN mkdir /out && ln -s "+link+
			"\nFROM debian:bookworm-slim\nCOPY --from=made /out/ /\n")
		if err := i.Bring(t.Context(), planWith(evil)); !errors.Is(err, sandbox.ErrNoStart) ||
			!strings.Contains(err.Error(), "where a run mounts") {
			t.Errorf("%s: %v", link, err)
		}
	}
}

// Claude Code is put into a volume once, by its package.
func TestClaudeCodeIsBroughtOnce(t *testing.T) {
	var said bytes.Buffer
	i := bringer(t, &said)
	firewall, err := i.bringFirewall(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	arch := "amd64"
	if info, err := i.Engine.Info(t.Context()); err == nil {
		arch = info.Arch
	}
	// A cache folder of its own, with the download of the user's.
	home := i.Cache
	if _, err := i.bringClaude(t.Context(), arch, npm.Glibc, firewall); err != nil {
		t.Fatal(err)
	}
	i.Cache = t.TempDir()
	if err := os.Symlink(filepath.Join(home, "images"), filepath.Join(i.Cache, "images")); err != nil {
		t.Fatal(err)
	}
	good, err := i.bringClaude(t.Context(), arch, npm.Glibc, firewall)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = exec.Command("docker", "volume", "rm", "-f", good).Run() })
	if again, err := i.bringClaude(t.Context(), arch, npm.Glibc, firewall); err != nil || again != good {
		t.Errorf("a filled volume is filled again: %s, %v", again, err)
	}
}

// Attack: a cache folder that holds another program than npm's. Nothing of it
// reaches the engine.
func TestAttackTheCachedPackage(t *testing.T) {
	var packed, out bytes.Buffer
	zw := gzip.NewWriter(&packed)
	tw := tar.NewWriter(zw)
	err := tw.WriteHeader(&tar.Header{Name: "package/claude", Mode: 0o755, Size: 4, Typeflag: tar.TypeReg})
	if _, writeErr := tw.Write([]byte("evil")); errors.Join(err, writeErr, tw.Close(), zw.Close()) != nil {
		t.Fatal(err)
	}
	if err := writeProgram(&out, &packed, "sha512-other"); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("got %v", err)
	}
	if bytes.HasSuffix(out.Bytes(), make([]byte, 1024)) {
		t.Error("the archive has its end")
	}
}

// Every kind of image gets Claude Code, or a sentence that says why not.
func TestClaudeCodeForEveryImage(t *testing.T) {
	var said bytes.Buffer
	i := bringer(t, &said)
	own := func(name, mode string) string {
		return buildFrom(t, "sbx-images-"+name+":test",
			"FROM debian:bookworm-slim\nRUN cp /bin/true /usr/local/bin/claude && chmod "+mode+" /usr/local/bin/claude\n")
	}
	for _, c := range []struct {
		what, image string
		volume      bool
		fails       string
	}{
		{"a plain image", "debian:bookworm-slim", true, ""},
		{"one with Claude Code as our templates install it", own("closed", "0111"), false, ""},
		{"one with a Claude Code that other programs could read", own("open", "0755"), true, ""},
		{"one without a C library", buildFrom(t, "sbx-images-empty:test", "FROM scratch\nLABEL x=y\n"), false, "no C library"},
	} {
		plan := planWith(c.image)
		err := i.Bring(t.Context(), plan)
		if c.fails != "" {
			if !errors.Is(err, sandbox.ErrNoStart) || !strings.Contains(err.Error(), c.fails) || diag.HintOf(err) == "" {
				t.Errorf("%s: %v", c.what, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if got := slices.ContainsFunc(plan.Agent.Mounts, func(m engine.Mount) bool { return m.Named != "" && m.ReadOnly }); got != c.volume {
			t.Errorf("%s: a volume is mounted: %t", c.what, got)
		}
	}
}

// The templates and the program pin one Claude Code.
func TestOnePin(t *testing.T) {
	template, err := templates.Load("claude")
	if err != nil {
		t.Fatal(err)
	}
	for option, arch := range map[string]string{"claudeIntegrityX64": "amd64", "claudeIntegrityArm64": "arm64"} {
		pinned, err := npm.Pinned(arch, npm.Glibc)
		if err != nil || template.Value(option, nil) != pinned.Integrity || template.Value("claudeVersion", nil) != pinned.Version {
			t.Errorf("%s: the template pins %s %s, a run %+v: %v", arch, template.Value("claudeVersion", nil),
				template.Value(option, nil), pinned, err)
		}
	}
}

// Attack: an image in which the place of a list of users leads somewhere else, so that
// the engine makes a file in the project, as root, or mounts over one there.
func TestAttackAListOfUsersThatLeadsElsewhere(t *testing.T) {
	var said bytes.Buffer
	i := bringer(t, &said)
	for name, link := range map[string]string{"passwd": "etc/passwd", "group": "etc/group"} {
		t.Run(name, func(t *testing.T) {
			var archive bytes.Buffer
			tw := tar.NewWriter(&archive)
			entries := []*tar.Header{{Name: "etc/", Typeflag: tar.TypeDir, Mode: 0o755},
				{Name: link, Typeflag: tar.TypeSymlink, Linkname: "/workspace/made-by-root", Mode: 0o777}}
			for _, h := range entries {
				if err := tw.WriteHeader(h); err != nil {
					t.Fatal(err)
				}
			}
			if err := tw.Close(); err != nil {
				t.Fatal(err)
			}
			tag := "sbx-images-links:" + name
			load := exec.CommandContext(t.Context(), "docker", "import", "-", tag)
			load.Stdin = &archive
			if out, err := load.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			t.Cleanup(func() { _ = exec.Command("docker", "rmi", "-f", tag).Run() })
			image, err := i.Engine.ImageInspect(t.Context(), tag)
			if err != nil {
				t.Fatal(err)
			}
			plan := planWith(tag)
			plan.Agent.Mounts = []engine.Mount{{Target: "/workspace"}, {Target: "/etc/passwd"}, {Target: "/etc/group"}}
			_ = i.giveClaude(t.Context(), plan, image) // without a C library there is no Claude Code for it
			if len(plan.Agent.Mounts) != 1 || len(plan.Notes) == 0 {
				t.Errorf("mounts %v, notes %q", plan.Agent.Mounts, plan.Notes)
			}
		})
	}
}

// A release knows the published image of the firewall by its digest: that is pulled once, and
// what cannot be pulled is built.
func TestThePublishedFirewallIsPulledOnce(t *testing.T) {
	var said bytes.Buffer
	i := bringer(t, &said)
	i.Cache = t.TempDir()
	registry := registrytest.StartFaulty(t)
	local := buildFrom(t, registry.Real+"/owner/claude-sandbox:edge", "FROM scratch\nLABEL published=yes\n")
	if out, err := exec.Command("docker", "push", "-q", local).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command("docker", "image", "inspect", "--format", "{{index .RepoDigests 0}}", local).Output()
	if err != nil {
		t.Fatal(err)
	}
	_, digest, _ := strings.Cut(strings.TrimSpace(string(out)), "@")
	i.Published = registry.Addr + "/owner/claude-sandbox@" + digest
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", "-f", publishedName(i.Published)).Run() })
	first, err := i.bringFirewall(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if image, err := i.Engine.ImageInspect(t.Context(), first); err != nil || image.Labels["published"] != "yes" {
		t.Fatalf("%v, %v", image.Labels, err)
	}
	if here := i.firewallHere(); here != first {
		t.Errorf("the image here is %s, want %s", here, first)
	}
	if len(registry.Requests()) == 0 {
		t.Error("the registry was not asked")
	}
	again, err := i.bringFirewall(t.Context())
	if asked := registry.Requests(); err != nil || again != first || len(asked) > 0 {
		t.Errorf("%s, %v, asked for %v", again, err, asked)
	}
	// Attack: the registry serves something else under the digest.
	noteIn := func(cache string) volumes.Note {
		return volumes.NoteOf(cache, i.Engine.Host(), firewallKind, string(firewallDockerfile))
	}
	i.Cache = t.TempDir()
	if id := noteIn(bringer(t, &said).Cache).Read(); id != "" { // or it is built here again
		if err := noteIn(i.Cache).Write(id); err != nil {
			t.Fatal(err)
		}
	}
	if err := exec.Command("docker", "rmi", "-f", publishedName(i.Published), local).Run(); err != nil {
		t.Fatal(err)
	}
	registry.Set(registrytest.Times(100, registrytest.Request("GET", "/manifests/"),
		registrytest.Change(func(_ http.Header, body []byte) []byte {
			return bytes.ReplaceAll(body, []byte("sha256:"), []byte("sha256:0"))
		})))
	built, err := i.bringFirewall(t.Context())
	if err != nil || built == first {
		t.Errorf("%s, %v", built, err)
	}
	if image, err := i.Engine.ImageInspect(t.Context(), built); err != nil || image.Labels["published"] != "" {
		t.Errorf("%v, %v", image.Labels, err)
	}
	if !strings.Contains(said.String(), "pulling "+i.Published) {
		t.Errorf("not said: %s", &said)
	}
}
