package agent

import (
	"fmt"
	"slices"
	"strings"
)

// Conclusion is the kind of end that a run came to.
type Conclusion string

// The conclusions. All but Success and Attended are failures.
const (
	Success   Conclusion = "success"
	Failure   Conclusion = "failure"    // the agent ended with an error of its own
	MaxTurns  Conclusion = "max_turns"  // Headless.MaxTurns reached
	MaxBudget Conclusion = "max_budget" // Headless.MaxBudgetUSD reached
	// MaxRepeats: the agent made the same calls with the same results too often.
	MaxRepeats Conclusion = "max_repeats"
	// SchemaMismatch: the answer does not fit the schema that it was asked for.
	SchemaMismatch Conclusion = "schema_mismatch"
	APIError       Conclusion = "api_error"  // the model API failed
	AuthError      Conclusion = "auth_error" // the model API refused the credential
	NoResult       Conclusion = "no_result"  // the agent ended without a result event
	Timeout        Conclusion = "timeout"
	Cancelled      Conclusion = "cancelled"
	Attended       Conclusion = "attended" // a person worked with it on a terminal until it ended; no failure
	Tampered       Conclusion = "tampered" // the output cannot be Claude's alone, or no model stands behind it
	// Unsandboxed: Claude worked on this machine without a sandbox. Nothing was watched, so
	// nothing is judged, and no reader of results takes it for a run in the sandbox.
	Unsandboxed Conclusion = "unsandboxed"
	// Unprotected: somebody on the host took away what protected a path of the
	// workspace, and the agent was ended.
	Unprotected Conclusion = "unprotected"
)

// End says whether the caller ended the process, and why.
type End string

// The ends.
const (
	EndedItself      End = ""            // no one else ended it
	EndedTimeout     End = "timeout"     // it ran out of time
	EndedCancel      End = "cancelled"   // the user or the workflow stopped it
	EndedUnreachable End = "unreachable" // the model API never answered
	EndedHopeless    End = "hopeless"    // APIRetry.Hopeless: the credential was refused
)

// Outcome is the judgement on a run.
type Outcome struct {
	Conclusion Conclusion
	Message    string // one line for people; "" for Success
}

// OK reports that it is no failure.
func (o Outcome) OK() bool { return o.Conclusion == Success || o.Conclusion == Attended }

// Evidence is what a run left to judge by. All but Result comes from outside
// of the sandbox; Tampered is read out of the agent's output too.
type Evidence struct {
	Result   *Result // the last result event; nil = there was none
	Tampered string  // Scanner.Tampered
	ExitCode int
	// Unprotected says what lost its protection while the agent worked; "" =
	// nothing. Nothing else is worth more to know.
	Unprotected string
	End         End
	Prompt      string // of the run; its beginning is enough
	Answers     int64  // requests of this run that the model API answered; credproxy counts them
	// Last is how the model API answered the newest request of Claude's main
	// conversation, as the host read it.
	Last Answer
	// HookOpen says that the agent of a hook asked the model and has not come to
	// its own end, as the host read it.
	HookOpen bool
	// Limit is MaxTurns, MaxBudget or MaxRepeats when the host refused a request for it; "" =
	// it refused none.
	Limit Conclusion
}

// Judge is the one judgement on a run. It is Success only when a result event
// exists, its subtype is success, it is no error, the process ended by itself
// with exit code 0, the output's events are in order, and the model's last answer
// came to its end and is the result: claude says subtype "success" of API errors
// too, ends with 0 when interrupted, and with 1 when it could not check an
// action; and whoever can write to claude's output can write a result there.
func Judge(e Evidence) Outcome {
	if e.Unprotected != "" {
		return Outcome{Unprotected, e.Unprotected}
	}
	switch e.End {
	case EndedTimeout:
		return Outcome{Timeout, "the run took longer than allowed"}
	case EndedCancel:
		return Outcome{Cancelled, "the run was cancelled"}
	case EndedUnreachable:
		return Outcome{APIError, "the model API cannot be reached"}
	case EndedHopeless:
		return Outcome{AuthError, "the model API refused the credential"}
	}
	if e.Tampered != "" {
		return Outcome{Tampered, "the output was tampered with: " + e.Tampered}
	}
	if e.Result == nil {
		return Outcome{NoResult, fmt.Sprintf("claude ended with exit code %d and without a result", e.ExitCode)}
	}
	result := e.Result
	switch {
	case e.Limit == MaxTurns:
		return Outcome{MaxTurns, result.message("the limit of turns was reached")}
	case e.Limit == MaxBudget:
		return Outcome{MaxBudget, result.message("the budget was used up")}
	case e.Limit == MaxRepeats:
		return Outcome{MaxRepeats, result.message("the agent repeated itself")}
	case result.Subtype == "error_max_turns" || result.TerminalReason == "max_turns":
		return Outcome{MaxTurns, result.message("the limit of turns was reached")}
	case result.Subtype == "error_max_budget_usd" || result.TerminalReason == "budget_exhausted":
		return Outcome{MaxBudget, result.message("the budget was used up")}
	case result.APIErrorStatus == 401 || result.APIErrorStatus == 403 || result.notLoggedIn():
		return Outcome{AuthError, result.message("the model API refused the credential")}
	case result.TerminalReason == "api_error" || result.APIErrorStatus != 0:
		return Outcome{APIError, result.message("the model API failed")}
	case result.IsError || result.Subtype != "success":
		return Outcome{Failure, result.message("claude reports " + oneLine(result.Subtype, maxArgument))}
	case e.ExitCode != 0:
		return Outcome{Failure, fmt.Sprintf("claude ended with exit code %d although its result says success", e.ExitCode)}
	case e.Answers == 0 && command(e.Prompt) != "":
		return judgeCommand(command(e.Prompt), result)
	case e.Answers == 0:
		return Outcome{Tampered, "the result says success, but the model API answered no request of this run"}
	}
	if name := command(e.Prompt); name != "" && result.LocalCommand == name && result.silent() && slices.Contains(naturalEnds, e.Last.Stop) {
		// As /compact, which asks the model and says nothing of its answer. No success: a program
		// in claude's place can say as little.
		return Outcome{Failure, noAnswer(name)}
	}
	if why := e.Last.disagrees(result); why != "" {
		return Outcome{Tampered, "the result says success, but " + why}
	}
	if e.HookOpen {
		return Outcome{Failure, "the result says success, but a hook of claude's had not ended its check"}
	}
	return Outcome{Conclusion: Success}
}

// JudgeAttended is Judge for a session with a person on a terminal. The person saw what
// became of it; its exit code is the program's.
func JudgeAttended(e Evidence) Outcome {
	if e.Unprotected != "" || e.End != EndedItself {
		return Judge(e)
	}
	return Outcome{Conclusion: Attended}
}

// reports are the commands of claude's own that only report on the session.
// Nothing can be done or claimed by them, so no model needs to stand behind
// their result.
var reports = []string{"context", "cost", "model", "usage"}

// command is the name of the slash command that a prompt begins with; "" = it is
// none.
func command(prompt string) string {
	words := strings.Fields(prompt)
	if len(words) == 0 {
		return ""
	}
	name, is := strings.CutPrefix(words[0], "/")
	if !is {
		return ""
	}
	return name
}

// judgeCommand judges a success for which claude asked no model, though the
// user's prompt is the slash command name. A project's own commands always ask
// the model, so only a program in claude's place can say that one succeeded.
func judgeCommand(name string, result *Result) Outcome {
	if slices.Contains(reports, name) && result.LocalCommand == name {
		return Outcome{Conclusion: Success}
	}
	if result.LocalCommand == name && result.silent() {
		return Outcome{Failure, noAnswer(name)}
	}
	message := "claude asked no model for /" + oneLine(name, 60)
	if words := oneLine(result.Text, maxArgument); words != "" {
		message += ": " + words
	}
	return Outcome{Failure, message}
}

// noAnswer says that a run asked for a command of claude's own which answers nothing.
func noAnswer(name string) string {
	return "claude's own command /" + oneLine(name, 60) + " gives no answer: a run needs a task as its prompt"
}

// silent reports a result without an answer.
func (r *Result) silent() bool { return r.Text == "" && r.Structured == nil }

// message prefers claude's own words.
func (r *Result) message(otherwise string) string {
	words := strings.Join(r.Errors, "; ")
	if words == "" && r.IsError {
		words = r.Text
	}
	if words = oneLine(words, 1000); words != "" {
		return words
	}
	return otherwise
}

// idle recognises the result of a part of the session in which Claude asked no
// model and said nothing (measured: two subagents that end at the same time).
func (r *Result) idle() bool {
	return r.Subtype == "success" && !r.IsError && r.Turns == 0 && r.Text == "" && r.Structured == nil
}

// notLoggedIn recognises the run that had no credential at all; no request is
// sent then and there is no status to go by.
func (r *Result) notLoggedIn() bool {
	return r.IsError && strings.HasPrefix(r.Text, "Not logged in")
}
