package migrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/settings"
)

// Bounds of what is read.
const (
	maxFile  = 16 << 20 // bytes; Claude keeps much in its file of state
	maxItems = 500      // entries of one list
)

// Sources say where a configuration is.
type Sources struct {
	Claude  string // the user's folder of Claude Code
	State   string // the file .claude.json
	Project string // the folder of the project
	// HasSecret reports whether the user's settings name a secret.
	HasSecret func(name string) bool
}

// Item is a part of the configuration. Its words may be anybody's: show them as visible text.
type Item struct {
	What string // such as "model opus"
	From string // the file
	Why  string // it was left, or what became of it
}

// Plan is what the settings take.
type Plan struct {
	Take  settings.Settings // Network, Instructions, Env and MCP.Servers
	Model string
	Taken []Item
	Left  []Item
}

func (p *Plan) take(from, what, why string)  { p.Taken = append(p.Taken, Item{what, from, why}) }
func (p *Plan) leave(from, what, why string) { p.Left = append(p.Left, Item{what, from, why}) }
func (p *Plan) unread(from string, err error) {
	p.leave(from, "the file", "it cannot be read: "+err.Error())
}

// texts are the parts of Claude's folder that are only read.
var texts = []string{"CLAUDE.md", "skills", "commands", "agents", "output-styles"}

// Read reads a configuration. A file that cannot be read is left, with the reason.
func Read(s Sources) *Plan {
	p := &Plan{}
	p.user(s)
	p.state(s)
	p.project(s.Project)
	return p
}

func (p *Plan) user(s Sources) {
	root, err := os.OpenRoot(s.Claude)
	if err != nil {
		return // there is none
	}
	defer root.Close()
	for _, name := range texts {
		if _, err := root.Stat(name); err == nil {
			p.Take.Instructions = append(p.Take.Instructions, name)
			p.take(filepath.Join(s.Claude, name), name, "Claude reads it in every run, as text")
		} else if !errors.Is(err, fs.ErrNotExist) {
			p.leave(filepath.Join(s.Claude, name), name, "it leads out of your folder of Claude Code: put the text itself there")
		}
	}
	file := filepath.Join(s.Claude, "settings.json")
	switch text, err := filekind.ReadIn(root, "settings.json", maxFile); {
	case err == nil:
		p.settings(file, text)
	case !errors.Is(err, fs.ErrNotExist):
		p.unread(file, err)
	}
	for _, f := range []struct{ name, why string }{
		{".credentials.json", "a login stays where it is, and is not read: 'sbx-devc login' keeps a key for runs"},
		{"hooks", reasons["hooks"]},
		{"plugins", reasons["enabledPlugins"]},
	} {
		if _, err := root.Lstat(f.name); err == nil {
			p.leave(filepath.Join(s.Claude, f.name), f.name, f.why)
		}
	}
}

// state reads the user's MCP servers.
func (p *Plan) state(s Sources) {
	root, err := os.OpenRoot(filepath.Dir(s.State))
	if err != nil {
		return
	}
	defer root.Close()
	text, err := filekind.ReadIn(root, filepath.Base(s.State), maxFile)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			p.unread(s.State, err)
		}
		return
	}
	var state struct {
		Servers  map[string]json.RawMessage `json:"mcpServers"`
		Account  json.RawMessage            `json:"oauthAccount"`
		Projects map[string]struct {
			Servers map[string]json.RawMessage `json:"mcpServers"`
		} `json:"projects"`
	}
	if err := json.Unmarshal(text, &state); err != nil {
		p.unread(s.State, errNoJSON)
		return
	}
	p.servers(s.State, state.Servers, s.HasSecret)
	if state.Account != nil {
		p.leave(s.State, "the account", "'sbx-devc login' keeps a key for runs; this one is not read")
	}
	for folder, of := range state.Projects {
		if n := len(of.Servers); n > 0 && folder == s.Project {
			p.leave(s.State, fmt.Sprintf("%d MCP servers of this project alone", n),
				"your settings hold for all projects: name them in a file, for --mcp-config")
		}
	}
}

const obeyed = "it is in the project: --project-settings obeys it in the sandbox, and 'sbx-devc allow HOST' opens hosts there"

// project names what is in the project, which is not taken.
func (p *Plan) project(dir string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	defer root.Close()
	for _, f := range []struct{ name, why string }{
		{"CLAUDE.md", "Claude reads the project's instructions in every run"},
		{".claude/skills", "a run takes it when you trust the project: sbx-devc trust"},
		{".claude/commands", "a run takes it when you trust the project: sbx-devc trust"},
		{".claude/agents", "a run takes it when you trust the project: sbx-devc trust"},
		{".claude/settings.json", obeyed},
		{".claude/settings.local.json", obeyed},
		{".mcp.json", "it is the project's: --project-mcp starts its servers in the sandbox"},
	} {
		if _, err := root.Lstat(filepath.FromSlash(f.name)); err == nil {
			p.leave(filepath.Join(dir, filepath.FromSlash(f.name)), f.name, f.why)
		}
	}
}

// errNoJSON does not say what is there: it may be a secret.
var errNoJSON = errors.New("it is not JSON as Claude Code has it")
