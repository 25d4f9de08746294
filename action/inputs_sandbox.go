package action

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session/secrets"
	"github.com/org/claude-sandbox/settings"
)

// projectsImage is the value of the input image for the one of the project's dev container.
const projectsImage = "devcontainer"

// SandboxInputs are those of the Inputs that say what the agent has around it.
type SandboxInputs struct {
	Image            string   `input:"image"`             // "" builds the default one on the runner; projectsImage
	WorkingDirectory string   `input:"working_directory"` // absolute; the folder that the agent works on
	Repository       string   `input:"whole_repository"`  // absolute; the one around that folder, which the agent gets; "" = the folder alone
	WorkspaceMode    string   `input:"workspace_mode"`    // how the agent gets that, a workspace.Mode
	Egress           string   `input:"egress"`            // the network's mode, a firewall.Mode
	Presets          []string `input:"presets"`           // named lists of hosts
	AllowedDomains   []string `input:"allowed_domains"`   // allowlist entries
	PrivateDomains   []string `input:"private_domains"`   // hosts among them that may have private addresses
	DeniedDomains    []string `input:"denied_domains"`    // entries that stay closed whatever is allowed
	Keys             []string `input:"keys"`              // secrets for the requests of an entry, see settings.Given.AddKeys
	AllowHostedWeb   bool     `input:"allow_hosted_web"`  // the provider may search and fetch pages for the agent
	Env              []string `input:"env"`               // variables of the agent, NAME=value
	Memory           string   `input:"memory"`            // such as "4g"; "" = no limit
	CPUs             float64  `input:"cpus"`              // processors; 0 = no limit
	EngineNetwork    string   `input:"services_network"`  // of the engine, with the job's services; "" = its default one
}

// sandbox reads them but for the folder, which ParseInputs looks for.
func (p *inputParser) sandbox() SandboxInputs {
	return SandboxInputs{
		Image:          p.word("image"),
		WorkspaceMode:  p.choice("workspace_mode", "rw bind, ro ro, copy copy"),
		Egress:         p.choice("egress", "block allowlist, audit audit, none none"),
		Presets:        p.list("presets"),
		AllowedDomains: p.list("allowed_domains"),
		PrivateDomains: p.list("private_domains"),
		DeniedDomains:  p.list("denied_domains"),
		Keys:           p.lines("keys"),
		AllowHostedWeb: p.boolean("allow_hosted_web", false),
		Env:            p.variables("env"),
		Memory:         p.word("memory"),
		CPUs:           p.processors("cpus"),
		EngineNetwork:  p.word("services_network"),
	}
}

// choice returns what the settings call a value. pairs are the accepted values, each with
// that name; the first one is the default.
func (p *inputParser) choice(name, pairs string) string {
	var accepted []string
	given, fallback := p.get(name), ""
	for pair := range strings.SplitSeq(pairs, ", ") {
		value, meant, _ := strings.Cut(pair, " ")
		if value == given {
			return meant
		}
		if fallback == "" {
			fallback = meant
		}
		accepted = append(accepted, value)
	}
	if given != "" {
		p.fail("accepted: "+strings.Join(accepted, ", "), "input %s: %q is not known", name, given)
	}
	return fallback
}

// variables reads lines NAME=value as an environment file's. The step's own environment
// gives none of them a value: secrets are there.
func (p *inputParser) variables(name string) []string {
	variables, missing, err := secrets.ReadEnv([]byte(p.get(name)), func(string) (string, bool) { return "", false })
	if err == nil && len(missing) > 0 {
		err = diag.WithHint(errors.New(strings.Join(missing, ", ")+" has no value"), "write NAME=value, one a line")
	}
	if err != nil {
		p.fail(diag.HintOf(err), "input %s: %w", name, err)
	}
	for _, v := range variables {
		variable, _, _ := strings.Cut(v, "=")
		if err := runplan.CheckVariable("input "+name, variable); err != nil {
			p.errs = append(p.errs, err)
		}
	}
	return variables
}

func (p *inputParser) processors(name string) float64 {
	value := p.get(name)
	if value == "" {
		return 0
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || n == 0 {
		p.fail("write a number such as 2 or 1.5, or leave it empty for no limit", "input %s: %q is not a number above 0", name, value)
		return 0
	}
	return n
}

// given is what the inputs say of the sandbox.
func (in Inputs) given() *settings.Given {
	given := &settings.Given{Settings: settings.Settings{Limits: settings.Limits{Timeout: in.Timeout}}}
	if in.Image != projectsImage {
		given.Image = in.Image
	}
	given.Mode("input egress", in.Egress)
	given.WorkspaceMode("input workspace_mode", in.WorkspaceMode)
	given.Entries("presets", "input presets", in.Presets)
	given.Entries("allow", "input allowed_domains", in.AllowedDomains)
	if in.EngineNetwork != "" {
		given.Entries("private", "input allowed_domains", services(in.AllowedDomains))
	}
	given.Entries("private", "input private_domains", in.PrivateDomains)
	given.Entries("deny", "input denied_domains", in.DeniedDomains)
	given.AddKeys("input keys", in.Keys)
	given.MCP.Servers = in.Servers
	given.Memory("input memory", in.Memory)
	given.CPUs("input cpus", in.CPUs)
	return given
}

// folderInRepository is where in the Repository the agent begins, slash-separated.
func (in Inputs) folderInRepository() string {
	rel, err := filepath.Rel(in.Repository, in.WorkingDirectory)
	if err != nil {
		return ""
	}
	return filepath.ToSlash(rel)
}

// services are the hosts of entries that can be services of the job, by their ids, which have
// no dot: their addresses are private ones of the network that the sandbox joins.
func services(entries []string) (names []string) {
	for _, e := range entries {
		e = strings.TrimPrefix(strings.TrimPrefix(e, "https://"), "git:")
		if name := e[:len(e)-len(strings.TrimLeft(e, serviceLetters))]; name != "" && !strings.HasPrefix(e[len(name):], ".") {
			names = append(names, name)
		}
	}
	return names
}

// serviceLetters are what the id of a service may consist of.
const serviceLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// Settings are the settings of the run that the inputs ask for.
func (in Inputs) Settings() settings.Settings { return in.given().Settings }

// settings judges the inputs' settings as a file's are judged.
func (p *inputParser) settings(in Inputs) {
	_, bad := in.given().Accept()
	p.errs = append(p.errs, bad...)
	if len(bad) == 0 {
		p.keys(in)
	}
	if open := len(in.Presets) + len(in.AllowedDomains); open > 0 && in.Egress == "none" {
		p.fail("leave presets and allowed_domains out, or choose egress: block", "input egress is none, and hosts are allowed")
	}
}
