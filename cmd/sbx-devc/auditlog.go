package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/sandbox"
)

// auditLog is an audit log and what is known about it.
type auditLog struct {
	file    string
	title   string           // the run's name, or the file's
	network firewall.Network // the policy that it was made under; the zero value when nobody kept it
}

// anyPolicy stands for one that is not known.
var anyPolicy firewall.Network

const auditFile = sandbox.AuditFile

// runName is how newRunID names runs: no path, so that a word on the command
// line is one or the other.
var runName = regexp.MustCompile(`^[0-9]{8}-[0-9]{6}-[0-9a-f]{6}$`)

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
