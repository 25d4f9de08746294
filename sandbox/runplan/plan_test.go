package runplan

import (
	"archive/tar"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/workspacetest"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/workspace"
)

// plan is the plan of a run with these options.
func plan(t *testing.T, o Options, w *workspace.Workspace) *Plan {
	t.Helper()
	o.ID, o.Image = "test", "image:1"
	p, err := New(o, Facts{Workspace: w})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTheAgentsContainerHasNoWayUp(t *testing.T) {
	p := plan(t, Options{}, workspacetest.Folder(t))
	a := p.Agent
	if !slices.Equal(a.CapDrop, []string{"ALL"}) || a.CapAdd != nil {
		t.Errorf("capabilities: drop %q, add %q", a.CapDrop, a.CapAdd)
	}
	if !slices.Contains(a.SecurityOpt, "no-new-privileges") || !a.ReadOnlyRoot {
		t.Errorf("the agent's container is %+v", a)
	}
	// Its first process is ours, and comes from the firewall's container.
	if want := []string{AgentInit, "reap", "--lifeline", "--mounts", "--", DefaultClaudePath}; !slices.Equal(a.Entrypoint[:6], want) ||
		!slices.Contains(p.Sidecar.Volumes, InitFolder) || a.Volumes != nil {
		t.Errorf("it begins with %q; volumes %q and %q", a.Entrypoint, p.Sidecar.Volumes, a.Volumes)
	}
	if a.User != "4242:4243" || a.Pids != 1024 {
		t.Errorf("user %q, pids %d", a.User, a.Pids)
	}
	for _, m := range a.Mounts {
		if strings.HasSuffix(m.Source, ".sock") {
			t.Errorf("a socket is mounted: %+v", m)
		}
	}
	if p.Sidecar.User != "0:0" || !slices.Equal(p.Sidecar.CapDrop, []string{"ALL"}) || len(p.Sidecar.Mounts) != 0 {
		t.Errorf("the firewall's container is %+v", p.Sidecar)
	}
}

// Attack: a second mount shows the agent the project's hooks, or the folder that
// the project is in, without what protects it.
func TestNoMountShowsOnceMoreWhatIsProtected(t *testing.T) {
	w := workspacetest.Folder(t, ".git/HEAD", "cache/", ".git/hooks/pre-commit")
	around := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Dir(w.Dir), around); err != nil {
		t.Fatal(err)
	}
	for host, refused := range map[string]bool{
		"..": true, "../.git": true, "../.git/hooks": true, "../.git/hooks/pre-commit": true, filepath.Dir(w.Dir): true, around: true,
		"../cache": false, "../missing": false, t.TempDir(): false,
	} {
		for _, readOnly := range []bool{false, true} {
			o := Options{ID: "test", Containers: Containers{Image: "image:1"},
				Layers: Layers{User: settings.Settings{Mounts: []settings.Mount{{Host: host, Container: "/elsewhere", ReadOnly: readOnly}}}}}
			if _, err := New(o, Facts{Workspace: w}); errors.Is(err, workspace.ErrRefused) != (refused && !readOnly) {
				t.Errorf("%s, read-only %t: got %v", host, readOnly, err)
			}
		}
	}
}

// A run knows which folders the agent may write in addition to the one that it works in.
func TestWritableMountsAreOutside(t *testing.T) {
	w, outside := workspacetest.Folder(t, "cache/"), workspacetest.Folder(t).Dir
	for _, c := range []struct {
		mode     string
		host     string
		readOnly bool
		want     []string
	}{
		{"bind", outside, false, []string{outside}}, {"bind", outside, true, nil}, {"bind", filepath.Join(w.Dir, "cache"), false, nil},
		{"ro", outside, false, []string{outside}}, {"none", outside, false, []string{outside}},
	} {
		o := Options{
			ID:         "test",
			Containers: Containers{Image: "image:1"},
			Layers: Layers{User: settings.Settings{Workspace: settings.Workspace{Mode: c.mode},
				Mounts: []settings.Mount{{Host: c.host, Container: "/elsewhere", ReadOnly: c.readOnly}}}},
		}
		p, err := New(o, Facts{Workspace: w})
		if err != nil || !slices.Equal(p.Outside(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestTheFirewallNeverRunsInAnImageOfTheProject: whoever names the sidecar's
// image owns the network.
func TestTheFirewallNeverRunsInAnImageOfTheProject(t *testing.T) {
	project := &settings.Settings{Image: "project:evil"}
	for _, user := range []settings.Settings{{}, {Image: "user:1"}} {
		p := plan(t,
			Options{Layers: Layers{Project: project, TrustProject: true, User: user}, Containers: Containers{FirewallImage: "firewall:1"}},
			workspacetest.Folder(t))
		if want := cmp.Or(user.Image, "project:evil"); p.Agent.Image != want || p.Sidecar.Image != "firewall:1" {
			t.Errorf("agent in %q, want %q; firewall in %q", p.Agent.Image, want, p.Sidecar.Image)
		}
	}
}

// The volume with Claude Code is read-only, and last on the agent's PATH.
func TestClaudeCodeOfAVolume(t *testing.T) {
	p := plan(t, Options{Layers: Layers{User: settings.Settings{Env: map[string]string{"PATH": "/own/bin"}}}}, workspacetest.Folder(t))
	p.MountClaude("the-volume", "/image/bin")
	if want := (engine.Mount{Named: "the-volume", Target: "/.sbx-program", ReadOnly: true}); p.Agent.Mounts[len(p.Agent.Mounts)-1] != want {
		t.Errorf("mounts %+v", p.Agent.Mounts)
	}
	if p.Agent.Entrypoint[5] != "/.sbx-program/claude" || !slices.Contains(p.Agent.Env, "PATH=/own/bin:/.sbx-program") {
		t.Errorf("it starts %q with %q", p.Agent.Entrypoint, p.Agent.Env)
	}
	p = plan(t, Options{}, workspacetest.Folder(t))
	if p.MountClaude("the-volume", "/image/bin"); !slices.Contains(p.Agent.Env, "PATH=/image/bin:/.sbx-program") {
		t.Errorf("its variables are %q", p.Agent.Env)
	}
}

func TestOnlyChosenVariablesEnter(t *testing.T) {
	p := plan(t, Options{
		Layers: Layers{User: settings.Settings{EnvPrefixes: []string{"MY_", "CLAUDE_", "ANTHROPIC_"},
			Env: map[string]string{"NODE_ENV": "test"}}},
		Environment: Environment{Environ: []string{
			"PATH=/host/bin", "MY_VALUE=v1", "OTHER=v2", "AWS_SECRET_ACCESS_KEY=v3",
			"ANTHROPIC_API_KEY=canary", "ANTHROPIC_AUTH_TOKEN=canary", "CLAUDE_CODE_OAUTH_TOKEN=canary", "ANTHROPIC_BASE_URL=http://evil",
		}},
	}, workspacetest.Folder(t))
	env := strings.Join(slices.Concat(p.Agent.Env, p.variables), "\n") + "\n"
	for _, want := range []string{"MY_VALUE=v1\n", "NODE_ENV=test\n", "ANTHROPIC_BASE_URL=http://127.0.0.1:8790\n", "HOME=/home/agent\n"} {
		if !strings.Contains(env, want) {
			t.Errorf("the environment lacks %q:\n%s", want, env)
		}
	}
	for _, leak := range []string{"canary", "v2", "v3", "/host/bin", "evil"} {
		if strings.Contains(env, leak) {
			t.Errorf("%q entered the environment:\n%s", leak, env)
		}
	}
	if text := p.String(); strings.Contains(text, "v1") || !strings.Contains(text, `"MY_VALUE"`) {
		t.Errorf("the printed plan shows a passed value:\n%s", text)
	}
	if !json.Valid([]byte(p.String())) {
		t.Error("the printed plan is not JSON")
	}
}

func TestAVariableOfOursCannotBeReplaced(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST", "HOME"} {
		project := &settings.Settings{Env: map[string]string{name: "http://evil"}}
		_, err := New(Options{Layers: Layers{Project: project, TrustProject: true}}, Facts{Workspace: workspacetest.Folder(t)})
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want ErrConfig", name, err)
		}
	}
}

func TestThePromptIsNoArgument(t *testing.T) {
	p := plan(t, Options{Claude: Claude{Headless: agent.Headless{Model: "m"}}}, workspacetest.Folder(t))
	if p.Agent.Entrypoint[5] != DefaultClaudePath || !slices.Contains(p.Agent.Entrypoint, "--model") || !p.Agent.Stdin {
		t.Errorf("the agent runs %q", p.Agent.Entrypoint)
	}
}

// TestSymlinkedDevcontainerMountsNothingOfTheHost: the engine follows links on
// the host, so a repository could have any folder mounted into its sandbox.
func TestSymlinkedDevcontainerMountsNothingOfTheHost(t *testing.T) {
	for _, entries := range [][]string{
		{".devcontainer -> /etc"},
		{".git -> /root"},
		{".claude -> .."},
		{".vscode -> does-not-exist"},
	} {
		_, err := New(Options{}, Facts{Workspace: workspacetest.Folder(t, entries...)})
		if !errors.Is(err, workspace.ErrRefused) || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("%q: got %v, want ErrRefused", entries, err)
		}
	}
	// In a git directory nothing of the host's is shown that is a link.
	for _, link := range []string{".git/hooks -> /root/.ssh", ".git/config -> /etc/shadow", ".git/objects -> /root/.ssh",
		".git/refs/heads/x -> /etc/shadow", ".git/modules/x -> /root"} {
		w := workspacetest.Folder(t, ".git/HEAD", ".git/refs/", link)
		if !strings.Contains(link, "objects") {
			w = workspacetest.Folder(t, ".git/HEAD", ".git/refs/", ".git/objects/", link)
		}
		p := plan(t, Options{}, w)
		for _, m := range p.Agent.Mounts {
			if rel, err := filepath.Rel(w.Dir, m.Source); m.Source != "" && (err != nil || !filepath.IsLocal(rel) || strings.HasSuffix(link, rel)) {
				t.Errorf("%s: %s is mounted at %s", link, m.Source, m.Target)
			}
		}
		var filled strings.Builder
		if err := p.Project.Git.Fill(tar.NewWriter(&filled), p.Place.Owner); err != nil || strings.Contains(filled.String(), "root:") {
			t.Errorf("%s: %v, %s", link, err, filled.String())
		}
	}
	w, err := workspace.Inspect(workspacetest.Folder(t, "sub -> /etc").Dir, []string{"sub/passwd"})
	if err != nil {
		t.Fatal(err)
	}
	user := settings.Settings{Workspace: settings.Workspace{Protect: []string{"sub/passwd"}}}
	if _, err := New(Options{Layers: Layers{User: user}}, Facts{Workspace: w}); !errors.Is(err, workspace.ErrRefused) {
		t.Errorf("a link on the way to a listed path: got %v, want ErrRefused", err)
	}
}

func TestProtectedPathsAndTheirParentsAreMountPoints(t *testing.T) {
	w := workspacetest.Folder(t, ".git/hooks/pre-commit", ".git/config", ".devcontainer/devcontainer.json", "lib/.git/HEAD")
	p := plan(t,
		Options{Layers: Layers{User: settings.Settings{Workspace: settings.Workspace{Protect: []string{"infra/prod/deploy.sh", ".git"}}}}}, w)
	modes := map[string]bool{}
	for _, m := range p.Agent.Mounts {
		modes[m.Target] = m.ReadOnly
		if rel, err := filepath.Rel(w.Dir, m.Source); m.Source != "" &&
			(err != nil || "/workspace/"+filepath.ToSlash(rel) != m.Target && m.Target != "/workspace") {
			t.Errorf("%s is mounted at %s", m.Source, m.Target)
		}
	}
	for target, readOnly := range map[string]bool{
		"/workspace": false, "/workspace/lib": false, "/workspace/lib/.git": false,
		"/workspace/.devcontainer": true, "/workspace/.vscode": true, "/workspace/.claude": true, "/workspace/.idea": true,
		"/workspace/.husky": true,
		"/workspace/infra":  false, "/workspace/infra/prod": false, "/workspace/infra/prod/deploy.sh": true,
		"/workspace/.git": false, // listed, too: the agent's own
	} {
		if got, ok := modes[target]; !ok || got != readOnly {
			t.Errorf("%s: mounted %t, read-only %t, want read-only %t", target, ok, got, readOnly)
		}
	}
	for _, target := range []string{"/workspace/.git", "/workspace/lib/.git"} {
		if at := slices.IndexFunc(p.Agent.Mounts, func(m engine.Mount) bool { return m.Target == target }); at < 0 ||
			p.Agent.Mounts[at].Volume == "" {
			t.Errorf("%s is not the agent's own", target)
		}
	}
	for _, h := range p.Project.Placeholders {
		if strings.HasPrefix(h.Path, filepath.Join(w.Dir, ".git", "hooks")) ||
			strings.HasPrefix(h.Path, filepath.Join(w.Dir, ".devcontainer")+string(filepath.Separator)) {
			t.Errorf("%s exists and needs no placeholder", h.Path)
		}
	}
}

// TestGitFileIsProtected: in a worktree .git is a file that says where the
// repository is.
func TestGitFileIsProtected(t *testing.T) {
	p := plan(t, Options{}, workspacetest.Folder(t, ".git"))
	at := slices.IndexFunc(p.Agent.Mounts, func(m engine.Mount) bool { return m.Target == "/workspace/.git" })
	if at < 0 || !p.Agent.Mounts[at].ReadOnly {
		t.Errorf("the mounts are %+v", p.Agent.Mounts)
	}
	for _, m := range p.Agent.Mounts {
		if strings.HasPrefix(m.Target, "/workspace/.git/") {
			t.Errorf("%s lies below a file", m.Target)
		}
	}
}

func TestPlaceholdersLeaveNothingBehind(t *testing.T) {
	w := workspacetest.Folder(t, "main.go", ".claude/notes.md")
	p := plan(t, Options{}, w)
	placed, err := workspace.Place(w.Dir, p.Project.Placeholders, os.Getuid(), os.Getgid())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range p.Project.List { // the run writes the others' sources
		if _, err := os.Lstat(m.Source); m.Volume == "" && err != nil {
			t.Errorf("a mount's source is missing: %v", err)
		}
	}
	// A file that somebody put there meanwhile stays.
	if err := os.WriteFile(filepath.Join(w.Dir, ".vscode", "settings.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	placed.Remove()
	var left []string
	err = filepath.WalkDir(w.Dir, func(file string, d os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(w.Dir, file); err == nil && !d.IsDir() {
			left = append(left, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{".claude/notes.md", ".vscode/settings.json", "main.go"}; !slices.Equal(left, want) {
		t.Errorf("left behind: %q, want %q", left, want)
	}
	for _, gone := range []string{".git", ".devcontainer", ".devcontainer.json"} {
		if _, err := os.Lstat(filepath.Join(w.Dir, gone)); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", gone, err)
		}
	}
}

func TestFoldersThatAreMoreThanAProjectAreRefused(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{"/", home, filepath.Dir(home), "/run", "/var"} {
		w := &workspace.Workspace{Dir: dir, Home: home, UID: 1, GID: 1}
		_, err := New(Options{}, Facts{Workspace: w})
		if !errors.Is(err, workspace.ErrRefused) || diag.HintOf(err) == "" {
			t.Errorf("%s: got %v, want ErrRefused with a hint", dir, err)
		}
	}
	project := workspacetest.Folder(t)
	project.Home = filepath.Dir(filepath.Dir(project.Dir))
	if _, err := New(Options{}, Facts{Workspace: project}); err != nil {
		t.Errorf("a project below the home folder: %v", err)
	}
}

func TestARootOwnedFolderIsNotWorkedInAsRoot(t *testing.T) {
	w := workspacetest.Folder(t, ".git/config")
	w.UID, w.GID, w.Writable = 0, 0, false
	err := plan(t, Options{}, w).Closed()
	if !errors.Is(err, workspace.ErrRefused) || !strings.Contains(diag.HintOf(err), "chown -R 1000:1000") {
		t.Errorf("%v, hint %q", err, diag.HintOf(err))
	}
	p := plan(t, Options{Folders: Folders{AcceptReadOnly: true}}, w)
	if p.Closed() != nil || p.Agent.User != "1000:1000" || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "belongs to root") {
		t.Errorf("user %q, warnings %q, %v", p.Agent.User, p.Warnings, p.Closed())
	}
	if err := plan(t, Options{Layers: Layers{InputsNotFlags: true}}, w).Closed(); err == nil ||
		strings.Contains(diag.HintOf(err), "--accept") {
		t.Errorf("in the Action: hint %q", diag.HintOf(err))
	}
	w.ReadOnly = true
	if err := plan(t, Options{}, w).Closed(); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("a read-only file system: %v", err)
	}
}

func TestWhatRunDoesNotDoIsRefusedAloud(t *testing.T) {
	for name, user := range map[string]settings.Settings{
		"topology": {Topology: settings.TopologySingle},
		"memory":   {Limits: settings.Limits{Memory: 1 << 20}},
		"pids":     {Limits: settings.Limits{PIDs: 2}},
	} {
		_, err := New(Options{Layers: Layers{User: user}}, Facts{Workspace: workspacetest.Folder(t)})
		if !errors.Is(err, ErrConfig) || diag.HintOf(err) == "" {
			t.Errorf("%s: got %v, want ErrConfig with a hint", name, err)
		}
	}
}

// Attack: a file, or a variable of the environment, takes the firewall away.
func TestNoFirewallTakesTheUsersWordTwice(t *testing.T) {
	host := network(firewall.Network{Mode: firewall.ModeHost})
	for name, o := range map[string]Options{
		"the project's file":           {Layers: Layers{Project: &host}},
		"the project's file, trusted":  {Layers: Layers{Project: &host, TrustProject: true}},
		"trusted and accepted":         {Layers: Layers{Project: &host, TrustProject: true}, Containers: Containers{AcceptNoFirewall: true}},
		"the mode alone":               {Layers: Layers{User: host}},
		"the mode and a trusted file":  {Layers: Layers{User: host, Project: &host, TrustProject: true}},
		"accepted, the file asks only": {Layers: Layers{Project: &host}, Containers: Containers{AcceptNoFirewall: true}},
	} {
		if _, err := New(o, Facts{Workspace: workspacetest.Folder(t)}); !errors.Is(err, workspace.ErrRefused) ||
			!strings.Contains(diag.HintOf(err), hostFlags) {
			t.Errorf("%s: got %v, want ErrRefused and the flags", name, err)
		}
	}
	p := plan(t, Options{Layers: Layers{User: host}, Containers: Containers{AcceptNoFirewall: true}}, workspacetest.Folder(t))
	if len(p.Warnings) == 0 || !strings.Contains(p.Warnings[0], "NO FIREWALL") || p.Sidecar.Network != "bridge" {
		t.Errorf("network %q, warnings %q", p.Sidecar.Network, p.Warnings)
	}
}

func TestModeAuditIsSaidAloud(t *testing.T) {
	inputs := Layers{User: network(firewall.Network{Mode: firewall.ModeAudit}), InputsNotFlags: true}
	if p := plan(t, Options{Layers: inputs}, workspacetest.Folder(t)); len(p.Warnings) == 0 ||
		!strings.HasPrefix(p.Warnings[0], "egress audit: ") {
		t.Errorf("the Action, whose input is egress, warns: %q", p.Warnings)
	}
	p := plan(t, Options{Layers: Layers{User: network(firewall.Network{Mode: firewall.ModeAudit})}}, workspacetest.Folder(t))
	if len(p.Warnings) == 0 || !strings.Contains(p.Warnings[0], "mode audit") {
		t.Errorf("warnings %q", p.Warnings)
	}
}

// Somebody who asks for audit and gets allowlist would take an empty proposal
// of "policy learn" for the whole truth.
// With the provider open, a key in a text that the agent reads leads past the proxy.
func TestAnOpenProviderIsSaidAloud(t *testing.T) {
	for name, c := range map[string]struct {
		network firewall.Network
		want    string
	}{
		"a preset":       {firewall.Network{Presets: []string{"anthropic"}}, "api.anthropic.com is open (preset:anthropic"},
		"another preset": {firewall.Network{Presets: []string{"claude-code"}}, "api.anthropic.com is open (preset:claude-code"},
		"an entry":       {firewall.Network{Allow: []string{"*.anthropic.com"}}, "api.anthropic.com is open (*.anthropic.com)"},
		"denied":         {firewall.Network{Presets: []string{"anthropic"}, Deny: []string{"api.anthropic.com"}}, ""},
		"closed":         {firewall.Network{Presets: []string{"npm"}}, ""},
	} {
		said := strings.Join(plan(t, Options{Layers: Layers{User: settings.Settings{Network: c.network}}},
			workspacetest.Folder(t)).Warnings, "\n")
		if !strings.Contains(said, c.want) || (c.want == "") == strings.Contains(said, "anthropic") {
			t.Errorf("%s: warnings %q, want %q", name, said, c.want)
		}
	}
}

func TestModeThatTheProjectNarrowsIsSaidAloud(t *testing.T) {
	project := network(firewall.Network{Mode: firewall.ModeAllowlist})
	o := Options{Layers: Layers{User: network(firewall.Network{Mode: firewall.ModeAudit}), Project: &project}}
	p := plan(t, o, workspacetest.Folder(t))
	if p.Network.Mode != firewall.ModeAllowlist || len(p.Warnings) == 0 || !strings.Contains(p.Warnings[0], "audit was asked for") {
		t.Errorf("mode %s, warnings %q", p.Network.Mode, p.Warnings)
	}
	o.TrustProject = true // as the warning says
	if p := plan(t, o, workspacetest.Folder(t)); p.Network.Mode != firewall.ModeAudit ||
		strings.Contains(strings.Join(p.Warnings, " "), "asked for") {
		t.Errorf("trusted: mode %s, warnings %q", p.Network.Mode, p.Warnings)
	}
}

func TestNetworkNoneHasNoNetwork(t *testing.T) {
	p := plan(t, Options{Layers: Layers{User: settings.Settings{Network: firewall.Network{Mode: firewall.ModeNone}}}}, workspacetest.Folder(t))
	if p.Sidecar.Network != "none" {
		t.Errorf("the sidecar's network is %q", p.Sidecar.Network)
	}
}

// Attack: a network's name that is this machine's own network, or a container's, for the
// container with NET_ADMIN: its rules would close that one.
func TestAttackTheFirewallsRulesInAnotherNetwork(t *testing.T) {
	for _, name := range []string{"host", "none", "container:abc", "ns:/run/netns/x"} {
		_, err := New(Options{ID: "test", Containers: Containers{Image: "image:1", EngineNetwork: name}},
			Facts{Workspace: workspacetest.Folder(t)})
		if !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p := plan(t, Options{Containers: Containers{EngineNetwork: "app_default"}},
		workspacetest.Folder(t)); p.Sidecar.Link.Network != "app_default" {
		t.Errorf("it is in %q", p.Sidecar.Link.Network)
	}
}

func TestTrustedMountsAreResolved(t *testing.T) {
	w := workspacetest.Folder(t, ".devcontainer/data/")
	var err error
	if w.Home, err = filepath.EvalSymlinks(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(w.Home, ".cache", "go-build"), 0o755); err != nil {
		t.Fatal(err)
	}
	project := &settings.Settings{Mounts: []settings.Mount{
		{Host: "~/.cache/go-build", Container: "/cache"}, {Host: "data", Container: "/data", ReadOnly: true},
	}}
	p := plan(t, Options{Layers: Layers{Project: project, TrustProject: true}}, w)
	for _, want := range []engine.Mount{
		{Source: filepath.Join(w.Home, ".cache", "go-build"), Target: "/cache"},
		{Source: filepath.Join(w.Dir, ".devcontainer", "data"), Target: "/data", ReadOnly: true},
	} {
		if !slices.Contains(p.Agent.Mounts, want) {
			t.Errorf("%+v is not among %+v", want, p.Agent.Mounts)
		}
	}
}

// TestTheEnginesSocketIsNeverMounted, not even by a file that somebody trusts.
func TestTheEnginesSocketIsNeverMounted(t *testing.T) {
	for _, host := range []string{"/var/run/docker.sock", "/var/run", "/run/../var/run/", "/", "/run/podman",
		"/home/me/.docker/run/docker.sock"} {
		project := &settings.Settings{Mounts: []settings.Mount{{Host: host, Container: "/x"}}}
		_, err := New(Options{Layers: Layers{Project: project, TrustProject: true}}, Facts{Workspace: workspacetest.Folder(t)})
		if !errors.Is(err, workspace.ErrRefused) {
			t.Errorf("%s: got %v, want ErrRefused", host, err)
		}
	}
}
