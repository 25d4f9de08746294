package doctor

import (
	"errors"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
)

// healthy is a machine that lacks nothing.
func healthy() Facts {
	return Facts{
		System: "linux", FirewallTried: true, Git: "git version 2.39.5", KeySource: "ANTHROPIC_API_KEY",
		Engine:   &engine.Description{Name: "Docker", Version: "20.10", API: "1.41", Address: "unix:///s", OS: "linux", Memory: 8 << 30, CPUs: 4},
		Folders:  []Folder{{Holds: "runs", Path: "/state", Free: 50 << 30}},
		Programs: map[string]string{"code": "/usr/bin/code"},
		Settings: []Source{{Check: "settings", Found: "settings.jsonc can be used", Grave: Missing}},
	}
}

func TestAHealthyMachineIsReady(t *testing.T) {
	for _, f := range Judge(healthy()) {
		if f.Status != OK || f.Hint != "" || f.Found == "" {
			t.Errorf("%+v", f)
		}
	}
}

// Each fact that is wrong is one finding, with the thing to do.
func TestFindings(t *testing.T) {
	down := diag.WithHint(errors.New("no container engine answers"), "start it with 'sudo systemctl start docker'")
	for _, c := range []struct {
		name   string
		change func(*Facts)
		check  string
		status Status
		hint   string
	}{
		{"no engine", func(f *Facts) { f.Engine, f.EngineErr = nil, down }, "engine", Missing, "sudo systemctl start docker"},
		{"no engine in a container", func(f *Facts) { f.Engine, f.EngineErr, f.Container = nil, down, "Docker" }, "engine",
			Missing, "on its machine"},
		{"no engine in CI", func(f *Facts) { f.Engine, f.EngineErr, f.CI = nil, down, true }, "engine", Missing, "runs-on: ubuntu-latest"},
		{"a job in a container", func(f *Facts) { f.Engine, f.EngineErr, f.CI, f.Container = nil, down, true, "Docker" }, "engine",
			Missing, "'container:'"},
		{"Windows containers", func(f *Facts) { f.Engine.OS = "windows" }, "engine", Missing, "Linux containers"},
		{"an old engine", func(f *Facts) { f.Engine.API = "1.39" }, "engine", Missing, "19.03"},
		{"a Podman of another user", func(f *Facts) { f.Engine.Unfit = "it is of user 7" }, "engine", Missing, "of user 7"},
		{"Docker without root", func(f *Facts) { f.Engine.Rootless = true }, "engine", Warning, "a clone of your last commit"},
		{"another machine's", func(f *Facts) { f.Engine.Remote = true }, "engine", Note, "a clone of your last commit"},
		{"no netfilter", func(f *Facts) { f.FirewallErr = errors.New("no chain") }, "firewall", Missing, "sudo modprobe -a ip_tables"},
		{"not tried", func(f *Facts) { f.FirewallTried = false }, "firewall", Note, "the first run builds it"},
		{"no limits", func(f *Facts) { f.Engine.Lacks = []string{"memory", "pids"} }, "limits", Warning, "delegate"},
		{"little memory", func(f *Facts) { f.Engine.Memory = 1 << 30 }, "memory", Warning, "2 GiB"},
		{"no key", func(f *Facts) { f.KeyErr = diag.WithHint(errors.New("no key"), "sbx-devc login") }, "key", Missing, "sbx-devc login"},
		{"no key in CI", func(f *Facts) { f.KeyErr, f.CI = errors.New("no key"), true }, "key", Missing, "secrets.ANTHROPIC_API_KEY"},
		{"no git", func(f *Facts) { f.Git = "" }, "git", Warning, "apt-get install git"},
		{"no git on a Mac", func(f *Facts) { f.Git, f.System = "", "darwin" }, "git", Warning, "xcode-select"},
		{"an old git", func(f *Facts) { f.Git = "git version 2.17.1" }, "git", Warning, "apt-get install git"},
		{"a closed folder", func(f *Facts) { f.Folders[0].Err = diag.WithHint(errors.New("closed"), "chown it") },
			"folders", Missing, "chown it"},
		{"a full disk", func(f *Facts) { f.Folders[0].Free = 1 << 20 }, "disk", Missing, "sbx-devc clean"},
		{"a small disk", func(f *Facts) { f.Folders[0].Free = 1 << 30 }, "disk", Warning, "sbx-devc clean"},
		{"a missing bundle", func(f *Facts) { f.Bundles = []Bundle{{"SSL_CERT_FILE", errors.New("gone")}} }, "certificates",
			Missing, "unset SSL_CERT_FILE"},
		{"wrong settings", func(f *Facts) { f.Settings[0].Err = diag.WithHint(errors.New("typo"), "settings check") }, "settings",
			Missing, "settings check"},
		{"a wrong profile", func(f *Facts) { f.Settings = []Source{{Check: "profiles", Err: down, Grave: Warning}} },
			"profiles", Warning, "start it"},
		{"no editor", func(f *Facts) { f.Programs = nil }, "editor", Note, "@devcontainers/cli"},
	} {
		f := healthy()
		c.change(&f)
		found := false
		findings := Judge(f)
		for _, got := range findings {
			if got.Status == OK {
				continue
			}
			found = true
			if got.Check != c.check || got.Status != c.status || !strings.Contains(got.Hint, c.hint) {
				t.Errorf("%s: %+v", c.name, got)
			}
		}
		if !found || Ready(findings) != (c.status != Missing) {
			t.Errorf("%s: found %v, ready %v", c.name, found, Ready(findings))
		}
	}
}
