package action

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/org/claude-sandbox/action/review"
	"github.com/org/claude-sandbox/agent/structured"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session/mcp"
	"github.com/org/claude-sandbox/session/runs"
	"github.com/org/claude-sandbox/settings"
)

// AgentInputs are those of the Inputs that say how Claude Code works, and in which form it
// answers.
type AgentInputs struct {
	FallbackModels []string             `input:"fallback_model"` // asked in this order where the model cannot be
	AllowedTools   []string             `input:"allowed_tools"`  // agent.Headless.AllowedTools
	Servers        []settings.MCPServer `input:"mcp_config"`     // that start in the sandbox
	Schema         *structured.Schema   `input:"json_schema"`    // of the answer; nil = it is text
	Resume         runs.Earlier         `input:"resume"`         // the conversation to go on with; zero = a new one
}

func (p *inputParser) agent() AgentInputs {
	return AgentInputs{
		FallbackModels: p.models("fallback_model"), AllowedTools: p.toolRules("allowed_tools"), Resume: p.conversation("resume"),
	}
}

// agentFiles reads those of them that may be files of the workspace.
func (p *inputParser) agentFiles(in *Inputs, root *os.Root) {
	if text, name := p.jsonOrFile(root, "json_schema", structured.MaxSchema); text != nil {
		schema, err := structured.Parse(text)
		if err != nil {
			p.fail("", "input %s: %w", name, err)
		}
		in.Schema = schema
	}
	if text, name := p.jsonOrFile(root, "mcp_config", mcp.MaxSize); text != nil {
		servers, err := mcp.Read("input "+name, text)
		if err != nil {
			p.errs = append(p.errs, err)
		}
		in.Servers = servers
	}
}

// reviewSchema is the value of json_schema for an answer that comment/action.yml takes.
const reviewSchema = "review"

// jsonOrFile is an input that is a JSON object, or the path of a file of the workspace; nil =
// it is empty, or wrong. name is the input's and the file's, for errors.
func (p *inputParser) jsonOrFile(root *os.Root, input string, limit int64) (text []byte, name string) {
	value := p.get(input)
	switch {
	case value == "":
		return nil, input
	case input == "json_schema" && value == reviewSchema:
		return review.Schema, input
	case strings.HasPrefix(value, "{"):
		return []byte(value), input
	}
	text, err := filekind.ReadIn(root, value, limit)
	if err != nil {
		p.fail("write JSON, or name a file of the workspace, relative to it", "input %s: %w", input, plainly(value, err))
		return nil, input
	}
	return text, input + ", " + value
}

// models are names, by commas.
func (p *inputParser) models(name string) []string {
	models := p.list(name)
	if slices.ContainsFunc(models, func(m string) bool { return strings.HasPrefix(m, "-") }) {
		p.fail("write names of models, by commas", "input %s: %q begins with a dash", name, p.get(name))
	}
	return models
}

// toolRule is a rule of Claude's permissions: a tool, and in parentheses what of it.
var toolRule = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_*-]*(\([^\n]+\))?$`)

// toolRules splits at commas and line ends that are in no parentheses.
func (p *inputParser) toolRules(name string) (rules []string) {
	depth := 0
	for _, rule := range strings.FieldsFunc(p.get(name), func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		case '\n':
			depth = 0
			return true
		}
		return r == ',' && depth <= 0
	}) {
		if rule = strings.TrimFunc(rule, unicode.IsSpace); rule == "" {
			continue
		}
		if !toolRule.MatchString(rule) {
			p.fail("write rules such as Read or Bash(git diff *), by commas or lines", "input %s: %q is no tool of Claude Code's", name, rule)
		}
		rules = append(rules, rule)
	}
	return rules
}

// conversation reads what an earlier run left in its report_dir.
func (p *inputParser) conversation(name string) (earlier runs.Earlier) {
	file := p.get(name)
	if file == "" {
		return earlier
	}
	if filekind.IsFolder(file) {
		file = filepath.Join(file, sandbox.ConversationFile)
	}
	var err error
	if !filepath.IsAbs(file) {
		err = errors.New("it is no absolute path")
	}
	if err == nil {
		earlier, err = runs.ReadEarlier(file)
	}
	if err != nil {
		p.fail("name the output report_dir of an earlier run, or the folder to which a step downloaded it", "input %s: %s: %w", name,
			file, diag.WithoutPath(err))
	}
	return earlier
}
