package action

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/firewall/learn"
	"github.com/org/claude-sandbox/firewall/report"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/session/instructions"
)

// Conclusions of the Action, in addition to those of package agent.
const (
	Denied      agent.Conclusion = "denied"       // fail_on_denied, and a host was refused
	ConfigError agent.Conclusion = "config_error" // inputs or the project's settings cannot be used
	Unenforced  agent.Conclusion = "unenforced"   // the firewall did not hold, whatever the agent says
	SetupError  agent.Conclusion = "setup_error"  // no engine, no image, or the firewall could not be verified
)

// Runner runs the agent once in a sandbox.
type Runner interface {
	// Run returns a Report as full as it could be made, also with an error.
	// The error says why the agent did not come to an end of its own.
	Run(ctx context.Context, job Job) (Report, error)
}

// Job is one run as the workflow asked for it.
type Job struct {
	ID        string // names the containers
	Inputs    Inputs
	Keys      map[string]string // values of the inputs' keys by name; they stay in this process
	Context   []string          // variables that say which run of which workflow this is, NAME=value
	Texts     *instructions.Set // for Claude, in place of the commit's own; nil = there are none
	Untrusted bool              // the checked-out commit may be a stranger's: Claude gets none of its instructions
	Dir       string            // folder for transcript, audit log and summary; it exists
	Events    func(agent.Event) // hears what happens, in order
	Progress  io.Writer         // what the sandbox says of itself, for people
	Hide      func(string)      // keeps a secret that turns up now out of the log
}

// Report is what a run came to. Its zero value is a run that never began.
type Report struct {
	Outcome             agent.Outcome
	Result              *agent.Result     // nil when claude never reported; the agent's word, cost and turns included
	Egress              *report.Report    // nil when the firewall never ran
	Learned             *learn.Lesson     // what egress: block lacks for this run; nil = it had no egress: audit
	MeteredUSD          float64           // list price of these tokens in US dollars, as the proxy computed it
	TokensIn, TokensOut int64             // what the model API reported to the proxy, outside the sandbox; 0 = it answered nothing
	Changes             *changes.Set      // to the workspace; nil when the agent never ran
	Models              []spending.Spent  // tokens and their price by model, as the proxy counted them
	Facts               []string          // of the sandbox, a line each
	Notes               []string          // what the run left closed or unread
	Warnings            []string          // sentences; names in them may be the agent's
	Patch               string            // path of the changes as a unified diff; "" = nothing changed
	Bundle              string            // path of the agent's commits as a git bundle; "" = it made none
	Canaries            *sandbox.Canaries // nil when the firewall never ran
	Structured          []byte            // the answer that fits the input json_schema; nil = there is none
	Transcript          string            // path of claude's stream-json, without known secrets; "" when there is none
}

// reported is everything that outputs, summary and annotations are made of.
type reported struct {
	Report
	events    *events
	duration  time.Duration
	dir       string // report folder; "" when it could not be made
	changed   changed
	untrusted bool // see Job
	texts     *instructions.Set
	said      bool   // an annotation says why the step fails
	explained string // the outcome's message with what to do, for the summary; "" = there is no more to say
}

// explained are errors with their hints, a line each.
func explained(errs ...error) string {
	var b strings.Builder
	for _, err := range errs {
		b.WriteString(err.Error() + "\n")
		if hint := diag.HintOf(err); hint != "" {
			b.WriteString("  " + hint + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// denied lists the refused hosts; nil without a firewall.
func (r reported) denied() []string {
	if r.Egress == nil {
		return nil
	}
	var hosts []string
	for _, host := range r.Egress.DeniedHosts() {
		hosts = append(hosts, NeutralLine(host, maxHost))
	}
	return hosts
}

// maxHost is the longest that a host name can be, in characters (RFC 1035).
const maxHost = 253

// canaries says in one word whether the firewall held; "" when it never ran.
func (r reported) canaries() string {
	switch {
	case r.Canaries == nil:
		return ""
	case r.Canaries.Broken != "":
		return "broken"
	}
	return "held"
}

// text is the agent's closing text, or what failed.
func (r reported) text() string {
	if r.Result != nil && r.Result.Text != "" {
		return r.Result.Text
	}
	return r.Outcome.Message
}
