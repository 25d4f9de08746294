package detect_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/templates/detect"
)

// project makes a folder with these files.
func project(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		target := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func look(t testing.TB, dir string) detect.Report {
	t.Helper()
	report, err := detect.Look(dir)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// flat writes a list as "value file:line".
func flat(list []detect.Proposal) []string {
	out := []string{}
	for _, p := range list {
		out = append(out, strings.TrimSpace(p.Value+" "+p.Where()))
	}
	return out
}

func TestLook(t *testing.T) {
	tests := []struct {
		name           string
		files          map[string]string
		template       string
		presets, hosts []string
	}{
		{"nothing", map[string]string{"README": ""}, "", nil, nil},
		{"go", map[string]string{"go.mod": "module x"}, "claude-go go.mod", []string{"go go.mod"}, nil},
		{"node", map[string]string{"package.json": "{}"}, "claude-node package.json", []string{"npm package.json"}, nil},
		{"python below, node for tools", map[string]string{"packages/a/pyproject.toml": "", "package.json": "{}"},
			"claude-node package.json", []string{"pypi packages/a/pyproject.toml", "npm package.json"}, nil},
		{"go before node", map[string]string{"go.mod": "", "package.json": "{}"}, "claude-go go.mod",
			[]string{"go go.mod", "npm package.json"}, nil},
		{"only below", map[string]string{"backend/go.mod": ""}, "claude-go backend/go.mod", []string{"go backend/go.mod"}, nil},
		{"other people's packages", map[string]string{"node_modules/x/package.json": "{}", "vendor/y/go.mod": ""}, "", nil, nil},
		{"npm registries",
			map[string]string{
				".npmrc": "//npm.corp.example/:_authToken=s3cret\n@corp:registry=https://npm.corp.example/x\n" +
					"registry=https://user:pass@mirror.example:8443/\n"},
			"", nil, []string{"mirror.example:8443 .npmrc:3", "npm.corp.example .npmrc:2"}},
		{"lock file",
			map[string]string{
				"package-lock.json": `{"a": {"resolved": "https://x.npmjs.org/a.tgz"}, "b": {"resolved": "git+ssh://git@git.corp.example/b.git#1"}}`},
			"claude-node package-lock.json", []string{"npm package-lock.json"}, []string{"git.corp.example:22 package-lock.json:1"}},
		{"pip", map[string]string{"requirements.txt": "x==1\n--extra-index-url https://pypi.corp.example/simple\n"},
			"claude-python requirements.txt", []string{"pypi requirements.txt"}, []string{"pypi.corp.example requirements.txt:2"}},
		{"uv", map[string]string{"uv.lock": "source = { registry = \"https://pypi.org/simple\" }\n"},
			"claude-python uv.lock", []string{"pypi uv.lock"}, nil},
		{"go proxy", map[string]string{"go.mod": "", ".envrc": "export TOKEN=x\nexport GOPROXY=https://goproxy.corp.example,direct\n"},
			"claude-go go.mod", []string{"go go.mod"}, []string{"goproxy.corp.example .envrc:2"}},
		{"cargo",
			map[string]string{"Cargo.toml": "", ".cargo/config.toml": "[registries.corp]\nindex = \"sparse+https://cargo.corp.example/\"\n"},
			"claude-rust Cargo.toml", []string{"rust Cargo.toml"}, []string{"cargo.corp.example .cargo/config.toml:2"}},
		{"gradle",
			map[string]string{
				"build.gradle": "plugins {}\nrepositories {\n maven { url 'https://maven.corp.example/a' }\n" +
					" maven { url = uri(\"https://two.example/\") }\n}\npublishing { pom { url.set('https://home.example') } }\n",
				"settings.gradle.kts": "maven(\"https://three.example/x\")\n"},
			"claude-java build.gradle", []string{"maven build.gradle", "gradle build.gradle"},
			[]string{"maven.corp.example build.gradle:3", "three.example settings.gradle.kts:1", "two.example build.gradle:4"}},
		{"nuget",
			map[string]string{"NuGet.Config": "<packageSources>\n<add key=\"corp\" value=\"https://nuget.corp.example/v3/index.json\" />\n"},
			"claude-dotnet NuGet.Config", []string{"nuget NuGet.Config"}, []string{"nuget.corp.example NuGet.Config:2"}},
		{"git",
			map[string]string{".git/config": "[remote \"origin\"]\n\turl = git@gitlab.com:a/b.git\n",
				".gitmodules": "[submodule \"x\"]\n\turl = https://token@git.corp.example/x\n[submodule \"y\"]\n\turl = ../y\n"},
			"", []string{"gitlab .git/config:2"}, []string{"git.corp.example .gitmodules:2"}},
		{"bitbucket", map[string]string{".git/config": "[remote \"origin\"]\n\turl = https://bitbucket.org/a/b.git\n"},
			"", []string{"bitbucket .git/config:2"}, nil},
		{"browsers",
			map[string]string{
				"package.json": "{\n\"puppeteer\": \"24\",\n\"@playwright/test\": \"1.50\",\n\"cypress\": \"15\",\n\"not-playwright-core\": \"1\"}"},
			"claude-node package.json", []string{"npm package.json", "playwright package.json:3"},
			[]string{"cdn.cypress.io package.json:4", "download.cypress.io package.json:4", "storage.googleapis.com package.json:2"}},
		{"browsers of python", map[string]string{"requirements.txt": "pytest-playwright>=0.5\n"},
			"claude-python requirements.txt", []string{"pypi requirements.txt", "playwright requirements.txt:1"}, nil},
		{"mcp",
			map[string]string{
				".mcp.json": "{\"mcpServers\": {\n\"a\": {\"command\": \"npx\", \"env\": {\"K\": \"https://not.example\"}},\n" +
					"\"b\": {\"url\": \"https://mcp.example/sse\"}}}"},
			"", []string{"npm .mcp.json:2"}, []string{"mcp.example .mcp.json:3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := look(t, project(t, tt.files))
			if got := strings.Join(flat([]detect.Proposal{r.Template}), ""); got != tt.template {
				t.Errorf("template %q, want %q", got, tt.template)
			}
			if got := flat(r.Presets); !slices.Equal(got, tt.presets) {
				t.Errorf("presets %q, want %q", got, tt.presets)
			}
			if got := flat(r.Hosts); !slices.Equal(got, tt.hosts) {
				t.Errorf("hosts %q, want %q", got, tt.hosts)
			}
			for _, secret := range []string{"s3cret", "pass", "token", "not.example"} {
				if strings.Contains(fmt.Sprint(r), secret) {
					t.Errorf("the report holds %q: %v", secret, r)
				}
			}
		})
	}
}

// TestHostileAddresses: what a file of the repository names must never become
// an entry that means something else, or a preset that it is no part of.
func TestHostileAddresses(t *testing.T) {
	for _, address := range []string{
		"https://*.evil.example/", "https://169.254.169.254/latest", "http://[fd00::1]:80/", "https://localhost:8080/",
		"https://10.0.0.1/", "https://2130706433/", "https://0x7f.1/", "https://evil.example:99999/", "file:///etc/passwd", "https://com/",
		"https://github.com@/", "https://a b.example/", "https://evil.example:443:22/", "https://%65vil.example%00/",
	} {
		r := look(t, project(t, map[string]string{".npmrc": "registry=" + address + "\n"}))
		if len(r.Hosts)+len(r.Presets) > 0 {
			t.Errorf("%s is proposed: %v %v", address, flat(r.Presets), flat(r.Hosts))
		}
	}
	for address, want := range map[string]string{
		"https://github.com.evil.example/": "github.com.evil.example .npmrc:1",
		"https://github.com@evil.example/": "evil.example .npmrc:1",
		"https://evil.example\",\"*.com/":  "evil.example .npmrc:1",
		"https://evil.example/github.com":  "evil.example .npmrc:1",
		"https://EVIL.example./":           "evil.example .npmrc:1",
		"https://api.sentry.io/":           "api.sentry.io .npmrc:1", // a preset, but none of packages
		"https://evil.example\\@npmjs.org": "",
	} {
		r := look(t, project(t, map[string]string{".npmrc": "registry=" + address + "\n"}))
		if got := strings.Join(flat(r.Hosts), ""); got != want || len(r.Presets) > 0 {
			t.Errorf("%s: hosts %q presets %v, want %q", address, got, flat(r.Presets), want)
		}
	}
}

// A name on the terminal must not move its cursor or add a line.
func TestFileNameCannotForgeOutput(t *testing.T) {
	name := "a\n\x1b[31mpresets: all"
	r := look(t, project(t, map[string]string{name + "/go.mod": ""}))
	if len(r.Presets) != 1 || strings.ContainsAny(r.Presets[0].Where(), "\n\x1b") {
		t.Errorf("%q", flat(r.Presets))
	}
}

// TestFloodOfAddresses: many must not hide the rest, or take long.
func TestFloodOfAddresses(t *testing.T) {
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "registry=https://h%d.example/\n", i)
	}
	r := look(t, project(t, map[string]string{".npmrc": b.String(), "go.mod": ""}))
	if len(r.Hosts) > 50 || r.Template.Value != "claude-go" {
		t.Errorf("%d hosts, template %q", len(r.Hosts), r.Template.Value)
	}
}

// BenchmarkLook is the bounded look at a repository of 100,000 files.
func BenchmarkLook(b *testing.B) {
	dir := project(b, map[string]string{"go.mod": "module x", "package.json": "{}", ".npmrc": "registry=https://npm.corp.example/"})
	for i := range 100 {
		folder := filepath.Join(dir, fmt.Sprintf("folder%d", i))
		if err := os.Mkdir(folder, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range 1000 {
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("f%d", j)), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ResetTimer()
	for b.Loop() {
		look(b, dir)
	}
}
