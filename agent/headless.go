package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
)

// Headless is one run of Claude Code without a terminal. The prompt is no
// part of it: claude reads it from standard input, because arguments are
// visible to every process of the machine and limited in length.
type Headless struct {
	Model              string  // "" = claude's default for the credential
	MaxTurns           int     // 0 = no limit
	MaxBudgetUSD       float64 // US dollars at list price; 0 = no limit
	AppendSystemPrompt string  // added to claude's own; NetworkNotice belongs here
	SystemPrompt       string  // in the place of claude's own; "" = that stays
	// Tools are the names of claude's own tools that the model may call; nil = all, an
	// empty list = none. Tools of MCP servers are not among them.
	Tools []string
	// MemoryOf are folders whose CLAUDE.md, .claude/CLAUDE.md and .claude/rules Claude
	// reads as the project's instructions, with their imports from the same folder.
	// Nothing else that is in them counts. Env needs Memory.
	MemoryOf []string
	// ProjectSettings makes Claude obey the project's settings, with hooks, and read
	// all of its instructions itself.
	ProjectSettings bool
	JSONSchema      string   // of the answer, as JSON; "" = the answer is text. See agent/structured
	MCPConfigs      []string // files with MCP servers that Claude starts
	FallbackModels  []string // asked in this order when Model is overloaded or unknown
	// AllowedTools are the tools that Claude uses, as rules of its permissions such as Read
	// or "Bash(git diff *)"; nil = all. Claude Code, inside the sandbox, holds them: they
	// guide the model, and are no wall.
	AllowedTools []string
	Resume       string   // the conversation to go on with, which claude finds in its folder; "" = a new one
	ExtraArgs    []string // appended as they are; see CheckExtraArgs
}

// Args returns claude's arguments, without the program's name. They ask for
// the stream-json output that Scanner reads.
//
// The project's own settings are left out by default (--setting-sources user,
// --strict-mcp-config): in print mode claude does not ask for trust, and a
// project's settings can start programs and send the credential elsewhere.
func (h Headless) Args() []string {
	args := []string{
		"-p",
		"--output-format", "stream-json",
		"--verbose", // print mode refuses stream-json without it
	}
	args = append(args, h.guards(runSettings)...)
	args = option(args, "--model", h.Model)
	args = option(args, "--fallback-model", strings.Join(h.FallbackModels, ","))
	args = option(args, "--resume", h.Resume)
	if h.MaxTurns > 0 {
		args = option(args, "--max-turns", strconv.Itoa(h.MaxTurns))
	}
	if h.MaxBudgetUSD > 0 {
		args = option(args, "--max-budget-usd", strconv.FormatFloat(h.MaxBudgetUSD, 'f', -1, 64))
	}
	args = option(args, "--json-schema", h.JSONSchema)
	args = option(args, "--system-prompt", h.SystemPrompt)
	if h.Tools != nil {
		args = append(args, "--tools="+strings.Join(h.Tools, ",")) // it takes a list, which would go on with the words behind it
	}
	return h.texts(args)
}

// TerminalArgs are Args for Claude's own interface on a terminal, which begins, or with
// Resume goes on with, the conversation session. Limits are the proxy's there: Claude
// knows them in print mode alone.
func (h Headless) TerminalArgs(session string) []string {
	args := option(h.guards(terminalSettings), "--model", h.Model)
	if h.Resume != "" {
		args = option(args, "--resume", h.Resume)
	} else {
		args = option(args, "--session-id", session)
	}
	return h.texts(args)
}

// guards keep the project's settings and servers out, and questions that the sandbox
// answers.
func (h Headless) guards(settings string) []string {
	sources := "user"
	if h.ProjectSettings {
		sources = "user,project,local"
	}
	args := []string{"--dangerously-skip-permissions"}
	if len(h.AllowedTools) > 0 {
		args = []string{"--permission-mode", "dontAsk"}
		for _, rule := range h.AllowedTools {
			args = append(args, "--allowedTools="+rule)
		}
	}
	return append(args, "--setting-sources", sources, "--strict-mcp-config", "--settings", settings)
}

// texts adds what Claude reads, and the user's own arguments.
func (h Headless) texts(args []string) []string {
	args = option(args, "--append-system-prompt", h.AppendSystemPrompt)
	for _, file := range h.MCPConfigs {
		args = append(args, "--mcp-config="+file) // a value of its own would take the words behind it along
	}
	for _, folder := range h.MemoryOf {
		args = option(args, "--add-dir", folder)
	}
	return append(args, h.ExtraArgs...)
}

// option adds an option that has a value.
func option(args []string, name, value string) []string {
	if value == "" {
		return args
	}
	return append(args, name, value)
}

// runSettings are settings of claude's that every run has. Before WebFetch
// fetches a page, claude asks a host of the vendor's whether the page's domain
// is safe, whatever the base URL is. That host is closed in a run, and the
// firewall decides which domains may be fetched.
const runSettings = `{"skipWebFetchPreflight":true}`

// terminalSettings are runSettings for a person on a terminal, whom Claude would ask
// whether to work without permissions: the sandbox stands for them.
const terminalSettings = `{"skipDangerousModePermissionPrompt":true,"skipWebFetchPreflight":true}`

// StateFile is Claude's file of what it has asked and shown, in its own folder.
const StateFile = ".claude.json"

// State is a StateFile with which Claude asks nothing at its start: neither for a theme
// nor, for what is below folder, for trust, which concerns the host.
func State(folder string) []byte {
	text, _ := json.Marshal(map[string]any{ // of plain data: never fails
		"hasCompletedOnboarding": true,
		"projects":               map[string]any{folder: map[string]any{"hasTrustDialogAccepted": true}},
	})
	return text
}

// Limits returns the limits that claude is given: MaxTurns and MaxBudgetUSD, or
// what ExtraArgs says instead, as claude takes the last one. 0 = no limit. A
// value that is no number is claude's to refuse.
func (h Headless) Limits() (turns int, budgetUSD float64) {
	turns, budgetUSD = h.MaxTurns, h.MaxBudgetUSD
	for i, arg := range h.ExtraArgs {
		name, value, joined := strings.Cut(arg, "=")
		if !joined && i+1 < len(h.ExtraArgs) {
			value = h.ExtraArgs[i+1]
		}
		switch name {
		case "--max-turns":
			if n, err := strconv.Atoi(value); err == nil && n > 0 {
				turns = n
			}
		case "--max-budget-usd":
			if f, err := strconv.ParseFloat(value, 64); err == nil && f > 0 {
				budgetUSD = f
			}
		}
	}
	return turns, budgetUSD
}

// ours are the options that this package sets itself because parsing the
// output or keeping the credential in place depends on them.
var ours = []string{
	"-p", "--print", "--input-format", "--verbose",
	"--setting-sources", "--strict-mcp-config", "--dangerously-skip-permissions", "--permission-mode",
}

// conversations are claude's options that take up a conversation. The run must
// bring it into the sandbox.
var conversations = []string{"-c", "--continue", "-r", "--resume", "--from-pr"}

// CheckExtraArgs refuses arguments that would undo what Args sets: another
// output format leaves no result to judge by, other setting sources let the
// project choose where the credential goes.
func CheckExtraArgs(args []string) error {
	for _, a := range args {
		name, _, _ := strings.Cut(a, "=")
		if slices.Contains(conversations, name) {
			return diag.WithHint(fmt.Errorf("claude's option %s finds no conversation in a new sandbox", name),
				"--continue and --resume are options of the run itself, which brings the conversation along: give them before --")
		}
		if name == "--output-format" {
			return diag.WithHint(errors.New("claude's option --output-format is set by the run itself"),
				"leave --output-format out here, or give it before --")
		}
		if slices.Contains(ours, name) {
			return diag.WithHint(fmt.Errorf("claude's option %s is set by the run itself", name), "leave %s out", name)
		}
	}
	return nil
}
