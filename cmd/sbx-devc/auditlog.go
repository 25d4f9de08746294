package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/templates/adopt"
	"github.com/org/claude-sandbox/templates/scaffold"
)

// auditLog is an audit log, in a file here or in a container, and what is known
// about it.
type auditLog struct {
	file       string           // "" = it is in a container
	containers []string         // the first of these that runs has it
	title      string           // the run's name, the file's, or the project's folder
	policy     *firewall.Policy // that it was made under; nil when nobody kept it
}

const auditFile = sandbox.AuditFile

// runName is how newRunID names runs: no path, so that a word on the command
// line is one or the other.
var runName = regexp.MustCompile(`^[0-9]{8}-[0-9]{6}-[0-9a-f]{6}$`)

// maxCollected bounds what is read of a log, in bytes: ours end at 128 MiB, but
// a dev container's image is the project's.
const maxCollected = 160 << 20

// readAuditLogs reads the logs that the arguments name; without one the newest
// run's, of the given project unless that is "". Of several logs neither the name
// nor the policy is known. Lines that are no record are left out, and said: a
// damaged log must not pass for a quiet one, and what has no record at all is none.
func (a *app) readAuditLogs(ctx context.Context, args []string, project string) (auditLog, []audit.Record, error) {
	if len(args) == 0 {
		newest, err := a.newestLog(ctx, true, project)
		if err != nil {
			return auditLog{}, nil, err
		}
		args = []string{newest}
	}
	var log auditLog
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
		if log, err = a.auditLog(ctx, arg); err == nil {
			err = a.tail(ctx, log, false, collect)
		}
		if err != nil {
			return auditLog{}, nil, err
		}
		if unreadable > 0 && len(records) == before {
			return auditLog{}, nil, exitWith(exitConfig, diag.WithHint(fmt.Errorf("%s is no audit log: not one of its %d lines is a record", log.title, unreadable),
				"an audit log has lines of JSON, each with a verdict, as /run/sbx/audit.jsonl in a sandbox"))
		}
		if unreadable > 0 {
			fmt.Fprintf(a.stderr, "sbx-devc: warning: %s: left out what is no record, %d line(s): the log is damaged, or still being written\n", log.title, unreadable)
		}
	}
	if len(args) > 1 {
		log = auditLog{}
	}
	return log, records, nil
}

// auditLog finds the log that arg names: of a run, by its id or its folder, also
// while it runs; in a folder or a file; or of the dev container of a project, or
// of the newest run of one that has none.
func (a *app) auditLog(ctx context.Context, arg string) (auditLog, error) {
	file := arg
	if runName.MatchString(arg) && !exists(arg) {
		file = filepath.Join(a.runsHome(), arg)
	}
	folder := file
	if isFolder(file) {
		file = filepath.Join(file, auditFile)
	}
	switch id := filepath.Base(folder); {
	case isRegular(file):
		return fileLog(file)
	case !isFolder(folder):
		return auditLog{}, exitWith(exitNoInput, diag.WithHint(fmt.Errorf("no audit log at %s", file),
			"give a run's id, its folder, the folder of a project with a dev container, or an audit.jsonl; runs are kept in %s", a.runsHome()))
	case runName.MatchString(id):
		return auditLog{containers: []string{sandbox.FirewallContainer(id)}, title: id}, nil
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return auditLog{}, exitWith(exitInternal, err)
	}
	log, err := devContainerLog(ctx, folder)
	if err == nil {
		return log, nil
	}
	if real, failed := filepath.EvalSymlinks(folder); failed == nil {
		if run, failed := a.newestRun(true, real); failed == nil {
			return fileLog(filepath.Join(run, auditFile))
		}
	}
	return auditLog{}, err
}

// newestLog is what is meant where nothing is named: the newest run, or, where
// the project has none, the project itself, for its dev container.
func (a *app) newestLog(ctx context.Context, withLog bool, project string) (string, error) {
	run, err := a.newestRun(withLog, project)
	if err != nil && project != "" {
		if _, failed := devContainerLog(ctx, project); failed == nil {
			return project, nil
		}
	}
	return run, err
}

// fileLog is a log in a file, with the policy that sbx-init and run keep beside it.
func fileLog(file string) (auditLog, error) {
	folder, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return auditLog{}, exitWith(exitInternal, err)
	}
	log := auditLog{file: file, title: file}
	if filepath.Base(file) == auditFile {
		log.title = cmp.Or(runName.FindString(filepath.Base(folder)), file)
	}
	if policy := filepath.Join(folder, sandbox.PolicyFile); isRegular(policy) {
		s, findings, err := readSettings(policy)
		if err == nil && s == nil {
			err = firstError(findings)
		}
		if err != nil {
			return auditLog{}, exitWith(exitConfig, diag.WithHint(fmt.Errorf("the policy beside the audit log: %w", err), "remove %s to go without it", policy))
		}
		log.policy = s.Policy()
	}
	return log, nil
}

// labelFolder is how editors and the devcontainer command mark the container
// of a folder (containers.dev, reference implementation).
const labelFolder = "devcontainer.local_folder"

// devContainerLog is the log of a project's dev container. Its policy is the one
// in the project's file, unless that was changed since the start.
func devContainerLog(ctx context.Context, folder string) (auditLog, error) {
	e, err := engine.Connect(ctx)
	if err != nil {
		return auditLog{}, runError(err)
	}
	defer e.Close()
	log := auditLog{title: folder}
	if log.containers, err = e.List(ctx, labelFolder, folder); err != nil {
		return auditLog{}, runError(err)
	}
	if len(log.containers) == 0 {
		return auditLog{}, exitWith(exitNoInput, diag.WithHint(fmt.Errorf("%s has no dev container on this engine, no run and no audit log", folder), "open it in an editor, start it with 'devcontainer up', or run something there: sbx-devc run --print"))
	}
	for i, id := range log.containers {
		owner, err := e.NetworkOwner(ctx, id)
		if err != nil {
			return auditLog{}, runError(err)
		}
		log.containers[i] = cmp.Or(owner, id) // where the firewall is a container of its own, the log is there
	}
	if s, _, err := readSettings(filepath.Join(folder, ".devcontainer", devcontainer.SettingsName)); err == nil && s != nil {
		log.policy = s.Policy()
	} else {
		log.policy, _ = adopt.Policy(scaffold.Folder(folder)) // validate says what is wrong with it
	}
	return log, nil
}

// tail calls show with every line of the log and, with follow, with those to
// come, until ctx is done or the log ends.
func (a *app) tail(ctx context.Context, log auditLog, follow bool, show func([]byte) error) error {
	if log.file == "" {
		return containerTail(ctx, log, follow, show)
	}
	// A run that is over writes no more.
	if err := audit.Tail(ctx, log.file, follow && !runName.MatchString(log.title), show); err != nil {
		return exitWith(exitNoInput, err)
	}
	return nil
}

func isRegular(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular()
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return !errors.Is(err, os.ErrNotExist)
}

// runsHome is where runs are kept, each in a folder of its name.
func (a *app) runsHome() string { return filepath.Join(stateHome(a.getenv), "runs") }

// newestRun is the folder of the newest run, of those that left an audit log or
// of all, and of those of a project or, for "", of all. A newer one that is passed
// over for want of a log is said. That there is none is an error, which names the
// run that it could be meant for.
func (a *app) newestRun(withLog bool, project string) (string, error) {
	other, without := "", ""
	entries, _ := os.ReadDir(a.runsHome())       // what cannot be read holds no run
	for _, e := range slices.Backward(entries) { // names begin with the time
		folder := filepath.Join(a.runsHome(), e.Name())
		mine := project == "" || projectOf(folder) == project
		switch {
		case !runName.MatchString(e.Name()):
		case withLog && !isRegular(filepath.Join(folder, auditFile)):
			if mine {
				without = cmp.Or(without, e.Name())
			}
		case mine:
			if without != "" {
				fmt.Fprintf(a.stderr, "sbx-devc: note: this is about %s; a newer run, %s, has no audit log yet: name it to ask its containers, while they are there\n", e.Name(), without)
			}
			return folder, nil
		default:
			other = cmp.Or(other, folder)
		}
	}
	what, hint := "no run", "name the folder of a project with a dev container, or an audit.jsonl; or run something first: sbx-devc run --print"
	if project != "" {
		what += " of " + project
	}
	if withLog {
		what += " with an audit log"
	}
	if other != "" {
		of := cmp.Or(projectOf(other), "a project that it does not name")
		hint += fmt.Sprintf("; the newest run of another project is %s, of %s", filepath.Base(other), of)
	}
	return "", exitWith(exitNoInput, diag.WithHint(fmt.Errorf("%s in %s", what, a.runsHome()), "%s", hint))
}

// projectAsked is the project whose newest run is meant where no run is named:
// the one around the current folder, which has a dev container or a run, or ""
// for --all.
func (a *app) projectAsked(all bool, args []string) (string, error) {
	switch {
	case all && len(args) > 0:
		return "", exitWith(exitUsage, diag.WithHint(errors.New("--all and a named log exclude each other"), "--all is for the newest run of any project; leave one of both out"))
	case all:
		return "", nil
	}
	here, err := projectWith(defaultSettings)
	if err != nil {
		return "", exitWith(exitInternal, err)
	}
	hasRun := a.foldersOfRuns()
	project := projectAround(here, real(a.getenv("HOME")), func(dir string) bool { return hasRun[dir] || holdsProject(dir) })
	if project != here {
		fmt.Fprintf(a.stderr, "sbx-devc: note: the project is %s\n", project)
	}
	return project, nil
}

// foldersOfRuns are the projects that kept runs are of.
func (a *app) foldersOfRuns() map[string]bool {
	folders := map[string]bool{}
	entries, _ := os.ReadDir(a.runsHome()) // what cannot be read holds no run
	for _, e := range entries {
		folders[projectOf(filepath.Join(a.runsHome(), e.Name()))] = true
	}
	return folders
}

// projectOf is the project that a run was of; "" when its summary does not say.
func projectOf(run string) string {
	text, err := os.ReadFile(filepath.Join(run, sandbox.SummaryFile))
	if err != nil {
		return ""
	}
	var summary struct{ Folder string }
	if json.Unmarshal(text, &summary) != nil {
		return ""
	}
	return summary.Folder
}
