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

// journal has the records of a run.
type journal struct {
	to    *slog.Logger // Host.Log
	begin time.Time    // of the run
}

// since is how long the run goes on.
func (j journal) since() time.Duration { return time.Since(j.begin) }

// about returns the logger for one subject.
func (j journal) about(what string) *slog.Logger {
	if j.to == nil {
		return slog.New(slog.DiscardHandler)
	}
	return j.to.With("what", what)
}

// step records that a part of the start is done, and how long it took.
func (j journal) step(what string, took time.Duration) {
	j.about(aboutStart).Debug(what, "ms", took.Milliseconds())
}

// event records what the agent does.
func (j journal) event(ev agent.Event) {
	switch e := ev.(type) {
	case agent.Init:
		j.about(aboutStart).Info("Claude Code begins", "version", e.Version, "model", e.Model, "session", e.SessionID)
	case agent.ToolUse:
		j.about(aboutTool).Info(e.Name, "id", e.ID, "argument", e.Argument)
	case agent.ToolResult:
		j.about(aboutAnswer).Info(e.Text, "id", e.ID, "failed", e.IsError)
	case agent.Denial:
		j.about(aboutTool).Info("Claude Code refused a tool", "id", e.ToolUseID, "tool", e.ToolName, "why", e.Message)
	case agent.Text:
		j.about(aboutAnswer).Info(e.Text)
	}
}

// end records what is known of the run when all of it is over.
func (j journal) end(result *Result, failure error) {
	if result.Egress != nil {
		shown := result.Egress.First(maxSummaryRows)
		for _, row := range shown.Rows {
			level := slog.LevelInfo
			if row.Verdict == firewall.Deny {
				level = slog.LevelWarn
			}
			j.about(aboutNetwork).Log(context.Background(), level, string(row.Verdict), "host", row.Host, "port", row.Port,
				"proto", string(row.Proto), "count", row.Count, "reason", row.Reason, "rule", row.Rule)
		}
		if shown.More > 0 {
			j.about(aboutNetwork).Warn("further destinations are in the run's audit log", "count", shown.More)
		}
	}
	if u := result.Use; u != nil {
		j.about(aboutResources).Info(u.String(), "peakMemoryBytes", u.PeakMemory, "cpuMs", u.CPU.Milliseconds(), "peakPids", u.PeakPIDs,
			"writtenBytes", u.Written)
	}
	times := []any{"answers", result.Answers, "meteredUsd", result.MeteredUSD}
	for name, ms := range result.Timings.milliseconds() {
		times = append(times, slog.Int64(name+"Ms", ms))
	}
	j.about(aboutResources).Debug("times and costs", times...)
	fields := []any{"conclusion", string(result.Outcome.Conclusion), "message", result.Outcome.Message, "exitCode", result.ExitCode}
	if failure != nil {
		fields = append(fields, "error", failure.Error())
	}
	j.about(aboutEnd).Info("the run has ended", fields...)
}
