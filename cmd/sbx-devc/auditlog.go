package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/sandbox"
)

// auditLog is an audit log and what is known about it.
type auditLog struct {
	file    string
	title   string           // the run's name, or the file's
	network firewall.Network // the policy that it was made under; the zero value when nobody kept it
}

const auditFile = sandbox.AuditFile

// runName is how newRunID names runs: no path, so that a word on the command
// line is one or the other.
var runName = regexp.MustCompile(`^[0-9]{8}-[0-9]{6}-[0-9a-f]{6}$`)

// readAuditLogs reads the logs that the arguments name, the newest run's without
// one. Of several logs neither the name nor the policy is known.
func (a *app) readAuditLogs(args []string) (auditLog, []audit.Record, error) {
	if len(args) == 0 {
		newest, err := a.newestRun()
		if err != nil {
			return auditLog{}, nil, err
		}
		args = []string{newest}
	}
	var log auditLog
	var records []audit.Record
	for _, arg := range args {
		var err error
		if log, err = a.auditLog(arg); err != nil {
			return auditLog{}, nil, err
		}
		part, err := audit.ReadLog(log.file)
		if err != nil {
			return auditLog{}, nil, exitWith(exitNoInput, err)
		}
		records = append(records, part...)
	}
	if len(args) > 1 {
		log = auditLog{}
	}
	return log, records, nil
}

// auditLog finds the log that arg names: a run's id, a folder with the log in
// it, or the log itself.
func (a *app) auditLog(arg string) (auditLog, error) {
	file := arg
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		file = filepath.Join(arg, auditFile)
	case err != nil && runName.MatchString(arg):
		file = filepath.Join(a.runsHome(), arg, auditFile)
	}
	if !isRegular(file) {
		return auditLog{}, exitWith(exitNoInput, diag.WithHint(fmt.Errorf("no audit log at %s", file),
			"give a run's id, its folder, or an audit.jsonl; runs are kept in %s", a.runsHome()))
	}
	folder, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return auditLog{}, exitWith(exitInternal, err)
	}
	log := auditLog{file: file, title: file}
	if filepath.Base(file) == auditFile {
		log.title = cmp.Or(runName.FindString(filepath.Base(folder)), file)
	}
	// sbx-init and run both keep the policy beside the log.
	if policy := filepath.Join(folder, sandbox.PolicyFile); isRegular(policy) {
		s, findings, err := readSettings(policy)
		if err == nil && s == nil {
			err = firstError(findings)
		}
		if err != nil {
			return auditLog{}, exitWith(exitConfig, diag.WithHint(fmt.Errorf("the policy beside the audit log: %w", err), "remove %s to go without it", policy))
		}
		log.network = s.Network
	}
	return log, nil
}

func isRegular(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular()
}

// runsHome is where runs are kept, each in a folder of its name.
func (a *app) runsHome() string { return filepath.Join(stateHome(a.getenv), "runs") }

// newestRun is the folder of the newest run that left an audit log.
func (a *app) newestRun() (string, error) {
	entries, err := os.ReadDir(a.runsHome())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", exitWith(exitNoInput, fmt.Errorf("looking for runs: %w", err))
	}
	for _, e := range slices.Backward(entries) { // names begin with the time
		folder := filepath.Join(a.runsHome(), e.Name())
		if runName.MatchString(e.Name()) && isRegular(filepath.Join(folder, auditFile)) {
			return folder, nil
		}
	}
	return "", exitWith(exitNoInput, diag.WithHint(fmt.Errorf("no run with an audit log in %s", a.runsHome()),
		"name an audit.jsonl, or run something first: sbx-devc run --print"))
}
