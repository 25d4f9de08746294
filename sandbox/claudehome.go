package sandbox

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/agent/conversation"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox/kept"
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

// fillHome adds Claude's own folder, which is the agent's, to an archive for the
// firewall's container, with the files that it begins with: files, and what earlier runs
// left behind them. prefer are members of Claude's settings that those files may have as
// well.
func (p *Plan) fillHome(tw *tar.Writer, files []HomeFile, prefer map[string]map[string]any) error {
	all := map[string][]byte{}
	if p.Agent.TTY {
		all[agent.StateFile] = agent.State(workspaceTarget)
	}
	if !p.asked.Instructions.Settings {
		all["settings.json"] = []byte(userSettings)
	}
	for _, f := range files {
		all[f.Path] = f.Data
	}
	for name, members := range prefer {
		all[name] = kept.WithPreferences(all[name], members)
	}
	return addArchive(tw, claudeHomes, func(w io.Writer) error {
		return kept.Pack(w, path.Base(claudeHome), all, p.place.owner.UID, p.place.owner.GID)
	})
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

// fillHomes adds what the agent's home begins with: what earlier runs left, and over it
// the run's own files.
func (p *Plan) fillHomes(tw *tar.Writer, h Host) error {
	var prefer map[string]map[string]any
	if h.Kept != nil {
		if err := fillKept(tw, h.Kept, p.asked.Persist, p.place.owner); err != nil {
			return err
		}
		if h.Kept.KeepsClaude() {
			prefer = h.Kept.Preferences()
		}
	}
	return p.fillHome(tw, h.Home, prefer)
}

// addArchive adds what write writes, an archive for folder, to one for the root.
func addArchive(tw *tar.Writer, folder string, write func(io.Writer) error) error {
	from, to := io.Pipe()
	go func() { to.CloseWithError(write(to)) }()
	defer from.Close()
	in := tar.NewReader(from)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		h.Name = strings.TrimPrefix(folder, "/") + "/" + h.Name
		if h.Typeflag == tar.TypeLink {
			h.Linkname = strings.TrimPrefix(folder, "/") + "/" + h.Linkname
		}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		if _, err := io.Copy(tw, in); err != nil {
			return err
		}
	}
}

// keepConversation keeps what a later run needs to go on. A run without a
// conversation has none to keep, and one that cannot be kept fails no run.
func (r *run) keepConversation(ctx context.Context) {
	begun := r.agent.scanner.Init()
	if r.plan.asked.session() != "" {
		begun = &agent.Init{SessionID: r.plan.asked.session()}
	}
	if begun != nil {
		r.result.Warnings = append(r.result.Warnings, r.plan.failedServers(begun)...)
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
	clean := r.redactor.Writer(&kept)
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
