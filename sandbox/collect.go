package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/report"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// hideSecrets takes the secrets that known knows out of what is kept of an agent's closing
// words.
func hideSecrets(known *redact.Redactor, outcome *agent.Outcome, result **agent.Result) {
	outcome.Message = known.String(outcome.Message)
	if *result != nil {
		clean := **result
		clean.Text = known.String(clean.Text)
		*result = &clean
	}
}

// ourGateway is how Claude names the model API in its advice about failures: by the address
// of the tunnel in the sandbox.
var ourGateway = regexp.MustCompile(`your inference gateway \(127\.0\.0\.1[^)]*\)`)

// nameModelAPI names the API instead, which is at host, in what is kept of an agent's closing words.
func nameModelAPI(host string, outcome *agent.Outcome, result **agent.Result) {
	outcome.Message = withModelAPI(outcome.Message, host)
	if *result != nil && (*result).IsError {
		named := **result
		named.Text = withModelAPI(named.Text, host)
		*result = &named
	}
}

// withModelAPI is a text of Claude's in which the API has its own name.
func withModelAPI(text, host string) string {
	return ourGateway.ReplaceAllLiteralString(text, "the model API, "+host)
}

// collect stops the sidecar, so that its log is complete, reads the log and
// keeps it with the policy that it was made under and a page that shows both.
func (r *run) collect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	log := r.sidecar.end(ctx, r.engine)
	file, err := r.folder.create(AuditFile)
	if err != nil {
		return err
	}
	defer file.Close()
	// Its writer knows no secret of the run's, and an agent may look up a name that is one.
	clean := r.redactor.Writer(file)
	if log != nil {
		_, err = clean.Write(log)
	} else {
		err = r.copyLog(ctx, clean)
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
	r.result.Files.Audit, r.result.Egress = file.Name(), rows.Report()
	uses := r.keys.uses(r.redactor.String)
	r.result.Egress.SetKeys(uses)
	if err := r.folder.saveKeys(uses); err != nil {
		return err
	}
	policy, err := r.plan.PolicyFile()
	if err != nil {
		return fmt.Errorf("writing the policy: %w", err)
	}
	return errors.Join(r.folder.write(PolicyFile, append(policy, '\n')), keepPage(r.folder, &r.result))
}

// copyLog copies the audit log out of the firewall's container. A full one goes on in a new
// file; what it held before comes first.
func (r *run) copyLog(ctx context.Context, to io.Writer) error {
	err := r.engine.CopyOut(ctx, r.sidecar.id, runplan.AuditPath+audit.RotatedSuffix, to)
	if err == nil || errors.Is(err, engine.ErrNotFound) {
		err = r.engine.CopyOut(ctx, r.sidecar.id, runplan.AuditPath, to)
	}
	return err
}

// keepPage keeps the egress report as a page.
func keepPage(to folder, result *Result) error {
	f, err := to.create("report.html")
	if err != nil {
		return err
	}
	result.Files.Page = f.Name()
	title := About(result.ID, result.Folder, result.Prompt, result.Model, result.MeteredUSD, string(result.Outcome.Conclusion))
	return errors.Join(result.Egress.WriteHTML(f, title), f.Close())
}
