package sandbox

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/agent/conversation"
	"github.com/org/claude-sandbox/internal/engine"
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
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	all, err := r.takeConversations(ctx, begun.SessionID)
	for i, c := range all {
		name := ConversationFile
		if i > 0 {
			name = EarlierConversationFile(c.id)
		}
		if _, failed := r.saveMessages(name, c.messages); failed != nil {
			err = errors.Join(err, failed)
			break
		}
		if i == 0 {
			r.result.Conversation = c.id
		} else {
			r.result.EarlierConversations = append(r.result.EarlierConversations, c.id)
		}
	}
	if r.plan.Agent.TTY { // there is no other transcript, and the lines have the form of Claude's output
		name, failed := r.transcript.end(all)
		r.result.Files.Transcript, err = name, errors.Join(err, failed)
	}
	if err != nil && !errors.Is(err, engine.ErrNotFound) { // claude was told to keep none
		r.host.Say(fmt.Sprintf("note: no later run can go on with this conversation: %v", err))
		r.loseUnwritten("the conversation", err)
	}
}

// takeConversations reads the run's conversations out of the volumes of the firewall's
// container: on a terminal all of them, otherwise the one of its prompt.
func (r *run) takeConversations(ctx context.Context, begun string) (all []heldConversation, err error) {
	workDir := r.plan.Agent.WorkingDir
	name := path.Join(runplan.ClaudeHome, conversation.Path(workDir, begun))
	if r.plan.Agent.TTY {
		folder, err := r.engine.OpenTar(ctx, r.sidecar.id, path.Dir(name))
		if err != nil {
			return nil, err
		}
		defer folder.Close()
		return readConversations(folder, workDir, begun, r.redactor)
	}
	from, to := io.Pipe()
	go func() { to.CloseWithError(r.engine.CopyOut(ctx, r.sidecar.id, name, to)) }()
	messages, err := readConversation(from, workDir, begun, r.redactor)
	_ = from.CloseWithError(err)
	if err == nil && len(messages) > 0 {
		all = append(all, heldConversation{id: begun, messages: messages})
	}
	return all, err
}

// saveMessages writes a file in the run's folder and returns its path, "" when it could not.
func (r *run) saveMessages(name string, messages []byte) (string, error) {
	name, file, err := r.stateFile(name)
	if err != nil {
		return "", err
	}
	_, err = file.Write(messages)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	return name, nil
}
