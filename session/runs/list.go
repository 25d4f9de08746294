package runs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/sandbox"
)

// Run is what is known of a run. The agent has a say in all words but Project and
// Result.
type Run struct {
	ID           string    `json:"id"`
	Name         string    `json:"name,omitempty"`
	Began        time.Time `json:"began"`
	Folder       string    `json:"folder"`              // its files
	Project      string    `json:"project"`             // the folder that the agent got
	Settings     string    `json:"-"`                   // the folder whose settings it had: Project, or a part of it
	Workspace    string    `json:"workspace,omitempty"` // how the agent had the project: bind, ro, none, copy or clone
	Prompt       string    `json:"prompt"`              // its first words
	Model        string    `json:"model"`
	CostUSD      float64   `json:"costUsd"` // metered on this side, at list price
	Result       string    `json:"result"`  // agent.Conclusion; "running" while it goes on
	ExitCode     int       `json:"exitCode"`
	Conversation bool      `json:"conversation"`
	SessionID    string    `json:"sessionId"`
	// Metered is what it used of the model API, known at its end.
	Metered credproxy.Usage `json:"metered"`

	home Home
}

// String is the run in one line.
func (r Run) String() string {
	return sandbox.About(r.ID, r.Project, r.Prompt, r.Model, r.CostUSD, r.Result)
}

// running is the result of a run that goes on.
const running = "running"

// Outcome is the result for people, with the exit code of a success that was none for the
// caller: something of it could not be kept or passed on.
func (r Run) Outcome() string {
	if r.Result == string(agent.Success) && r.ExitCode != 0 {
		return fmt.Sprintf("%s, exit code %d", r.Result, r.ExitCode)
	}
	return r.Result
}

// GoesOn reports whether the run has not ended.
func (r Run) GoesOn() bool { return r.Result == running }

// IsUnreaped reports whether the run goes on, or was killed and is not cleaned up.
func (r Run) IsUnreaped() bool { return sandbox.IsUnreaped(r.home.Live(), r.ID) }

// List lists the runs of a project, or with "" all, the newest first.
func (h Home) List(project string) (runs []Run) {
	for id, folder := range h.newest() {
		if r := h.run(id, folder); project == "" || r.Project == project {
			runs = append(runs, r)
		}
	}
	return runs
}

// Run is what is known of the run in a folder; false when it is none.
func (h Home) Run(folder string) (Run, bool) {
	id := filepath.Base(folder)
	if !idForm.MatchString(id) {
		return Run{}, false
	}
	return h.run(id, folder), true
}

func (h Home) run(id, folder string) Run {
	s := readSummary(folder)
	began, _ := time.Parse(idTime, id[:len(idTime)]) // of idForm; a date that is none is the zero time
	r := Run{
		ID: id, Name: s.Name, Began: began, Folder: folder, Project: s.Folder, Settings: cmp.Or(s.SettingsFolder, s.Folder),
		Workspace: s.Workspace, Prompt: s.Prompt,
		Model: s.Model, CostUSD: s.MeteredUSD, Result: s.Conclusion, ExitCode: s.ExitCode, SessionID: s.SessionID, Metered: s.Metered,
		Conversation: isKept(folder, sandbox.ConversationFile), home: h,
	}
	if h.goesOn(id) {
		r.Result, r.ExitCode = running, 0
	}
	return r
}

// goesOn reports whether the program of a run lives.
func (h Home) goesOn(id string) bool {
	_, ok := sandbox.Supervisor(h.Live(), id)
	return ok
}

// summary is what is read of a run's summary.
type summary struct {
	Name, Folder, Prompt, Model, Conclusion, SessionID string
	ExitCode                                           int
	FolderIdentity                                     string // "" of a run of an earlier version
	SettingsFolder                                     string // "" of a run of an earlier version
	Workspace                                          string // its mode; "" of a run of an earlier version
	WorkTree                                           string // the copy of a run that worked on one, below its folder; see Work
	MeteredUSD                                         float64
	Metered                                            credproxy.Usage
}

// readSummary is empty where a run has left none.
func readSummary(run string) (s summary) {
	text, err := os.ReadFile(filepath.Join(run, sandbox.SummaryFile))
	if err != nil || json.Unmarshal(text, &s) != nil {
		return summary{}
	}
	return s
}

// isOf reports whether the run was of a project, and not of another one that was in its
// place before.
func (s summary) isOf(project string) bool {
	return s.Folder == project && (s.FolderIdentity == "" || s.FolderIdentity == filekind.Identity(project))
}

func isKept(folder, name string) bool {
	info, err := os.Lstat(filepath.Join(folder, name))
	return err == nil && info.Mode().IsRegular()
}
