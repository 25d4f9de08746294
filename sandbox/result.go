package sandbox

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/firewall/report"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// ExitCode returns the exit code of a failure of Run or of the run's plan.
func ExitCode(err error) int {
	for _, c := range []struct {
		kind error
		code int
	}{
		{workspace.ErrRefused, exitcode.Refused}, {runplan.ErrConfig, exitcode.Config}, {workspace.ErrInput, exitcode.NoInput},
		{runplan.ErrNoKey, exitcode.NoSecret}, {runplan.ErrNoSecret, exitcode.NoSecret}, {ErrKey, exitcode.NoSecret},
		{ErrTimeout, exitcode.Timeout}, {ErrDisk, exitcode.DiskFull}, {ErrUpstream, exitcode.Failed}, {ErrUnkept, exitcode.CantWrite},
		{engine.ErrUnavailable, exitcode.Unavailable}, {runplan.ErrElsewhere, exitcode.Unavailable}, {runplan.ErrOwners, exitcode.Unavailable},
		{ErrNoStart, exitcode.NoStart},
	} {
		if errors.Is(err, c.kind) {
			return c.code
		}
	}
	return exitcode.Internal
}

// settleExit decides what the caller exits with, which is also what the summary
// says. Claude ends with 0 after some failures; a script must not take that for
// success.
func (r *Result) settleExit(failure error) {
	switch {
	case failure != nil:
		r.ExitCode = ExitCode(failure)
	case !r.Outcome.OK():
		r.ExitCode = cmp.Or(r.ExitCode, exitcode.Failed)
	case r.Lost != nil:
		r.ExitCode = exitcode.OfLost(r.Lost)
	}
}

// Result is what is known of a run afterwards. Run returns one in every case
// in which the plan was tried, also with an error.
type Result struct {
	ID     string
	Name   string // Options.Name
	Folder string // what the agent got, on this side, without symbolic links
	// FolderIdentity tells Folder from another one that takes its place later.
	FolderIdentity string
	// SettingsFolder is the folder whose settings the run had: Folder, or a part of it.
	SettingsFolder string
	// Workspace is how the agent had that, a workspace.Mode.
	Workspace string
	// WorkTree is the folder in the run's own that the agent worked in, "" where that
	// was Folder itself, or nothing changed in the copy.
	WorkTree string
	// ExitCode is what the caller should exit with: Claude's own code, or one
	// of ours (see ExitCode), or 128+n after a signal. It is 0 only for a success
	// whose output was passed on.
	ExitCode int
	// Lost is why the agent's output could not be passed on, nil = all of it was.
	Lost    error
	Outcome agent.Outcome   // the one judgement: success only when a result event says so
	Agent   *agent.Result   // nil when Claude did not come to a result; the agent's word, cost included
	Answers int64           // requests that the model API answered, counted on this side
	Usage   credproxy.Usage // tokens as the model API reported them to this side
	// MeteredUSD is what Usage cost, in US dollars at list price, counted on this
	// side; see credproxy.Proxy.CostUSD.
	MeteredUSD float64
	Models     []spending.Spent // the same by model, the dearest first
	Egress     *report.Report   // nil when the sidecar left no audit log
	Timings    Timings
	Use        *Use   // of the agent's container; nil when the engine did not say
	Prompt     string // its first words, without secrets
	Model      string // as Claude names it; "" when it never began
	// Conversation is Claude's name of the one in ConversationFile; "" = none was
	// kept.
	Conversation string
	// EarlierConversations are those in EarlierConversationFile, the newest first.
	EarlierConversations []string

	Files    Files
	Changes  *changes.Set     // to the project's files since the run began, by whomever; nil when the agent never ran
	Canaries *Canaries        // nil = none were asked for, or the firewall never started
	Notes    []string         // what the run left closed or unread, and the user may not expect
	Commits  []gitdir.Commits // of the agent, that can be applied
	Warnings []string         // what the user should know, of the plan and of what the agent left behind

	sources *Sources // of the run's secrets, until all that it left is searched for them; nil = it had none
}

// Structured is the answer as JSON, where the run was asked for one by a schema and is a
// success; nil otherwise.
func (r *Result) Structured() []byte {
	if r.Agent == nil || !r.Outcome.OK() || !json.Valid(r.Agent.Structured) {
		return nil
	}
	return r.Agent.Structured
}

// About is a run in one line, for people. The words may be the agent's.
func About(id, folder, prompt, model string, usd float64, conclusion string) string {
	return visible.Line(fmt.Sprintf("%s in %s: \"%s\", model %s, $%.2f, %s",
		id, folder, prompt, cmp.Or(model, "unknown"), usd, cmp.Or(conclusion, "unknown")))
}

// Timings are wall-clock times of a run's steps.
type Timings struct {
	SidecarCreate time.Duration // create and fill the firewall's container
	SidecarStart  time.Duration // the engine starts it
	SidecarReady  time.Duration // its start until it says that the firewall is verified
	Firewall      time.Duration // the part of SidecarReady that sbx-init measured itself
	AgentStart    time.Duration // start of the agent's container until its mounts are known
	Startup       time.Duration // begin of Run until the agent's start
	Agent         time.Duration // the agent's start until its exit
	Total         time.Duration // begin of Run until everything is removed
}

// Files of a run's folder that others read.
const (
	SummaryFile    = "summary.json"     // WriteSummary's; "folder" in it says which project the run was of
	TranscriptFile = "transcript.jsonl" // Claude's standard output, without secrets
	AuditFile      = "audit.jsonl"      // the firewall's decisions, one JSON record a line
	PolicyFile     = "policy.json"      // the policy in force, a settings file itself
	KeysFile       = "keys.json"        // a list of credential.Use; a run without keys has none
)

// Files are what a run leaves on the host; "" where one could not be written.
type Files struct {
	Transcript string // Claude's standard output without the secrets that the run knows
	Audit      string // the firewall's decisions, one JSON record a line
	Page       string // the egress report as a page
	Changes    string // the changes of the project's files as a unified diff
	Summary    string // the Result as JSON
}

// Milliseconds of the steps, for the summary.
func (t Timings) milliseconds() map[string]int64 {
	return map[string]int64{
		"sidecarCreate": t.SidecarCreate.Milliseconds(), "sidecarReady": t.SidecarReady.Milliseconds(),
		"firewall": t.Firewall.Milliseconds(), "agentStart": t.AgentStart.Milliseconds(),
		"startup": t.Startup.Milliseconds(), "agent": t.Agent.Milliseconds(), "total": t.Total.Milliseconds(),
	}
}
