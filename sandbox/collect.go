package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/report"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// hideSecrets takes the secrets of the run out of what is kept of the agent's
// closing words.
func (r *run) hideSecrets() {
	secrets := r.redactor
	r.result.Outcome.Message = secrets.String(r.result.Outcome.Message)
	if r.result.Agent != nil {
		clean := *r.result.Agent
		clean.Text = secrets.String(clean.Text)
		r.result.Agent = &clean
	}
}

// drain waits until the agent's last output has been passed on.
func (r *run) drain(ctx context.Context) {
	select {
	case err := <-r.agent.copied:
		if err != nil {
			r.host.Say("warning: the agent's output: " + err.Error())
		}
		if r.agent.output.unkept {
			r.lose("the transcript")
		}
	case <-time.After(drainTimeout):
		r.cutOutput()
	case <-ctx.Done():
		r.cutOutput()
	}
	_ = r.agent.scanner.Close()
	r.result.Lost = r.agent.output.lost
}

// cutOutput gives up an output that does not end.
func (r *run) cutOutput() {
	_ = r.agent.stream.Close()
	<-r.agent.copied
	r.host.Say("warning: the agent's output did not end; its last lines may be missing")
}

// collect stops the sidecar, so that its log is complete, reads the log and
// keeps it with the policy that it was made under and a page that shows both.
func (r *run) collect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	if r.sidecar.exit != nil && r.engine.Kill(ctx, r.sidecar.id, "TERM") == nil {
		select {
		case <-r.sidecar.exit:
		case <-time.After(runplan.GraceTerminate):
		case <-ctx.Done():
		}
	}
	name, file, err := r.stateFile(AuditFile)
	if err != nil {
		return err
	}
	defer file.Close()
	// A full log goes on in a new file; what it held before comes first. Its writer knows
	// no secret of the run's, and an agent may look up a name that is one.
	clean := r.redactor.Writer(file)
	err = r.engine.CopyOut(ctx, r.sidecar.id, runplan.AuditPath+audit.RotatedSuffix, clean)
	if err == nil || errors.Is(err, engine.ErrNotFound) {
		err = r.engine.CopyOut(ctx, r.sidecar.id, runplan.AuditPath, clean)
	}
	if err = errors.Join(err, clean.Close()); err != nil {
		return fmt.Errorf("no audit log: %w", err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("reading the audit log: %w", err)
	}
	rows := report.NewCollector(r.plan.Policy)
	add := func(record audit.Record) {
		if !r.sidecar.canaries.isOurs(record) {
			rows.Add(record)
		}
	}
	if err := audit.Each(file, add); err != nil {
		return fmt.Errorf("reading the audit log: %w", err)
	}
	r.result.Files.Audit, r.result.Egress = name, rows.Report()
	return errors.Join(r.keepPolicy(), r.keepPage())
}

func (r *run) keepPolicy() error {
	text, err := r.plan.PolicyFile()
	if err != nil {
		return fmt.Errorf("writing the policy: %w", err)
	}
	_, f, err := r.stateFile(PolicyFile)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Close())
}

func (r *run) keepPage() error {
	name, f, err := r.stateFile("report.html")
	if err != nil {
		return err
	}
	r.result.Files.Page = name
	title := About(r.plan.ID, r.result.Folder, r.result.Prompt, r.result.Model, r.result.MeteredUSD, string(r.result.Outcome.Conclusion))
	return errors.Join(r.result.Egress.WriteHTML(f, title), f.Close())
}

func (r *run) stateFile(name string) (string, *os.File, error) {
	name = filepath.Join(r.host.StateDir, name)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", nil, fmt.Errorf("writing the run's files: %w", err)
	}
	return name, f, nil
}
