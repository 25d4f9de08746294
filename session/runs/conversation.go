package runs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/agent/conversation"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// Earlier is a conversation that a run goes on with; the zero value is none.
type Earlier struct {
	ID   string // claude's
	text []byte
}

// ReadEarlier reads a file with a conversation that a run kept, after others may have had
// it: only what conversation.Keep takes of it counts.
func ReadEarlier(file string) (Earlier, error) {
	text, err := filekind.Read(file, conversation.MaxSize)
	if err != nil {
		return Earlier{}, err
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	var line struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.Unmarshal(first, &line); err != nil || !conversation.IsID(line.SessionID) {
		return Earlier{}, errors.New("it is no conversation that a run kept")
	}
	var kept bytes.Buffer
	n, err := conversation.Keep(&kept, bytes.NewReader(text), runplan.WorkspaceTarget, line.SessionID)
	if err == nil && n == 0 {
		err = errors.New("the conversation has no messages")
	}
	return Earlier{line.SessionID, kept.Bytes()}, err
}

// Files are what Claude's own folder must begin with, when it works in the folder
// workDir of the sandbox.
func (e Earlier) Files(workDir string) []sandbox.HomeFile {
	if e.ID == "" {
		return nil
	}
	return []sandbox.HomeFile{{Path: conversation.Path(workDir, e.ID), Data: e.text}}
}

// Conversation finds what a run in project goes on with: the conversation that name
// means, a run's id or claude's own, or for "" the newest one of the project. A run on a
// terminal may have left several. It errs when there is none, or it is another project's.
func (h Home) Conversation(project, name string) (Earlier, error) {
	if folder := h.find(name); folder != name {
		name = filepath.Base(folder)
	}
	if name != "" && !idForm.MatchString(name) && !conversation.IsID(name) {
		return Earlier{}, h.Unknown("run or conversation", name)
	}
	former := ""
	for run, folder := range h.newest() {
		summary := readSummary(folder)
		if name == "" && summary.Folder == project && !summary.isOf(project) {
			former = cmp.Or(former, run)
			continue
		}
		file := sandbox.ConversationFile
		if conversation.IsID(name) && isKept(folder, sandbox.EarlierConversationFile(name)) {
			file, summary.SessionID = sandbox.EarlierConversationFile(name), name
		}
		if name != "" && run != name && summary.SessionID != name || name == "" && summary.Folder != project {
			continue
		}
		if summary.Folder != project {
			err := fmt.Errorf("the run %s was in %s, and this one is in %s", run, summary.Folder, project)
			return Earlier{}, exitcode.With(exitcode.NoInput,
				diag.WithHint(err, "go on there: sbx-devc run %s --resume %s 'PROMPT'", summary.Folder, name))
		}
		text, err := os.ReadFile(filepath.Join(folder, file))
		switch {
		case err == nil && conversation.IsID(summary.SessionID):
			return Earlier{summary.SessionID, text}, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return Earlier{}, exitcode.With(exitcode.NoInput, fmt.Errorf("reading the conversation: %w", err))
		case name == run:
			err := fmt.Errorf("the run %s left no conversation", run)
			return Earlier{}, exitcode.With(exitcode.NoInput, diag.WithHint(err, "'sbx-devc ls' lists the runs"))
		}
		// Another run may have it.
	}
	if former != "" {
		err := fmt.Errorf("the folder %s was made anew since its last run, %s", project, former)
		return Earlier{}, exitcode.With(exitcode.NoInput, diag.WithHint(err,
			"to go on with that conversation in this folder: --resume %s", former))
	}
	what := "no run in " + project + " left a conversation"
	if name != "" {
		what = "no run with a conversation is " + name
	}
	return Earlier{}, exitcode.With(exitcode.NoInput, diag.WithHint(fmt.Errorf("%s, in %s", what, h.Dir()),
		"'sbx-devc ls' lists the runs; without --continue and --resume a new conversation begins"))
}
