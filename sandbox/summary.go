package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/firewall/report"
)

// saveFirstSummary writes what a run says of itself until its end: which project
// it is of. One that is killed outright leaves this.
func (r *run) saveFirstSummary() error {
	r.result.ExitCode = exitInternal
	r.result.Outcome = agent.Outcome{Conclusion: agent.NoResult, Message: "the run has not ended, or was killed"}
	err := r.saveSummary(nil)
	r.result.ExitCode, r.result.Outcome = 0, agent.Outcome{}
	return err
}

// saveSummary writes the result as JSON into the run's folder.
func (r *run) saveSummary(failure error) error {
	name, f, err := r.stateFile(SummaryFile)
	if err != nil {
		return err
	}
	r.result.Files.Summary = name
	err = WriteSummary(f, &r.result, failure)
	return errors.Join(err, f.Close())
}

// WriteSummary writes a result as one JSON object (schemaVersion 1).
func WriteSummary(w io.Writer, result *Result, failure error) error {
	summary := struct {
		SchemaVersion int              `json:"schemaVersion"`
		ID            string           `json:"id"`
		Folder        string           `json:"folder"`
		ExitCode      int              `json:"exitCode"`
		Conclusion    string           `json:"conclusion"`
		Message       string           `json:"message,omitempty"`
		Error         string           `json:"error,omitempty"`
		SessionID     string           `json:"sessionId,omitempty"`
		CostUSD       float64          `json:"costUsd"` // this and turns are the agent's word
		Turns         int              `json:"turns"`
		Answers       int64            `json:"answers"` // of the model API, counted on the host
		Metered       credproxy.Usage  `json:"metered"` // tokens, likewise
		Result        string           `json:"result,omitempty"`
		Egress        []report.Row     `json:"egress"`
		Warnings      []string         `json:"warnings"`
		Milliseconds  map[string]int64 `json:"milliseconds"`
	}{
		SchemaVersion: 1, ID: result.ID, Folder: result.Folder, ExitCode: result.ExitCode,
		Conclusion: string(result.Outcome.Conclusion), Message: result.Outcome.Message,
		Answers: result.Answers, Metered: result.Usage,
		Egress: []report.Row{}, Warnings: append([]string{}, result.Warnings...), Milliseconds: result.Timings.milliseconds(),
	}
	if failure != nil {
		summary.Error = failure.Error()
	}
	if a := result.Agent; a != nil {
		summary.SessionID, summary.CostUSD, summary.Turns, summary.Result = a.SessionID, a.CostUSD, a.Turns, a.Text
	}
	if result.Egress != nil && result.Egress.Rows != nil {
		summary.Egress = result.Egress.Rows
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(summary); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	return nil
}
