package doctor

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
)

// Status is how much a finding matters.
type Status string

// The kinds of findings, from the one that hinders every run.
const (
	Missing Status = "missing" // no run works
	Warning Status = "warning" // runs work, and something is less than it should be
	Note    Status = "note"    // only some people need it
	OK      Status = "ok"
)

// Finding is what a check found.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Found  string `json:"found"`
	Hint   string `json:"hint,omitempty"` // the exact thing to do; a command where one does it
}

// Ready reports whether runs work: nothing is missing.
func Ready(findings []Finding) bool {
	return !slices.ContainsFunc(findings, func(f Finding) bool { return f.Status == Missing })
}

// checks is the table. Each returns one finding, whose Check is filled in here.
var checks = []struct {
	name string
	of   func(Facts) Finding
}{
	{"engine", checkEngine},
	{"firewall", checkFirewall},
	{"limits", checkLimits},
	{"memory", checkMemory},
	{"key", checkKey},
	{"git", checkGit},
	{"folders", checkFolders},
	{"disk", checkDisk},
	{"certificates", checkCertificates},
	{"proxy", checkProxy},
	{"editor", checkEditor},
}

// Judge returns one finding for each check that has something to say, in the order of
// the table, and then one for each source of settings.
func Judge(f Facts) (findings []Finding) {
	for _, c := range checks {
		if found := c.of(f); found.Status != "" {
			found.Check = c.name
			findings = append(findings, found)
		}
	}
	for _, s := range f.Settings {
		found := ok("%s", s.Found)
		if s.Err != nil {
			found = Finding{Status: s.Grave, Found: s.Err.Error(), Hint: diag.HintOf(s.Err)}
		}
		found.Check = s.Check
		findings = append(findings, found)
	}
	return findings
}

func ok(format string, args ...any) Finding {
	return Finding{Status: OK, Found: fmt.Sprintf(format, args...)}
}

func missing(err error) Finding {
	return Finding{Status: Missing, Found: err.Error(), Hint: diag.HintOf(err)}
}

func checkEngine(f Facts) Finding {
	if f.Engine == nil {
		found := missing(f.EngineErr)
		switch {
		case f.CI && f.Container != "":
			found.Hint = "this job runs in a container: leave 'container:' out, so that it runs on the runner, which has Docker"
		case f.Container != "":
			found.Hint = "this is a container: run sbx-devc on its machine; an engine's socket in here would make everybody in it " +
				"root of that machine"
		case f.CI && f.System == "linux":
			found.Hint = "use a runner that has Docker, such as 'runs-on: ubuntu-latest'; on your own one: " + found.Hint
		}
		return found
	}
	e := f.Engine
	words := []string{"API " + e.API}
	if e.Storage != "" {
		words = append(words, e.Storage)
	}
	if e.Cgroup != "" {
		words = append(words, "control groups "+e.Cgroup)
	}
	if e.Rootless {
		words = append(words, "rootless")
	}
	for _, s := range []string{"selinux", "apparmor", "userns"} {
		if slices.Contains(e.Security, s) {
			words = append(words, s)
		}
	}
	found := ok("%s %s at %s (%s)", e.Name, e.Version, e.Address, strings.Join(words, ", "))
	switch {
	case e.OS != "linux":
		found.Status, found.Hint = Missing, "its containers are of "+e.OS+": switch Docker Desktop to Linux containers"
	case olderAPI(e.API):
		found.Status, found.Hint = Missing, "it is too old: Docker 19.03 or Podman 4.3 is the least"
	case e.Unfit != "":
		found.Status, found.Hint = Missing, e.Unfit
	case e.Rootless && e.Name == "Docker":
		found.Status = Warning
		found.Hint = "in its containers your files are root's, and the agent is not root: runs have a clone of your last commit, or work with " +
			"--workspace copy, ro or none; " +
			"your own Podman lets the agent write in the folder itself (systemctl --user start podman.socket)"
	case e.Remote:
		found.Status = Note
		found.Hint = "it is on another machine: runs have a clone of your last commit there, or work with --workspace copy or none"
	}
	return found
}

// leastAPI is the oldest minor version 1.x of the API that internal/engine speaks.
const leastAPI = 40

func olderAPI(version string) bool {
	minor, err := strconv.Atoi(strings.TrimPrefix(version, "1."))
	return err == nil && minor < leastAPI
}

func checkFirewall(f Facts) Finding {
	switch {
	case f.Engine == nil:
		return Finding{}
	case f.FirewallErr != nil:
		found := missing(fmt.Errorf("the firewall does not stand in a container: %w", f.FirewallErr))
		if found.Hint == "" {
			found.Hint = "the engine's kernel must have netfilter and ipset: sudo modprobe -a ip_tables ip6_tables ip_set ip_set_hash_net xt_set " +
				"xt_owner nf_conntrack"
		}
		return found
	case !f.FirewallTried:
		return Finding{Status: Note, Found: "not tried: its image is not built yet",
			Hint: "the first run builds it; sbx-devc doctor tries it then"}
	}
	return ok("it closes, opens and verifies in a container")
}

func checkLimits(f Facts) Finding {
	switch {
	case f.Engine == nil:
		return Finding{}
	case len(f.Engine.Lacks) > 0:
		return Finding{Status: Warning, Found: "the engine cannot limit " + strings.Join(f.Engine.Lacks, ", "),
			Hint: "delegate these controllers to the engine (control groups 2 with systemd), or watch what an agent takes"}
	}
	return ok("memory, processors and processes can be limited")
}

// leastEngineMemory is what an agent and its firewall work with, in bytes.
const leastEngineMemory = 2 << 30

func checkMemory(f Facts) Finding {
	switch {
	case f.Engine == nil || f.Engine.Memory == 0:
		return Finding{}
	case f.Engine.Memory < leastEngineMemory:
		found := fmt.Sprintf("the engine's machine has %s and %d processors", size(uint64(f.Engine.Memory)), f.Engine.CPUs)
		return Finding{Status: Warning, Found: found,
			Hint: "Claude Code and its firewall want 2 GiB: give the engine's machine more (Docker Desktop: Settings, Resources)"}
	}
	return ok("the engine's machine has %s and %d processors", size(uint64(f.Engine.Memory)), f.Engine.CPUs)
}

func checkKey(f Facts) Finding {
	if f.KeyErr == nil {
		return ok("a key of the model API is in %s", f.KeySource)
	}
	found := missing(f.KeyErr)
	if f.CI {
		found.Hint = "give the job a secret: env: ANTHROPIC_API_KEY: ${{ secrets.ANTHROPIC_API_KEY }}"
	}
	return found
}

// gitVersion is the number in git's own words.
var gitVersion = regexp.MustCompile(`(\d+)\.(\d+)`)

func checkGit(f Facts) Finding {
	install := map[string]string{
		"linux": "sudo apt-get install git", "darwin": "xcode-select --install", "windows": "winget install Git.Git",
	}[f.System]
	if f.GitErr != nil {
		return Finding{Status: Warning, Found: f.GitErr.Error(), Hint: diag.HintOf(f.GitErr)}
	}
	m := gitVersion.FindStringSubmatch(f.Git)
	if m == nil {
		return Finding{Status: Warning, Found: "there is no git: projects are folders without history, and nothing can be applied", Hint: install}
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	if major < 2 || major == 2 && minor < 25 {
		return Finding{Status: Warning, Found: f.Git + " is older than 2.25", Hint: "install a newer one: " + install}
	}
	return ok("%s", f.Git)
}

func checkFolders(f Facts) Finding {
	var errs []error
	var hints []string
	for _, folder := range f.Folders {
		if folder.Err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", folder.Holds, folder.Err))
			hints = append(hints, diag.HintOf(folder.Err))
		}
	}
	if len(errs) > 0 {
		text := strings.ReplaceAll(errors.Join(errs...).Error(), "\n", "; ")
		return Finding{Status: Missing, Found: text, Hint: strings.Join(slices.DeleteFunc(hints, func(h string) bool { return h == "" }), "; ")}
	}
	var names []string
	for _, folder := range f.Folders {
		names = append(names, folder.Path)
	}
	return ok("%s can be written", strings.Join(names, ", "))
}

// The least that a disk should have, in bytes: an image takes some 800 MB, a run's
// records a few.
const (
	leastDisk = 100 << 20
	someDisk  = 2 << 30
)

func checkDisk(f Facts) Finding {
	var least *Folder
	for i, folder := range f.Folders {
		if folder.Free != ^uint64(0) && (least == nil || folder.Free < least.Free) {
			least = &f.Folders[i]
		}
	}
	if least == nil {
		return Finding{}
	}
	found := ok("%s free for %s in %s", size(least.Free), least.Holds, least.Path)
	switch {
	case least.Free < leastDisk:
		found.Status, found.Hint = Missing, "make room: sbx-devc clean --dry-run shows what can go, and 'docker system df' what the engine has"
	case least.Free < someDisk:
		found.Status, found.Hint = Warning, "an image and its build take 2 GiB: sbx-devc clean --dry-run shows what can go"
	}
	return found
}

func checkCertificates(f Facts) Finding {
	var names []string
	for _, b := range f.Bundles {
		if b.Err != nil {
			return Finding{Status: Missing, Found: fmt.Sprintf("%s: %v", b.Variable, b.Err),
				Hint: "name a file of certificates in PEM form, or unset " + b.Variable}
		}
		names = append(names, b.Variable)
	}
	if len(names) == 0 {
		return Finding{}
	}
	return ok("%s can be read", strings.Join(names, ", "))
}

func checkProxy(f Facts) Finding {
	if f.Proxy == "" {
		return Finding{}
	}
	return ok("the model's requests go through the proxy in %s", f.Proxy)
}

func checkEditor(f Facts) Finding {
	for _, name := range editors {
		if f.Programs[name] != "" {
			return ok("%s opens dev containers", name)
		}
	}
	if f.CI || f.Container != "" {
		return Finding{}
	}
	return Finding{Status: Note, Found: "no editor or CLI for dev containers is on the PATH, which only 'Reopen in Container' needs",
		Hint: "npm install -g @devcontainers/cli, or VS Code with its extension Dev Containers"}
}

// editors are programs that open dev containers.
var editors = []string{"devcontainer", "code", "cursor"}

func size(bytes uint64) string {
	if bytes >= 1<<30 {
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}
