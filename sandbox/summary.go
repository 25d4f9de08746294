package sandbox

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/firewall/report"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// sandboxOf says whether a run had a sandbox, in the words of the settings.
func sandboxOf(result *Result) string {
	if result.Outcome.Conclusion == agent.Unsandboxed {
		return settings.SandboxNone
	}
	return settings.SandboxDevcontainer
}

// Bounds of the summary: the agent decides how many hosts it tries and how many
// files it writes. All of it is in the run's other files.
const (
	maxSummaryRows  = 1000 // of the egress report
	maxSummaryPaths = 1000 // changed files
)

// summary is a result as one JSON object.
type summary struct {
	SchemaVersion int `json:"schemaVersion"`
	summaryRun
	summaryEnd
	summaryClaude
	summaryMeter
	summaryNetwork
	summaryFiles
	Warnings     []string         `json:"warnings"`
	Notes        []string         `json:"notes"` // what the run left closed or unread
	Milliseconds map[string]int64 `json:"milliseconds"`
	Use          *use             `json:"use,omitempty"` // of the agent's container, counted by the engine
}

// summaryRun says which run it is, and of what.
type summaryRun struct {
	ID        string `json:"id"`
	Name      string `json:"name,omitempty"`
	Folder    string `json:"folder"`
	FolderIs  string `json:"folderIdentity,omitempty"` // filekind.Identity of folder at the start
	Settings  string `json:"settingsFolder,omitempty"` // whose settings it had: folder, or a part of it
	Sandbox   string `json:"sandbox"`                  // "devcontainer", or "none" for a run without a sandbox
	Workspace string `json:"workspace,omitempty"`      // how the agent had it: bind, ro, none, copy or clone
	WorkTree  string `json:"workTree,omitempty"`       // the copy that the agent worked in, in the run's folder
	// SecretSources are for whoever looks at what the run left, where it could not itself.
	SecretSources *Sources `json:"secretSources,omitempty"`
}

// summaryEnd says how it ended.
type summaryEnd struct {
	ExitCode   int    `json:"exitCode"`
	Conclusion string `json:"conclusion"`
	Message    string `json:"message,omitempty"`
	Error      string `json:"error,omitempty"`
}

// summaryClaude is what Claude was asked and says; all of it but the prompt is its word.
type summaryClaude struct {
	Prompt     string          `json:"prompt,omitempty"` // its first words
	Model      string          `json:"model,omitempty"`  // as Claude names it
	SessionID  string          `json:"sessionId,omitempty"`
	CostUSD    float64         `json:"costUsd"`
	Turns      int             `json:"turns"`
	Result     string          `json:"result,omitempty"`
	Structured json.RawMessage `json:"structured,omitempty"` // the answer, where a schema was given and it fits
}

// summaryMeter is what the model API answered, counted on the host.
type summaryMeter struct {
	Answers    int64            `json:"answers"`
	Metered    credproxy.Usage  `json:"metered"`       // tokens
	MeteredUSD float64          `json:"meteredUsd"`    // what they cost at list price
	Models     []spending.Spent `json:"meteredModels"` // both by model, the dearest first
}

// summaryNetwork is what the firewall saw, and whether it held.
type summaryNetwork struct {
	Egress     []report.Row `json:"egress"`
	EgressMore int          `json:"egressMore,omitempty"` // rows that are left out
	Canaries   *Canaries    `json:"canaries,omitempty"`
}

// summaryFiles is what the agent left.
type summaryFiles struct {
	Changed      []string         `json:"changedFiles"` // the dangerous ones first; a folder with very many ends with "/"
	ChangedCount int              `json:"changedFilesCount"`
	Commits      []gitdir.Commits `json:"commits,omitempty"` // that 'sbx-devc apply' makes branches of
}

// use is Use as the summary has it.
type use struct {
	PeakMemoryBytes int64   `json:"peakMemoryBytes"`
	CPUSeconds      float64 `json:"cpuSeconds"`
	PeakPIDs        int64   `json:"peakPids"`
	WrittenBytes    int64   `json:"writtenBytes"`
}

// WriteSummary writes a result as one JSON object (schemaVersion 1).
func WriteSummary(w io.Writer, result *Result, failure error) error {
	s := summary{
		SchemaVersion: 1,
		summaryRun: summaryRun{
			ID: result.ID, Name: result.Name, Folder: result.Folder, FolderIs: result.FolderIdentity, Settings: result.SettingsFolder,
			Sandbox: sandboxOf(result), Workspace: result.Workspace, WorkTree: result.WorkTree, SecretSources: result.sources,
		},
		summaryEnd:    result.endSummary(failure),
		summaryClaude: result.claudeSummary(),
		summaryMeter: summaryMeter{
			Answers: result.Answers, Metered: result.Usage, MeteredUSD: result.MeteredUSD, Models: append([]spending.Spent{}, result.Models...),
		},
		summaryNetwork: result.networkSummary(),
		summaryFiles:   result.filesSummary(),
		Warnings:       append([]string{}, result.Warnings...), Notes: append([]string{}, result.Notes...),
		Milliseconds: result.Timings.milliseconds(),
	}
	if u := result.Use; u != nil {
		s.Use = &use{u.PeakMemory, u.CPU.Seconds(), u.PeakPIDs, u.Written}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	return nil
}

func (r *Result) endSummary(failure error) summaryEnd {
	end := summaryEnd{ExitCode: r.ExitCode, Conclusion: string(r.Outcome.Conclusion), Message: r.Outcome.Message}
	switch {
	case failure != nil:
		end.Error = failure.Error()
	case r.Outcome.Conclusion == agent.Cancelled: // it ended from our side, too
		end.Error = r.Outcome.Message
	}
	return end
}

func (r *Result) claudeSummary() summaryClaude {
	claude := summaryClaude{Prompt: r.Prompt, Model: r.Model, Structured: r.Structured()}
	if a := r.Agent; a != nil {
		claude.SessionID, claude.CostUSD, claude.Turns, claude.Result = a.SessionID, agent.RoundUSD(a.CostUSD), a.Turns, a.Text
	}
	claude.SessionID = cmp.Or(r.Conversation, claude.SessionID)
	return claude
}

func (r *Result) networkSummary() summaryNetwork {
	network := summaryNetwork{Egress: []report.Row{}, Canaries: r.Canaries}
	if r.Egress != nil && r.Egress.Rows != nil {
		shown := r.Egress.First(maxSummaryRows)
		network.Egress, network.EgressMore = shown.Rows, shown.More
	}
	return network
}

func (r *Result) filesSummary() summaryFiles {
	files := summaryFiles{Changed: []string{}, Commits: r.Commits}
	if r.Changes != nil {
		files.Changed = append(files.Changed, r.Changes.Paths(maxSummaryPaths)...)
		files.ChangedCount = r.Changes.Files
	}
	return files
}
