package sandbox

import (
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/firewall/report"
)

// Exit codes of a run that are not Claude's own, see docs/cli.md.
const (
	exitInternal = 70
	// exitUnprotected is also what sbx-init in the agent's container ends with
	// when a mount was taken away.
	exitUnprotected = 71
	exitTimeout     = 124
	exitSignal      = 128 // and the signal's number
)

// Result is what is known of a run afterwards. Run returns one in every case
// in which the plan was tried, also beside an error.
type Result struct {
	ID     string
	Folder string // the project's, on this side, without symbolic links
	// ExitCode is what the caller should exit with: Claude's own code, or one
	// of ours (exitInternal and the others), or 128+n after a signal.
	ExitCode int
	Outcome  agent.Outcome   // the one judgement: success only when a result event says so
	Agent    *agent.Result   // nil when Claude did not come to a result; the agent's word, cost included
	Answers  int64           // requests that the model API answered, counted on this side
	Usage    credproxy.Usage // tokens as the model API reported them to this side
	Egress   *report.Report  // nil when the sidecar left no audit log
	Timings  Timings
	Files    Files
	Warnings []string // what the user should know, of the plan and of what the agent left behind
}

// Timings are wall-clock times of a run's steps.
type Timings struct {
	SidecarCreate time.Duration // create and fill the firewall's container
	SidecarReady  time.Duration // its start until it says that the firewall is verified
	Firewall      time.Duration // the part of SidecarReady that sbx-init measured itself
	AgentStart    time.Duration // tunnel, create and start of the agent
	Startup       time.Duration // begin of Run until the agent's start
	Agent         time.Duration // the agent's start until its exit
	Total         time.Duration // begin of Run until everything is removed
}

// Files of a run's folder that others read.
const (
	SummaryFile = "summary.json" // WriteSummary's; "folder" in it says which project the run was of
	AuditFile   = "audit.jsonl"  // the firewall's decisions, one JSON record a line
	PolicyFile  = "policy.json"  // the policy in force, a settings file itself
)

// Files are what a run leaves on the host; "" where one could not be written.
type Files struct {
	Transcript string // Claude's standard output, byte for byte
	Audit      string // the firewall's decisions, one JSON record a line
	Page       string // the egress report as a page
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
