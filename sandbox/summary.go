package sandbox

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/firewall/report"
	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/exitcode"
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

// saveFirstSummary writes what a run says of itself until its end: which project
// it is of. One that is killed outright leaves this.
func (r *run) saveFirstSummary() error {
	r.result.ExitCode = exitcode.Internal
	r.result.Outcome = agent.Outcome{Conclusion: agent.NoResult, Message: "the run has not ended, or was killed"}
	err := r.saveSummary(nil)
	r.result.ExitCode, r.result.Outcome = 0, agent.Outcome{}
	return err
}

// saveSummary writes the result as JSON into the run's folder.
func (r *run) saveSummary(failure error) error {
	name := filepath.Join(r.host.StateDir, SummaryFile)
	err := atomicfile.Write(name, 0o600, func(w io.Writer) error { return WriteSummary(w, &r.result, failure) })
	if err != nil { // the first summary stays
		return fmt.Errorf("writing the run's files: %w", err)
	}
	r.result.Files.Summary = name
	return nil
}

// Bounds of the summary: the agent decides how many hosts it tries and how many
// files it writes. All of it is in the run's other files.
const (
	maxSummaryRows  = 1000 // of the egress report
	maxSummaryPaths = 1000 // changed files
)

// use is Use as the summary has it.
type use struct {
	PeakMemoryBytes int64   `json:"peakMemoryBytes"`
	CPUSeconds      float64 `json:"cpuSeconds"`
	PeakPIDs        int64   `json:"peakPids"`
	WrittenBytes    int64   `json:"writtenBytes"`
}

// WriteSummary writes a result as one JSON object (schemaVersion 1).
func WriteSummary(w io.Writer, result *Result, failure error) error {
	summary := struct {
		SchemaVersion int              `json:"schemaVersion"`
		ID            string           `json:"id"`
		Name          string           `json:"name,omitempty"`
		Folder        string           `json:"folder"`
		FolderIs      string           `json:"folderIdentity,omitempty"` // filekind.Identity of folder at the start
		Settings      string           `json:"settingsFolder,omitempty"` // whose settings it had: folder, or a part of it
		Sandbox       string           `json:"sandbox"`                  // "devcontainer", or "none" for a run without a sandbox
		Workspace     string           `json:"workspace,omitempty"`      // how the agent had it: bind, ro, none, copy or clone
		WorkTree      string           `json:"workTree,omitempty"`       // the copy that the agent worked in, in the run's folder
		ExitCode      int              `json:"exitCode"`
		Conclusion    string           `json:"conclusion"`
		Message       string           `json:"message,omitempty"`
		Error         string           `json:"error,omitempty"`
		Prompt        string           `json:"prompt,omitempty"` // its first words
		Model         string           `json:"model,omitempty"`  // as Claude names it
		SessionID     string           `json:"sessionId,omitempty"`
		CostUSD       float64          `json:"costUsd"` // this and turns are the agent's word
		Turns         int              `json:"turns"`
		Answers       int64            `json:"answers"`       // of the model API, counted on the host
		Metered       credproxy.Usage  `json:"metered"`       // tokens, likewise
		MeteredUSD    float64          `json:"meteredUsd"`    // what they cost at list price, likewise
		Models        []spending.Spent `json:"meteredModels"` // both by model, the dearest first
		Result        string           `json:"result,omitempty"`
		Structured    json.RawMessage  `json:"structured,omitempty"` // the answer, where a schema was given and it fits
		Egress        []report.Row     `json:"egress"`
		EgressMore    int              `json:"egressMore,omitempty"` // rows that are left out
		Changed       []string         `json:"changedFiles"`         // the dangerous ones first; a folder with very many ends with "/"
		ChangedCount  int              `json:"changedFilesCount"`
		Warnings      []string         `json:"warnings"`
		Commits       []gitdir.Commits `json:"commits,omitempty"` // that 'sbx-devc apply' makes branches of
		Notes         []string         `json:"notes"`             // what the run left closed or unread
		Milliseconds  map[string]int64 `json:"milliseconds"`
		Use           *use             `json:"use,omitempty"` // of the agent's container, counted by the engine
	}{
		SchemaVersion: 1, ID: result.ID, Name: result.Name, Folder: result.Folder, FolderIs: result.FolderIdentity,
		Settings: result.SettingsFolder, Workspace: result.Workspace,
		WorkTree: result.WorkTree, ExitCode: result.ExitCode, Conclusion: string(result.Outcome.Conclusion), Message: result.Outcome.Message,
		Sandbox: sandboxOf(result), Commits: result.Commits, Prompt: result.Prompt, Model: result.Model,
		Answers: result.Answers, Metered: result.Usage, MeteredUSD: result.MeteredUSD, Models: append([]spending.Spent{}, result.Models...),
		Egress: []report.Row{}, Changed: []string{}, Warnings: append([]string{}, result.Warnings...), Notes: append([]string{},
			result.Notes...), Milliseconds: result.Timings.milliseconds(),
	}
	switch {
	case failure != nil:
		summary.Error = failure.Error()
	case result.Outcome.Conclusion == agent.Cancelled: // it ended from our side, too
		summary.Error = result.Outcome.Message
	}
	if u := result.Use; u != nil {
		summary.Use = &use{u.PeakMemory, u.CPU.Seconds(), u.PeakPIDs, u.Written}
	}
	if a := result.Agent; a != nil {
		summary.SessionID, summary.CostUSD, summary.Turns, summary.Result = a.SessionID, agent.RoundUSD(a.CostUSD), a.Turns, a.Text
	}
	summary.Structured = result.Structured()
	summary.SessionID = cmp.Or(result.Conversation, summary.SessionID)
	if result.Egress != nil && result.Egress.Rows != nil {
		shown := result.Egress.First(maxSummaryRows)
		summary.Egress, summary.EgressMore = shown.Rows, shown.More
	}
	if result.Changes != nil {
		summary.Changed = append(summary.Changed, result.Changes.Paths(maxSummaryPaths)...)
		summary.ChangedCount = result.Changes.Files
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(summary); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	return nil
}
