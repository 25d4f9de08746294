package action

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/workspace"
)

// Inputs are the inputs of the Action after they were read and checked. Each
// field's tag is the name in action.yml; a test holds the two together.
type Inputs struct {
	Prompt             string        `input:"prompt"`                   // what the agent is asked to do
	PromptFile         string        `input:"prompt_file"`              // the same from a file; Prompt holds its text
	AppendSystemPrompt string        `input:"append_system_prompt"`     // added to Claude's own system prompt
	Model              string        `input:"model"`                    // "" is Claude's default
	MaxTurns           int           `input:"max_turns"`                // 0 = no limit
	MaxBudgetUSD       float64       `input:"max_budget_usd"`           // US dollars; 0 = no limit
	Timeout            time.Duration `input:"timeout_minutes"`          // wall clock of the agent
	Retry              time.Duration `input:"retry_minutes"`            // how long an overloaded model API is asked again
	APIKey             string        `input:"anthropic_api_key"`        // either this
	OAuthToken         string        `input:"claude_code_oauth_token"`  // or this
	GatewayURL         string        `input:"anthropic_base_url"`       // of a gateway that speaks the Messages API; "" = the API
	GatewayToken       string        `input:"anthropic_auth_token"`     // of that gateway, instead of a key
	GatewayHeaders     []string      `input:"anthropic_custom_headers"` // that it asks for, "Name: value"
	FailOnDenied       bool          `input:"fail_on_denied"`           // a refused host fails the run
	Summary            bool          `input:"summary"`                  // write the step summary
	ShowOutput         bool          `input:"show_output"`              // the log has what tools answer
	FederationInputs
	AgentInputs
	SandboxInputs
	TriggerInputs
}

// maxTimeout is the longest that GitHub lets a job run on a runner of one's own.
const maxTimeout = 5 * 24 * time.Hour

// ParseInputs reads the inputs with get, which returns the value of one by its
// name, trimmed, and the rest with the step's environment. Every path among the inputs
// is relative to the checkout and stays in it. All mistakes are reported together; when
// there are any, no container has to be started to find them.
func ParseInputs(get, getenv func(name string) string) (Inputs, []error) {
	p := &inputParser{get: get}
	in := Inputs{
		Prompt:             get("prompt"),
		PromptFile:         get("prompt_file"),
		AppendSystemPrompt: get("append_system_prompt"),
		Model:              p.word("model"),
		MaxTurns:           p.count("max_turns"),
		MaxBudgetUSD:       p.dollars("max_budget_usd"),
		Timeout:            p.minutes("timeout_minutes", 30*time.Minute),
		Retry:              p.retry("retry_minutes"),
		APIKey:             p.secret("anthropic_api_key"),
		OAuthToken:         p.secret("claude_code_oauth_token"),
		GatewayURL:         p.word("anthropic_base_url"),
		GatewayToken:       p.secret("anthropic_auth_token"),
		GatewayHeaders:     p.headers("anthropic_custom_headers"),
		FailOnDenied:       p.boolean("fail_on_denied", false),
		Summary:            p.boolean("summary", true),
		ShowOutput:         p.boolean("show_output", false),
		FederationInputs:   p.federation(),
		AgentInputs:        p.agent(),
		SandboxInputs:      p.sandbox(),
		TriggerInputs:      p.trigger(),
	}
	p.credential(in, getenv)
	p.paths(&in, getenv("GITHUB_WORKSPACE"))
	p.settings(in)
	return in, p.errs
}

// Secrets are the values that must never be seen in a log.
func (in Inputs) Secrets() []string {
	var secrets []string
	all := []string{in.APIKey, in.OAuthToken, in.GatewayToken, in.Token}
	for _, line := range in.GatewayHeaders {
		_, value, _ := strings.Cut(line, ":")
		all = append(all, strings.TrimSpace(value))
	}
	for _, s := range all {
		if s != "" {
			secrets = append(secrets, s)
		}
	}
	return secrets
}

// inputParser collects every mistake instead of stopping at the first.
type inputParser struct {
	get  func(string) string
	errs []error
}

func (p *inputParser) fail(hint, format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if hint != "" {
		err = diag.WithHint(err, "%s", hint)
	}
	p.errs = append(p.errs, err)
}

// word is a value without white space, such as a model's name.
func (p *inputParser) word(name string) string {
	value := p.get(name)
	if strings.ContainsFunc(value, unicode.IsSpace) || strings.HasPrefix(value, "-") {
		p.fail("write a name alone, without white space and without a dash before it", "input %s: %q is not one word", name, value)
		return ""
	}
	return value
}

func (p *inputParser) boolean(name string, fallback bool) bool {
	switch value := p.get(name); value {
	case "":
		return fallback
	case "true":
		return true
	case "false":
		return false
	default:
		p.fail("write true or false", "input %s: %q is neither true nor false", name, value)
		return fallback
	}
}

func (p *inputParser) count(name string) int {
	value := p.get(name)
	if value == "" {
		return 0
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		p.fail("leave it empty for no limit", "input %s: %q is not a whole number above 0", name, value)
		return 0
	}
	return n
}

func (p *inputParser) dollars(name string) float64 {
	value := p.get(name)
	if value == "" {
		return 0
	}
	f, err := strconv.ParseFloat(value, 64)
	if err != nil || !(f > 0) || math.IsInf(f, 0) {
		p.fail("leave it empty for no limit", "input %s: %q is not an amount above 0 in US dollars", name, value)
		return 0
	}
	return f
}

func (p *inputParser) minutes(name string, fallback time.Duration) time.Duration {
	return p.minutesOf(name, fallback, "above 0 and")
}

// minutesOf reads minutes; from says in words where they begin.
func (p *inputParser) minutesOf(name string, fallback time.Duration, from string) time.Duration {
	value := p.get(name)
	if value == "" {
		return fallback
	}
	f, err := strconv.ParseFloat(value, 64)
	if err != nil || !(f > 0) || f > maxTimeout.Minutes() {
		p.fail("write minutes as a number alone, such as 30", "input %s: %q is not a number %s up to %.0f", name, value, from,
			maxTimeout.Minutes())
		return fallback
	}
	return time.Duration(f * float64(time.Minute))
}

// retry is 0 for an API that is asked as often as Claude Code does it.
func (p *inputParser) retry(name string) time.Duration {
	if p.get(name) == "0" {
		return 0
	}
	return p.minutesOf(name, 5*time.Minute, "from 0")
}

// patience is Retry, unless another model is asked instead: Claude Code takes that when it
// hears that the first one is overloaded.
func (in Inputs) patience() time.Duration {
	if len(in.FallbackModels) > 0 {
		return 0
	}
	return in.Retry
}

// secret never repeats the value in its error.
func (p *inputParser) secret(name string) string {
	value := p.get(name)
	if strings.ContainsFunc(value, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		p.fail("store the secret again without line ends inside", "input %s: the value has white space inside", name)
		return ""
	}
	return value
}

// list splits at commas and white space, see settings.SplitEntries; a line may end in
// a "#" comment.
func (p *inputParser) list(name string) []string {
	var entries []string
	for line := range strings.SplitSeq(p.get(name), "\n") {
		line, _, _ = strings.Cut(line, "#")
		entries = append(entries, settings.SplitEntries(line, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })...)
	}
	return entries
}

func (p *inputParser) paths(in *Inputs, workspace string) {
	if !filepath.IsAbs(workspace) || filepath.Clean(workspace) == filepath.Dir(filepath.Clean(workspace)) {
		p.fail("check the repository out first: uses: actions/checkout", "there is no workspace: GITHUB_WORKSPACE is %q", workspace)
		return
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		p.fail("check the repository out first: uses: actions/checkout", "opening the workspace: %w", err)
		return
	}
	defer func() { _ = root.Close() }() // opened for reading
	p.workingDirectory(in, root)
	p.prompt(in, root)
	p.agentFiles(in, root)
}

func (p *inputParser) workingDirectory(in *Inputs, root *os.Root) {
	dir := p.get("working_directory")
	if dir == "" {
		dir = "."
	}
	if within, err := filepath.Rel(root.Name(), dir); err == nil && filepath.IsAbs(dir) { // such as ${{ github.workspace }}/sub
		dir = within
	}
	// Stat through the root refuses a link that leads out of the workspace.
	info, err := root.Stat(dir)
	switch {
	case err != nil:
		p.fail("name a folder of the workspace, relative to it", "input working_directory: %w", plainly(dir, err))
	case !info.IsDir():
		p.fail("name a folder of the workspace, relative to it", "input working_directory: %s is no folder", dir)
	default:
		resolved, err := filepath.EvalSymlinks(filepath.Join(root.Name(), dir))
		if err != nil {
			p.fail("", "input working_directory: %w", err)
			return
		}
		in.WorkingDirectory = resolved
		if p.boolean("whole_repository", true) {
			in.Repository = repositoryAround(resolved, root.Name())
		}
		p.leftToken(cmp.Or(in.Repository, resolved))
	}
}

// repositoryAround is the repository of which dir is a part, if it is in the workspace; "" =
// there is none, or dir is all of it.
func repositoryAround(dir, checkout string) string {
	checkout, err := filepath.EvalSymlinks(checkout)
	if err != nil {
		return ""
	}
	around := workspace.ProjectAround(dir, "", func(at string) bool { return workspace.RepositoryOf(at) == at })
	if around == dir || !workspace.Below(checkout, around) {
		return ""
	}
	return around
}

func (p *inputParser) prompt(in *Inputs, root *os.Root) {
	switch {
	case in.Prompt != "" && in.PromptFile != "":
		p.fail("remove one of them", "inputs prompt and prompt_file are both set")
	case in.PromptFile != "":
		text, err := readPrompt(root, in.PromptFile)
		if err != nil {
			p.fail("name a text file of the workspace, relative to it", "input prompt_file: %w", plainly(in.PromptFile, err))
		}
		in.Prompt = text
	case in.Prompt == "":
		p.fail("say what the agent is to do", "inputs prompt and prompt_file are both empty")
	}
}

// plainly says what is wrong with a path of the workspace without the names of
// system calls.
func plainly(name string, err error) error {
	var path *fs.PathError
	switch {
	case !errors.As(err, &path):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the workspace has no %q", name)
	case errors.Is(err, filekind.ErrOutside), path.Err.Error() == "path escapes from parent": // package os exports no such error
		return fmt.Errorf("%q leads out of the workspace", name)
	default:
		return fmt.Errorf("%q: %w", name, path.Err)
	}
}

func readPrompt(root *os.Root, name string) (string, error) {
	f, err := filekind.OpenIn(root, name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // opened for reading
	text, err := session.ReadPrompt(f)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

// leftToken refuses a checkout whose git configuration, or that of a submodule or
// of another checkout inside it, holds a credential: the agent could read it and use it at a host that the policy
// allows. Versions of actions/checkout before 6 leave the job's token there
// unless told not to.
func (p *inputParser) leftToken(dir string) {
	const maxGitConfig = 1 << 20 // bytes
	if len(workspace.LeftTokens(dir)) > 0 {
		p.errs = append(p.errs, errTokenInCheckout)
		return
	}
	var configs []string // of submodules, whole or not
	_ = filepath.WalkDir(filepath.Join(dir, ".git", "modules"), func(name string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Base(name) == "config" {
			configs = append(configs, name)
		}
		return nil // no submodules, or a folder that the agent cannot read either
	})
	for _, name := range configs {
		if text, err := filekind.Read(name, maxGitConfig); err == nil && workspace.HoldsToken(string(text)) {
			p.errs = append(p.errs, errTokenInCheckout)
			return
		}
	}
}

var errTokenInCheckout = diag.WithHint(
	errors.New("the checkout's git configuration holds a token, which the agent could read"),
	"set persist-credentials: false on actions/checkout, or use its version 6 or later")
