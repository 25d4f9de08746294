package sandbox

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/agent/conversation"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/visible"
)

// HomeFile is a file that Claude's own folder, ~/.claude, begins with.
type HomeFile struct {
	Path string // relative, slash-separated, clean
	Data []byte
}

// ConversationFile in a run's folder is its conversation, for a later run; see
// package conversation.
const ConversationFile = "conversation.jsonl"

// keepTimeout bounds reading the conversation, whose size is the agent's choice up
// to a limit.
const keepTimeout = 30 * time.Second

// fillHome makes Claude's own folder the agent's, with the files that it begins with.
func fillHome(ctx context.Context, e *engine.Engine, sidecar string, p *Plan, files []HomeFile) error {
	if p.Agent.TTY {
		files = append([]HomeFile{{agent.StateFile, agent.State(workspaceTarget)}}, files...)
	}
	if !p.obeysProject {
		files = append([]HomeFile{{"settings.json", []byte(userSettings)}}, files...)
	}
	var archive bytes.Buffer
	tw := tar.NewWriter(&archive)
	made := map[string]bool{}
	var folder func(name string) error
	folder = func(name string) error {
		if made[name] {
			return nil
		}
		made[name] = true
		if name != path.Base(claudeHome) {
			if err := folder(path.Dir(name)); err != nil {
				return err
			}
		}
		return tw.WriteHeader(&tar.Header{Name: name + "/", Typeflag: tar.TypeDir, Mode: 0o700, Uid: p.gitOwner.UID, Gid: p.gitOwner.GID})
	}
	err := folder(path.Base(claudeHome))
	for _, f := range files {
		name := path.Join(path.Base(claudeHome), f.Path)
		err = errors.Join(err, folder(path.Dir(name)),
			tw.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o600, Size: int64(len(f.Data)), Uid: p.gitOwner.UID,
				Gid: p.gitOwner.GID}))
		if err == nil {
			_, err = tw.Write(f.Data)
		}
	}
	if err = errors.Join(err, tw.Close()); err == nil {
		err = e.CopyTar(ctx, sidecar, claudeHomes, &archive)
	}
	if err != nil {
		return fmt.Errorf("%w: giving Claude a folder of its own: %w", ErrNoStart, err)
	}
	return nil
}

// keepAsTranscript keeps a conversation as the run's transcript: its lines have the form
// of Claude's output.
func (r *run) keepAsTranscript(messages []byte) error {
	name, file, err := r.stateFile(TranscriptFile)
	if err != nil {
		return err
	}
	_, err = file.Write(messages)
	if err = errors.Join(err, file.Close()); err == nil {
		r.result.Files.Transcript = name
	}
	return err
}

// keepConversation keeps what a later run needs to go on. A run without a
// conversation has none to keep, and one that cannot be kept fails no run.
func (r *run) keepConversation(ctx context.Context) {
	begun := r.agent.scanner.Init()
	if r.plan.session != "" {
		begun = &agent.Init{SessionID: r.plan.session}
	}
	if begun != nil {
		r.result.Model = visible.Line(begun.Model[:min(len(begun.Model), 60)])
	}
	if begun == nil || !conversation.IsID(begun.SessionID) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	workDir := r.plan.Agent.WorkingDir
	from, to := io.Pipe()
	go func() {
		to.CloseWithError(r.engine.CopyOut(ctx, r.sidecar.id, path.Join(claudeHome, conversation.Path(workDir, begun.SessionID)), to))
	}()
	var kept bytes.Buffer
	clean := r.plan.redactor().Writer(&kept)
	n, err := conversation.Keep(clean, from, workDir, begun.SessionID)
	_ = from.CloseWithError(err)
	if err = errors.Join(err, clean.Close()); err == nil && n > 0 {
		var file io.WriteCloser
		if _, file, err = r.stateFile(ConversationFile); err == nil {
			_, err = file.Write(kept.Bytes())
			err = errors.Join(err, file.Close())
		}
		if err == nil && r.plan.Agent.TTY { // there is no other transcript
			err = r.keepAsTranscript(kept.Bytes())
		}
	}
	switch {
	case err == nil && n > 0:
		r.result.Conversation = begun.SessionID
	case err == nil: // it ended before the first word
	case !errors.Is(err, engine.ErrNotFound): // claude was told to keep none
		r.host.Say(fmt.Sprintf("note: no later run can go on with this conversation: %v", err))
	}
}
