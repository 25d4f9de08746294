package runs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/templates/adopt"
	"github.com/org/claude-sandbox/templates/scaffold"
)

// Log is an audit log, in a file here or in a container, and what is known about it.
type Log struct {
	Title  string           // the run's name, the file's, or the project's folder
	Policy *firewall.Policy // that it was made under; nil when it was not kept
	Keys   []credential.Use // what the keys of a run that is over did, or of a dev container that runs

	file       string   // "" = it is in a container
	containers []string // the first of these that runs has it
	firewalls  []string // those of them that are a firewall's own
}

// maxCollected bounds what is read of a log, in bytes: ours end at 128 MiB, but
// a dev container's image is the project's.
const maxCollected = 160 << 20

// ReadLogs reads the logs that the arguments name; without one the newest
// run's, of the given project unless that is "". For several logs neither the
// name nor the policy is known. Lines that are no record are left out, and said: a
// damaged log must not pass for a quiet one, and what has no record at all is none.
func (h Home) ReadLogs(ctx context.Context, args []string, project string) (Log, []audit.Record, error) {
	if len(args) == 0 {
		newest, err := h.newestLog(ctx, true, project)
		if err != nil {
			return Log{}, nil, err
		}
		args = []string{newest}
	}
	var log Log
	var records []audit.Record
	size, unreadable := 0, 0
	collect := func(line []byte) error {
		if size += len(line); size > maxCollected {
			return fmt.Errorf("the audit log is larger than %d bytes", maxCollected)
		}
		if r, ok := audit.Parse(line); ok {
			records = append(records, r)
		} else if len(bytes.TrimSpace(line)) > 0 {
			unreadable++
		}
		return nil
	}
	for _, arg := range args {
		var err error
		unreadable = 0
		before := len(records)
		if log, err = h.log(ctx, arg); err == nil {
			err = log.Tail(ctx, false, collect)
		}
		if err == nil && len(log.firewalls) > 0 {
			log.Keys = log.keysThere(ctx)
		}
		if err != nil {
			return Log{}, nil, err
		}
		if unreadable > 0 && len(records) == before {
			err := fmt.Errorf("%s is no audit log: not one of its %d lines is a record", log.Title, unreadable)
			return Log{}, nil, exitcode.With(exitcode.Config, diag.WithHint(err,
				"an audit log has lines of JSON, each with a verdict, as /run/sbx/audit.jsonl in a sandbox"))
		}
		if unreadable > 0 {
			h.note(fmt.Sprintf("warning: %s: left out %d line(s) that are no record: the log is damaged, or still being written", log.Title,
				unreadable))
		}
	}
	if len(args) > 1 {
		log = Log{}
	}
	return log, records, nil
}

// Log finds the log that an argument names: of a run, by its id or its folder, also
// while it runs; in a folder or a file; or of the dev container of a project, or
// of the newest run of one that has none. Without an argument it is the one of the newest
// run of the given project, or, where that has none, of its dev container.
func (h Home) Log(ctx context.Context, project string, args ...string) (Log, error) {
	if len(args) > 0 {
		return h.log(ctx, args[0])
	}
	arg, err := h.newestLog(ctx, false, project)
	if err != nil {
		return Log{}, err
	}
	return h.log(ctx, arg)
}

func (h Home) log(ctx context.Context, arg string) (Log, error) {
	file := h.find(arg)
	folder := file
	if err := checkSandbox(folder); err != nil {
		return Log{}, err
	}
	if filekind.IsFolder(file) {
		file = filepath.Join(file, sandbox.AuditFile)
	}
	switch id := filepath.Base(folder); {
	case filekind.IsRegular(file):
		return fileLog(file)
	case !filekind.IsFolder(folder):
		return Log{}, h.Unknown("run, folder or file", arg)
	case idForm.MatchString(id):
		return Log{containers: []string{runplan.FirewallContainer(id)}, Title: id}, nil
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return Log{}, exitcode.With(exitcode.Internal, err)
	}
	log, err := devContainerLog(ctx, folder)
	if err == nil {
		return log, nil
	}
	if real, failed := filepath.EvalSymlinks(folder); failed == nil {
		if run, failed := h.newestOf(true, real); failed == nil {
			return fileLog(filepath.Join(run, sandbox.AuditFile))
		}
	}
	return Log{}, err
}

// newestLog is what is meant where nothing is named: the newest run, or, where
// the project has none, the project itself, for its dev container.
func (h Home) newestLog(ctx context.Context, withLog bool, project string) (string, error) {
	run, err := h.newestOf(withLog, project)
	if err != nil && project != "" {
		_, failed := devContainerLog(ctx, project)
		if failed == nil {
			return project, nil
		}
		if code, _ := exitcode.Of(failed, 0); code != exitcode.NoInput { // such as a user who may not ask the engine
			h.note(fmt.Sprintf("warning: whether %s has a dev container is not known: %v", project, failed))
		}
	}
	return run, err
}

// fileLog is a log in a file, with the policy that sbx-init and run keep next to it.
func fileLog(file string) (Log, error) {
	folder, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return Log{}, exitcode.With(exitcode.Internal, err)
	}
	log := Log{file: file, Title: file}
	if filepath.Base(file) == sandbox.AuditFile {
		log.Title = cmp.Or(idForm.FindString(filepath.Base(folder)), file)
	}
	if policy := filepath.Join(folder, sandbox.PolicyFile); filekind.IsRegular(policy) {
		s, err := settings.ReadFile(policy)
		if err == nil {
			err = s.Err()
		}
		if err != nil {
			return Log{}, exitcode.With(exitcode.Config, diag.WithHint(fmt.Errorf("the policy next to the audit log: %w", err),
				"remove %s to go without it", policy))
		}
		log.Policy = s.Settings.Policy()
	}
	if keys := filepath.Join(folder, sandbox.KeysFile); filekind.IsRegular(keys) {
		text, err := os.ReadFile(keys)
		if err == nil {
			err = json.Unmarshal(text, &log.Keys)
		}
		if err != nil {
			return Log{}, exitcode.With(exitcode.Config, diag.WithHint(fmt.Errorf("the keys next to the audit log: %w", err),
				"remove %s to go without them", keys))
		}
	}
	return log, nil
}

// devContainerLog is the log of a project's dev container. Its policy is the one
// in the project's file, unless that was changed since the start.
func devContainerLog(ctx context.Context, folder string) (Log, error) {
	e, err := engine.Connect(ctx)
	if err != nil {
		return Log{}, engineError(err)
	}
	defer e.Close()
	log := Log{Title: folder}
	if log.containers, err = e.List(ctx, runplan.LabelFolder, folder); err != nil {
		return Log{}, engineError(err)
	}
	if len(log.containers) == 0 {
		err := fmt.Errorf("%s has no dev container on this engine, no run and no audit log", folder)
		return Log{}, exitcode.With(exitcode.NoInput, diag.WithHint(err,
			"open it in an editor, start it with 'devcontainer up', or run something there: sbx-devc run 'PROMPT'"))
	}
	for i, id := range log.containers {
		owner, err := e.NetworkOwner(ctx, id)
		if err != nil {
			return Log{}, engineError(err)
		}
		log.containers[i] = cmp.Or(owner, id) // where the firewall is a container of its own, the log is there
		if owner != "" {
			log.firewalls = append(log.firewalls, owner)
		}
	}
	if s, err := settings.ReadFile(filepath.Join(folder, ".devcontainer", devcontainer.SettingsName)); err == nil && s.Settings != nil {
		log.Policy = s.Settings.Policy()
	} else {
		log.Policy, _ = adopt.Policy(scaffold.Folder(folder)) // validate says what is wrong with it
	}
	return log, nil
}

// Tail calls show with every line of the log and, with follow, with those to
// come, until ctx is done or the log ends.
func (log Log) Tail(ctx context.Context, follow bool, show func([]byte) error) error {
	if log.file == "" {
		return log.tailContainer(ctx, follow, show)
	}
	// A run that is over writes no more.
	if err := audit.Tail(ctx, log.file, follow && !idForm.MatchString(log.Title), show); err != nil {
		return exitcode.With(exitcode.NoInput, err)
	}
	return nil
}
