package sandbox

import (
	"context"
	"log/slog"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/firewall"
)

// Records of a run are about one of these, as Host.Log has them.
const (
	aboutStart     = "start"
	aboutNetwork   = "network"
	aboutResources = "resources"
	aboutTool      = "tool"
	aboutAnswer    = "answer"
	aboutEnd       = "end"
)

// log returns the logger of Host.Log, for one subject.
func (r *run) log(about string) *slog.Logger {
	if r.host.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return r.host.Log.With("what", about)
}

// step records that a part of the start is done, and how long it took.
func (r *run) step(what string, took time.Duration) {
	r.log(aboutStart).Debug(what, "ms", took.Milliseconds())
}

// recordEvent records what the agent does.
func (r *run) recordEvent(ev agent.Event) {
	switch e := ev.(type) {
	case agent.Init:
		r.log(aboutStart).Info("Claude Code begins", "version", e.Version, "model", e.Model, "session", e.SessionID)
	case agent.ToolUse:
		r.log(aboutTool).Info(e.Name, "id", e.ID, "argument", e.Argument)
	case agent.ToolResult:
		r.log(aboutAnswer).Info(e.Text, "id", e.ID, "failed", e.IsError)
	case agent.Denial:
		r.log(aboutTool).Info("Claude Code refused a tool", "id", e.ToolUseID, "tool", e.ToolName, "why", e.Message)
	case agent.Text:
		r.log(aboutAnswer).Info(e.Text)
	}
}

// recordEnd records what is known of the run when all of it is over.
func (r *run) recordEnd(failure error) {
	if r.result.Egress != nil {
		shown := r.result.Egress.First(maxSummaryRows)
		for _, row := range shown.Rows {
			level := slog.LevelInfo
			if row.Verdict == firewall.Deny {
				level = slog.LevelWarn
			}
			r.log(aboutNetwork).Log(context.Background(), level, string(row.Verdict), "host", row.Host, "port", row.Port,
				"proto", string(row.Proto), "count", row.Count, "reason", row.Reason, "rule", row.Rule)
		}
		if shown.More > 0 {
			r.log(aboutNetwork).Warn("further destinations are in the run's audit log", "count", shown.More)
		}
	}
	if u := r.result.Use; u != nil {
		r.log(aboutResources).Info(u.String(), "peakMemoryBytes", u.PeakMemory, "cpuMs", u.CPU.Milliseconds(), "peakPids", u.PeakPIDs,
			"writtenBytes", u.Written)
	}
	times := []any{"answers", r.result.Answers, "meteredUsd", r.result.MeteredUSD}
	for name, ms := range r.result.Timings.milliseconds() {
		times = append(times, slog.Int64(name+"Ms", ms))
	}
	r.log(aboutResources).Debug("times and costs", times...)
	fields := []any{"conclusion", string(r.result.Outcome.Conclusion), "message", r.result.Outcome.Message, "exitCode", r.result.ExitCode}
	if failure != nil {
		fields = append(fields, "error", failure.Error())
	}
	r.log(aboutEnd).Info("the run has ended", fields...)
}
