package run

import (
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/accept"
	"github.com/org/claude-sandbox/session/instructions"
)

// instructionFlags say what of the project, and of the user's own, Claude obeys.
type instructionFlags struct {
	projectHooks bool // obey the project's settings
	projectMCP   bool // start the project's servers
	trustProject bool
}

func (o *instructionFlags) Title() string { return obeysTitle }

func (o *instructionFlags) Register(f *pflag.FlagSet) {
	f.BoolVar(&o.projectHooks, "project-settings", false, "obey the project's .claude/settings.json with its hooks: you have read it")
	f.BoolVar(&o.projectMCP, "project-mcp", false, "start the servers in the project's .mcp.json in the sandbox: you have read it")
	f.BoolVar(&o.trustProject, "trust-project", false,
		"accept the project's sandbox.jsonc as it is, and its skills, commands, agents and output styles: you have read them")
}

func (o *instructionFlags) check(*pflag.FlagSet) error { return nil }

func (o *instructionFlags) plan(p *runplan.Options) {
	p.TrustProject = o.trustProject
	p.Instructions = runplan.Instructions{Memory: true, Settings: o.projectHooks, MCP: o.projectMCP}
}

// instructionFiles gathers what Claude reads of the project's instructions and the
// user's, which names are. options say whether the project is trusted.
func instructionFiles(a *cli.App, project *session.Project, o instructionFlags, names []string, options *runplan.Options) (
	[]sandbox.HomeFile, error) {
	options.Instructions.Texts = options.TrustProject
	folder := a.Getenv("CLAUDE_CONFIG_DIR")
	if folder == "" {
		folder = filepath.Join(a.Getenv("HOME"), ".claude")
	}
	texts, err := instructions.User(folder, names)
	if err != nil {
		return nil, exitcode.With(exitcode.NoInput, err)
	}
	if options.TrustProject && !o.projectHooks { // with its settings Claude reads them where they are
		of, err := projectTexts(a, project.Dir, o.trustProject)
		if err != nil {
			return nil, err
		}
		texts.Add(of)
	}
	options.Instructions.LeftOut = texts.LeftOut
	return texts.Files, nil
}

// projectTexts are the texts for Claude of a trusted project: all of them for this run
// alone, or those that the user has accepted as they are.
func projectTexts(a *cli.App, dir string, all bool) (*instructions.Set, error) {
	if all {
		of, err := instructions.Project(dir)
		if err != nil {
			return nil, exitcode.With(exitcode.NoInput, err)
		}
		return of, nil
	}
	own, err := projects.OwnFolder(a)
	if err != nil {
		return nil, err
	}
	return accept.Texts(own, dir)
}
