package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/templates"
)

// publishedFeature is the Feature that init carries, where it is published.
var publishedFeature = "ghcr.io/" + release.Org + "/claude-sandbox/features/firewall:0"

// renovate is the real program in a git repository.
type renovate struct {
	t      *testing.T
	dir    string
	prefix string // where npm put it
	config string // JSON, for what is no part of the repository
}

// renovateReport is the part of its report that counts.
type renovateReport struct {
	Repositories struct {
		Local struct {
			PackageFiles map[string][]struct {
				PackageFile string
				Deps        []struct {
					DepName, CurrentValue, CurrentDigest string
					Updates                              []struct{ NewValue, NewDigest string }
				}
			}
		}
	}
}

func (r renovate) node() string {
	found, err := filepath.Glob(filepath.Join(r.prefix, "node_modules", "node-linux-*", "bin", "node"))
	if err != nil || len(found) != 1 {
		r.t.Fatalf("no node in %s: %v %v", r.prefix, found, err)
	}
	return found[0]
}

func (r renovate) run(args ...string) string {
	r.t.Helper()
	cmd := exec.Command(r.node(), args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "RENOVATE_BASE_DIR="+r.t.TempDir(), "RENOVATE_CONFIG="+r.config, "LOG_LEVEL=warn")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// report looks up updates, or with "extract" only reads the files.
func (r renovate) report(step string) (report renovateReport, file string) {
	r.t.Helper()
	file = filepath.Join(r.t.TempDir(), "report.json")
	out := r.run(filepath.Join(r.prefix, "node_modules", "renovate", "dist", "renovate.js"), "--platform=local", "--dry-run="+step,
		"--report-type=file", "--report-path="+file)
	text, err := os.ReadFile(file)
	if err != nil {
		r.t.Fatalf("%v\n%s", err, out)
	}
	if err := json.Unmarshal(text, &report); err != nil {
		r.t.Fatal(err)
	}
	return report, file
}

// TestRenovate lets the real Renovate read what init writes, look for updates
// and make them, and looks at what is left then. It needs npm's registry, so it
// is run on purpose: make renovate.
func TestRenovate(t *testing.T) {
	prefix := os.Getenv("SBX_RENOVATE")
	if prefix == "" {
		t.Skip("needs the world; make renovate runs it")
	}
	addr := startRegistry(t)
	digests := map[string]string{}
	for _, tag := range []string{"1.0.0", "1.1.0"} {
		image, err := random.Image(64, 1)
		if err != nil {
			t.Fatal(err)
		}
		ref, err := name.NewTag(addr + "/base:" + tag)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(ref, image); err != nil {
			t.Fatal(err)
		}
		digest, err := image.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests[tag] = digest.String()
	}
	pinned := addr + "/base:1.0.0@" + digests["1.0.0"]
	r := renovate{t: t, prefix: prefix, dir: t.TempDir(), config: fmt.Sprintf(`{
		"packageRules": [{"matchDatasources": ["!npm", "!docker"], "enabled": false}, {"matchDatasources": ["docker"], "matchPackageNames": `+
		`["!%[1]s/**"], "enabled": false}],
		"hostRules": [{"matchHost": "localhost", "insecureRegistry": true}]}`, addr)}
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ok := func(args ...string) string {
		t.Helper()
		code, out, said := call(t, args...)
		if code != 0 {
			t.Errorf("sbx-devc %v: exit %d\n%s%s", args, code, out, said)
		}
		return out + said
	}
	preset, err := os.ReadFile("../../templates/renovate.json")
	if err != nil {
		t.Fatal(err)
	}
	write("renovate.json", string(preset))
	write(".devcontainer/devcontainer.json", `{"image": "`+pinned+`", "remoteUser": "dev"}`)
	ok("init", "--extend", r.dir)
	config := filepath.Join(r.dir, ".devcontainer", "devcontainer.json")
	extended, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	write(".devcontainer/devcontainer.json", strings.Replace(string(extended), templates.LocalFeature, publishedFeature, 1))
	for _, id := range templates.IDs() {
		ok("init", "--no-detect", "--with-workflow", "--template", id, "--option", "baseImage="+pinned, mkdir(t, r.dir, id))
	}
	compose := filepath.Join(r.dir, "claude-strict", ".devcontainer", "compose.yaml")
	text, err := os.ReadFile(compose)
	if err != nil {
		t.Fatal(err)
	}
	write("claude-strict/.devcontainer/compose.yaml",
		strings.Replace(string(text), "  agent:\n", "  db:\n    image: "+pinned+"\n\n  agent:\n", 1))
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"},
		{"-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qm", "x"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = r.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}

	// The files that it reads.
	read, _ := r.report("extract")
	found := map[string][]string{}
	for _, files := range read.Repositories.Local.PackageFiles {
		for _, f := range files {
			for _, d := range f.Deps {
				version := d.CurrentValue
				if d.CurrentDigest != "" {
					version += "@" + d.CurrentDigest[:10]
				}
				found[f.PackageFile] = append(found[f.PackageFile], d.DepName+" "+version)
			}
		}
	}
	base := addr + "/base 1.0.0@" + digests["1.0.0"][:10]
	tmpl, err := templates.Load("claude-python")
	if err != nil {
		t.Fatal(err)
	}
	version, pyright := tmpl.Options["claudeVersion"].Default, tmpl.Options["pyrightVersion"].Default
	expect := func(file string, deps ...string) {
		t.Helper()
		for _, d := range deps {
			if !slices.ContainsFunc(found[file], func(f string) bool { return strings.HasPrefix(f, d) }) {
				t.Errorf("%s: Renovate does not find %s, but %q", file, d, found[file])
			}
		}
	}
	expect(".devcontainer/devcontainer.json", base, strings.TrimSuffix(publishedFeature, ":0")+" 0")
	for _, id := range templates.IDs() {
		expect(id+"/.devcontainer/Dockerfile", "node 22-bookworm-slim", "@anthropic-ai/claude-code-linux-x64 "+version+"@sha512-",
			"@anthropic-ai/claude-code-linux-arm64 "+version+"@sha512-", base)
		expect(id+"/.github/workflows/claude.yml", "actions/checkout v", "org/claude-sandbox v1")
	}
	expect("claude-python/.devcontainer/Dockerfile", "pyright "+pyright+"@sha512-", "ghcr.io/astral-sh/uv 0.", "ghcr.io/astral-sh/ruff 0.")
	expect("claude-go/.devcontainer/Dockerfile", "golang 1.")
	expect("claude-strict/.devcontainer/compose.yaml", base)

	// The updates that it makes of them.
	_, report := r.report("lookup")
	script, err := filepath.Abs("testdata/renovate.mjs")
	if err != nil {
		t.Fatal(err)
	}
	made := r.run(script, filepath.Join(prefix, "node_modules", "renovate"), report, r.dir)
	t.Logf("%s", made)
	for _, id := range templates.IDs() {
		dir := filepath.Join(r.dir, id)
		text, err := os.ReadFile(filepath.Join(dir, ".devcontainer", "Dockerfile"))
		if err != nil {
			t.Fatal(err)
		}
		dockerfile := string(text)
		if !strings.Contains(dockerfile, "FROM "+addr+"/base:1.1.0@"+digests["1.1.0"]) || strings.Contains(dockerfile, "base:1.0.0") {
			t.Errorf("%s: the base image is not the new one:\n%s", id, dockerfile)
		}
		if strings.Contains(made, "claude-code") && strings.Contains(dockerfile, version) || strings.Count(dockerfile, "sha512-") < 2 {
			t.Errorf("%s: Claude Code is not the new one, or only half:\n%s", id, dockerfile)
		}
		ok("validate", "--fail-on", "error", dir)
		if said := ok("drift", dir); !strings.Contains(said, "records it") {
			t.Errorf("%s: drift says nothing: %s", id, said)
		}
		ok("update", "--check", dir)
		ok("update", "--option", "timezone=Europe/Berlin", dir)
		if now, err := os.ReadFile(filepath.Join(dir, ".devcontainer", "Dockerfile")); err != nil ||
			string(now) != strings.Replace(dockerfile, "TZ=UTC", "TZ=Europe/Berlin", 1) {
			t.Errorf("%s: an update took it back: %v\n%s", id, err, now)
		}
	}
}

func mkdir(t *testing.T, dir, name string) string {
	t.Helper()
	dir = filepath.Join(dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
