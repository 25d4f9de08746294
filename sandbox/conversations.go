package sandbox

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/agent/conversation"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// ConversationFile in a run's folder is its newest conversation, for a later run; see
// package conversation.
const ConversationFile = "conversation.jsonl"

// EarlierConversationFile is the file of another conversation of the run, such as one that
// the person left by /clear. id must have the form of conversation.IsID.
func EarlierConversationFile(id string) string { return "conversation-" + id + ".jsonl" }

// keepTimeout bounds reading the conversations, whose size is the agent's choice up to a
// limit.
const keepTimeout = 30 * time.Second

// Bounds of what is kept of a run on a terminal, whose agent can write any number of files
// that look like conversations. The one that the run began with is always among them.
const (
	maxConversations = 20
	maxFolder        = 1 << 30 // bytes of the archive that is read
)

// heldConversation is one as it is kept: its messages, without secrets.
type heldConversation struct {
	id       string
	changed  time.Time
	messages []byte
}

// readConversation reads the messages of one conversation; none are no error.
func readConversation(from io.Reader, workDir, id string, secrets *redact.Redactor) (messages []byte, err error) {
	var held bytes.Buffer
	clean := secrets.Writer(&held)
	_, err = conversation.Keep(clean, from, workDir, id)
	err = errors.Join(err, clean.Close())
	return held.Bytes(), err
}

// readConversations reads an archive of the folder in which Claude has the conversations
// of workDir: those with a message, the newest first. A file that is none is left out,
// unless it is begun, the one with which the run began: then all of it errs.
func readConversations(in io.Reader, workDir, begun string, secrets *redact.Redactor) (all []heldConversation, err error) {
	archive := tar.NewReader(io.LimitReader(in, maxFolder))
	folder := path.Dir(conversation.Path(workDir, begun))
	for {
		h, err := archive.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, fmt.Errorf("reading Claude's folder: %w", err)
		}
		id := strings.TrimSuffix(path.Base(h.Name), ".jsonl")
		if !conversation.IsID(id) || h.Name != path.Join(path.Base(folder), id+".jsonl") || h.Typeflag != tar.TypeReg {
			continue
		}
		messages, err := readConversation(archive, workDir, id, secrets)
		if err != nil && id == begun {
			return all, err
		}
		if err == nil && len(messages) > 0 {
			all = newestOf(append(all, heldConversation{id, h.ModTime, messages}), begun)
		}
	}
}

// messageTime is the time in a line of a conversation.
var messageTime = regexp.MustCompile(`"timestamp":"([0-9T:.Z-]{20,30})"`)

// lastTime is the time of a conversation's last message. An archive has the time of a file
// in whole seconds, in which two conversations may have been changed.
func lastTime(messages []byte) string {
	lines := bytes.Split(bytes.TrimSpace(messages), []byte("\n"))
	if m := messageTime.FindSubmatch(lines[len(lines)-1]); m != nil {
		return string(m[1])
	}
	return ""
}

// newestOf sorts conversations, the newest first, and drops old ones beyond the bounds.
func newestOf(all []heldConversation, begun string) []heldConversation {
	slices.SortStableFunc(all, func(a, b heldConversation) int {
		return cmp.Or(b.changed.Compare(a.changed), strings.Compare(lastTime(b.messages), lastTime(a.messages)))
	})
	size := 0
	for _, c := range all {
		size += len(c.messages)
	}
	for i := len(all) - 1; i > 0 && (len(all) > maxConversations || size > conversation.MaxSize); i-- {
		if all[i].id != begun {
			size -= len(all[i].messages)
			all = slices.Delete(all, i, i+1)
		}
	}
	return all
}

// conversations are those of a run, in the volumes of the firewall's container.
type conversations struct {
	engine  *engine.Engine
	sidecar string
	workDir string // the agent's
	all     bool   // there may be several, as on a terminal
	known   *redact.Redactor
	folder  folder
	live    *liveTranscript // of a run on a terminal
}

func (r *run) conversations() conversations {
	return conversations{r.engine, r.sidecar.id, r.plan.Agent.WorkingDir, r.plan.Agent.TTY, r.redactor, r.folder, r.agent.transcript}
}

// keepConversations keeps what a later run needs to go on. A run without a conversation
// has none to keep, and one that cannot be kept fails no run.
func (r *run) keepConversations(ctx context.Context) {
	begun := r.agent.scanner.Init()
	if r.plan.Asked.Conversation() != "" {
		begun = &agent.Init{SessionID: r.plan.Asked.Conversation()}
	}
	if begun != nil {
		r.result.Warnings = append(r.result.Warnings, r.plan.FailedServers(begun)...)
		r.result.Model = visible.Line(begun.Model[:min(len(begun.Model), 60)])
	}
	if begun == nil || !conversation.IsID(begun.SessionID) {
		return
	}
	err := r.conversations().keep(ctx, begun.SessionID, &r.result)
	if err != nil && !errors.Is(err, engine.ErrNotFound) { // claude was told to keep none
		r.host.Say(fmt.Sprintf("note: no later run can go on with this conversation: %v", err))
		r.notices.loseUnwritten("the conversation", err)
		r.leaveForLater(err)
	}
}

// keep writes them into the run's folder and names them in the result. begun is the one
// with which the run began.
func (c conversations) keep(ctx context.Context, begun string, result *Result) error {
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	all, err := c.take(ctx, begun)
	kept, failed := c.folder.writeConversations(all)
	if err = errors.Join(err, failed); len(kept) > 0 {
		result.Conversation, result.EarlierConversations = kept[0], kept[1:]
	}
	if c.all { // there is no other transcript, and the lines have the form of Claude's output
		name, failed := c.live.end(all)
		result.Files.Transcript, err = name, errors.Join(err, failed)
	}
	return err
}

// writeConversations writes conversations, of which the newest is first, and returns the ids
// of those that are there now.
func (f folder) writeConversations(all []heldConversation) (kept []string, err error) {
	for i, one := range all {
		name := ConversationFile
		if i > 0 {
			name = EarlierConversationFile(one.id)
		}
		if err := f.write(name, one.messages); err != nil {
			_ = os.Remove(f.path(name)) // a part of it is none, and a later try may succeed
			return kept, err
		}
		kept = append(kept, one.id)
	}
	return kept, nil
}

// take reads them: all of them, or the one that begun names.
func (c conversations) take(ctx context.Context, begun string) (all []heldConversation, err error) {
	place := path.Join(runplan.ClaudeHome, path.Dir(conversation.Path(c.workDir, begun)))
	err = takeFolder(ctx, c.engine, c.sidecar, place, func(in io.Reader) (err error) {
		all, err = readConversations(in, c.workDir, begun, c.known)
		return err
	})
	if !c.all {
		all = slices.DeleteFunc(all, func(one heldConversation) bool { return one.id != begun })
	}
	return all, err
}

// rescueConversations keeps those of a dead run, as it does at its end. It keeps none of a
// run with secrets, which cannot be taken out any more; variables that were passed on stay,
// unless they look like a token. An error says that a later try may succeed.
func rescueConversations(ctx context.Context, e *engine.Engine, n liveRun) (said []string, err error) {
	if _, err := os.Lstat(filepath.Join(n.StateDir, ConversationFile)); err == nil || n.WorkDir == "" || !filekind.IsFolder(n.StateDir) {
		return nil, nil // the run came so far itself, or there is no place for them
	}
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	var all []heldConversation
	place := path.Join(runplan.ClaudeHome, path.Dir(conversation.Path(n.WorkDir, "")))
	err = takeFolder(ctx, e, runplan.FirewallContainer(n.ID), place, func(in io.Reader) (err error) {
		all, err = readConversations(in, n.WorkDir, "", (&runplan.Plan{}).Redactor(nil))
		return err
	})
	switch {
	case errors.Is(err, engine.ErrNotFound), err == nil && len(all) == 0:
		return nil, nil
	case n.Secrets:
		return []string{fmt.Sprintf("warning: the run %s ended without its program, which alone knew the run's secrets: its conversation is not "+
			"kept, which may hold some", n.ID)}, nil
	case err == nil:
		_, err = folder(n.StateDir).writeConversations(all)
	}
	if err == nil {
		err = n.amendSummary(func(summary map[string]any) { summary["sessionId"] = all[0].id })
	}
	switch {
	case err == nil:
		return []string{fmt.Sprintf("the conversation of the run %s is kept: --resume %[1]s goes on with it", n.ID)}, nil
	case canBeTakenLater(err):
		return nil, err
	}
	return []string{fmt.Sprintf("warning: no later run can go on with the conversation of the run %s: %v", n.ID, err)}, nil
}
