package agent

import (
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
	Model              string   // "" = claude's default for the credential
	MaxTurns           int      // 0 = no limit
	MaxBudgetUSD       float64  // US dollars at list price; 0 = no limit
	AppendSystemPrompt string   // added to claude's own; NetworkNotice belongs here
	Resume             string   // session id to go on with; "" = a new session
	JSONSchema         string   // JSON Schema of Result.Structured; "" = none
	AllowedTools       []string // rules such as "Bash(git log:*)"; empty = all
	DisallowedTools    []string
	MCPConfig          []string // files or JSON texts; project .mcp.json files are never read
	AddDirs            []string // folders beside the working directory
	ProjectSettings    bool     // read the project's .claude/settings*.json too; they can run hooks
	ExtraArgs          []string // appended as they are; see CheckExtraArgs
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
		"--dangerously-skip-permissions",
		"--setting-sources", settingSources(h.ProjectSettings),
		"--strict-mcp-config",
	}
	option := func(name, value string) {
		if value != "" {
			args = append(args, name, value)
		}
	}
	option("--model", h.Model)
	if h.MaxTurns > 0 {
		option("--max-turns", strconv.Itoa(h.MaxTurns))
	}
	if h.MaxBudgetUSD > 0 {
		option("--max-budget-usd", strconv.FormatFloat(h.MaxBudgetUSD, 'f', -1, 64))
	}
	option("--append-system-prompt", h.AppendSystemPrompt)
	option("--resume", h.Resume)
	option("--json-schema", h.JSONSchema)
	// One argument each: these options take as many values as follow.
	option("--allowedTools", strings.Join(h.AllowedTools, ","))
	option("--disallowedTools", strings.Join(h.DisallowedTools, ","))
	for _, c := range h.MCPConfig {
		option("--mcp-config", c)
	}
	for _, d := range h.AddDirs {
		option("--add-dir", d)
	}
	return append(args, h.ExtraArgs...)
}

func settingSources(project bool) string {
	if project {
		return "user,project,local"
	}
	return "user"
}

// ours are the options that this package sets itself because parsing the
// output or keeping the credential in place depends on them.
var ours = []string{
	"-p", "--print", "--output-format", "--input-format", "--verbose",
	"--setting-sources", "--strict-mcp-config", "--dangerously-skip-permissions", "--permission-mode",
}

// CheckExtraArgs refuses arguments that would undo what Args sets: another
// output format leaves no result to judge by, other setting sources let the
// project choose where the credential goes.
func CheckExtraArgs(args []string) error {
	for _, a := range args {
		name, _, _ := strings.Cut(a, "=")
		if slices.Contains(ours, name) {
			return diag.WithHint(fmt.Errorf("claude's option %s is set by the run itself", name), "leave %s out", name)
		}
	}
	return nil
}
