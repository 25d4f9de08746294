package firewall

import (
	"slices"
	"strings"
	"testing"
)

func TestPresetsAreUsable(t *testing.T) {
	for _, want := range []string{"anthropic", "claude-code", "github", "gitlab", "npm", "pypi", "go", "rust", "debian", "ubuntu",
		"docker", "vscode", "sentry",
		"bitbucket", "aws", "gcp", "azure", "maven", "gradle", "rubygems", "nuget", "alpine", "huggingface", "playwright"} {
		if _, ok := Preset(want); !ok {
			t.Errorf("no preset %s", want)
		}
	}
	if names := PresetNames(); !slices.IsSorted(names) {
		t.Errorf("not sorted: %v", names)
	}
	for _, name := range PresetNames() {
		p, errs := NewPolicy(Network{Presets: []string{name}})
		if errs != nil {
			t.Errorf("preset %s: %v", name, errs)
			continue
		}
		texts, _ := Preset(name)
		if _, errs := NewPolicy(Network{Allow: texts}); errs != nil {
			t.Errorf("preset %s as a list of its own: %v", name, errs)
		}
		for i := range p.allow.entries {
			for j := range p.allow.entries {
				a, b := &p.allow.entries[i], &p.allow.entries[j]
				shared := slices.ContainsFunc(b.ports, a.opens)
				if i != j && shared && a.contains(b) {
					t.Errorf("preset %s: %s covers %s", name, a.rule, b.rule)
				}
			}
		}
	}
}

// A preset names an ecosystem's domain, never one of its hosts: those change.
// A name without a wildcard must be the domain that a wildcard stands below,
// or a domain of its own, or be under one that holds everybody's hosts.
func TestPresetsSpellNoSingleHost(t *testing.T) {
	for _, name := range PresetNames() {
		texts, _ := Preset(name)
		for _, text := range texts {
			e, bad := parseEntry(text)
			if bad != nil {
				t.Fatalf("%s: %s", text, bad.message)
			}
			if e.prefix.IsValid() {
				t.Errorf("preset %s: %s is an address, and addresses change", name, text)
			}
			if e.wildcard || strings.Count(e.name, ".") == 1 || slices.Contains(texts, "*."+e.name) {
				continue
			}
			_, domain, _ := strings.Cut(e.name, ".")
			if _, shared := rentedBy(domain); !shared && domain != "microsoft.com" {
				t.Errorf("preset %s: %s is a single host", name, text)
			}
		}
	}
}

func TestPresetIsACopy(t *testing.T) {
	texts, _ := Preset("anthropic")
	texts[0] = "evil.example"
	if again, _ := Preset("anthropic"); again[0] == "evil.example" {
		t.Error("a caller can change a preset")
	}
}

func TestEveryPresetSaysWhereItIsFrom(t *testing.T) {
	for _, p := range Presets() {
		if !strings.Contains(p.Source, ".") {
			t.Errorf("preset %s has the source %q", p.Name, p.Source)
		}
		if strings.HasSuffix(p.Note, ".") || strings.Contains(p.Note+p.Source, "\n") {
			t.Errorf("preset %s: the note is no phrase of one line: %q", p.Name, p.Note)
		}
	}
}

// Attack: a host that anybody can rent, under a wildcard that a preset opens.
func TestAttackRentAHostUnderAPreset(t *testing.T) {
	var names []string
	for _, p := range Presets() {
		names = append(names, p.Name)
		for _, text := range p.Entries {
			e, bad := parseEntry(text)
			if bad != nil {
				t.Fatal(bad.message)
			}
			if domain, shared := rentedBy(e.name); e.wildcard && shared && domain != "githubusercontent.com" {
				t.Errorf("preset %s: under %s everybody can rent a host (%s)", p.Name, text, domain)
			}
		}
	}
	all, errs := NewPolicy(Network{Presets: names})
	if errs != nil {
		t.Fatal(errs)
	}
	for _, host := range []string{
		"evil.s3.amazonaws.com", "evil.s3.eu-west-1.amazonaws.com", "s3.amazonaws.com", "ec2-192-0-2-1.compute-1.amazonaws.com",
		"x.execute-api.us-east-1.amazonaws.com",
		"x.elb.amazonaws.com", "abc.lambda-url.us-east-1.on.aws", "d1.cloudfront.net",
		"evil.blob.core.windows.net", "evil.azurewebsites.net", "evil.azureedge.net", "evil.westeurope.cloudapp.azure.com",
		"evil.visualstudio.com", "dev.azure.com", "graph.microsoft.com",
		"storage.googleapis.com", "evil.storage.googleapis.com", "firestore.googleapis.com", "www.googleapis.com", "x.run.app",
		"evil.appspot.com", "evil.web.app", "us-docker.pkg.dev",
		"evil.github.io", "evil.gitlab.io", "evil.bitbucket.io", "evil.hf.space", "evil.deno.dev", "evil.pages.dev",
		"x.workers.dev", "evil.r2.dev",
		"x.r2.cloudflarestorage.com", "evil.vercel.app", "evil.netlify.app", "evil.ngrok.io", "evil.trycloudflare.com", "webhook.site",
		"pastebin.com", "transfer.sh",
	} {
		if d := all.DecideName(host); d.Allowed() {
			t.Errorf("%s is open by %s", host, d.Rule)
		}
	}
}
