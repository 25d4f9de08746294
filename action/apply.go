package action

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/sethvargo/go-githubactions"

	"github.com/org/claude-sandbox/action/github"
	"github.com/org/claude-sandbox/action/patch"
	"github.com/org/claude-sandbox/action/proposal"
	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/workspace"
)

// Conclusions of Apply, in addition to ConfigError and agent.Failure.
const (
	Proposed  agent.Conclusion = "proposed"  // a pull request is open
	Drafted   agent.Conclusion = "draft"     // a draft is open: a person has to look at protected files first
	Unchanged agent.Conclusion = "unchanged" // the patch changes nothing
	Refused   agent.Conclusion = "refused"   // the patch may not be applied; nothing was
)

// ApplyInputs are the inputs of the second job. Each field's tag is the name in
// apply/action.yml.
type ApplyInputs struct {
	PatchFile        string   `input:"patch_file"`
	WorkingDirectory string   `input:"working_directory"` // slash-separated, in the repository; "" = its root
	Branch           string   `input:"branch"`
	Base             string   `input:"base"`
	Title            string   `input:"title"`
	Body             string   `input:"body"`
	FailOnProtected  bool     `input:"protected_files"` // and not a draft
	MaxFiles         int      `input:"max_files"`
	MaxKilobytes     int      `input:"max_kilobytes"`
	Reviewers        []string `input:"reviewers"` // users, and teams as ORG/TEAM
	Token            string   `input:"github_token"`
}

// ParseApplyInputs reads them with get, and the rest with the step's environment.
func ParseApplyInputs(get, getenv func(string) string) (ApplyInputs, []error) {
	p := &inputParser{get: get}
	in := ApplyInputs{
		PatchFile: get("patch_file"), Branch: p.word("branch"), Base: p.word("base"), Title: get("title"), Body: get("body"),
		FailOnProtected: p.choice("protected_files", "draft draft, fail fail") == "fail",
		MaxFiles:        p.count("max_files"), MaxKilobytes: p.count("max_kilobytes"),
		Reviewers: p.list("reviewers"), Token: p.secret("github_token"), WorkingDirectory: path.Clean("./" + get("working_directory")),
	}
	if in.WorkingDirectory == "." {
		in.WorkingDirectory = ""
	}
	for value, fallback := range map[*string]string{
		&in.Branch: "claude-sandbox/" + getenv("GITHUB_RUN_ID") + "-" + getenv("GITHUB_RUN_ATTEMPT"),
		&in.Title:  "Changes of the agent in run " + getenv("GITHUB_RUN_ID"),
		&in.Base:   baseOf(getenv),
	} {
		if *value == "" {
			*value = fallback
		}
	}
	in.MaxFiles, in.MaxKilobytes = orCount(in.MaxFiles, 100), orCount(in.MaxKilobytes, 1024)
	if in.Token == "" {
		p.fail("it is ${{ github.token }} unless the workflow gives another one", "input github_token is empty")
	}
	if in.Base == "" {
		p.fail("name the branch that the pull request is for", "input base is empty, and the workflow runs on no branch")
	}
	if path.IsAbs(in.WorkingDirectory) || in.WorkingDirectory == ".." || strings.HasPrefix(in.WorkingDirectory, "../") {
		p.fail("name a folder of the repository, relative to it", "input working_directory leads out of the repository")
	}
	p.patchFile(in.PatchFile, getenv("GITHUB_WORKSPACE"))
	return in, p.errs
}

func orCount(n, fallback int) int {
	if n == 0 {
		return fallback
	}
	return n
}

// baseOf is the branch that the workflow runs on; "" = none.
func baseOf(getenv func(string) string) string {
	if head := getenv("GITHUB_HEAD_REF"); head != "" {
		return head
	}
	branch, ok := strings.CutPrefix(getenv("GITHUB_REF"), "refs/heads/")
	if !ok {
		return ""
	}
	return branch
}

// patchFile refuses one in the checkout: an artifact of the agent's job that is unpacked
// there could bring files of git's own.
func (p *inputParser) patchFile(name, checkout string) {
	const hint = "download the artifact into a folder of its own: path: ${{ runner.temp }}/agent"
	switch {
	case name == "":
		p.fail(hint, "input patch_file is empty")
	case !filepath.IsAbs(name):
		p.fail(hint, "input patch_file: %q is no absolute path", name)
	default:
		real, err := filepath.EvalSymlinks(name)
		if err != nil {
			p.fail("the output patch_file names it in the first job, and is empty when nothing changed", "input patch_file: %w", plainly(name, err))
		} else if workspace.Below(checkout, real) {
			p.fail(hint, "input patch_file: %s is in the checkout", name)
		}
	}
}

// ApplyOptions is the world that Apply works in.
type ApplyOptions struct {
	Getenv func(string) string
	Stdout io.Writer
}

// outcome is what the step of a job that has a token and no agent came to.
type outcome struct {
	conclusion agent.Conclusion
	message    string
	explained  string // the message with what to do; "" = there is no more to say
}

func (o ApplyOptions) step() *step {
	return &step{
		Options: Options{Getenv: o.Getenv, Stdout: o.Stdout},
		github:  githubactions.New(githubactions.WithWriter(o.Stdout), githubactions.WithGetenv(o.Getenv)),
	}
}

// carryOut does the work of such a step, unless its inputs are wrong. work sets the
// outcome where it succeeds.
func (s *step) carryOut(name, token string, wrong []error, to *outcome, work func() error) {
	var secrets []string
	if token != "" {
		s.github.AddMask(token)
		secrets = append(secrets, token)
	}
	s.keepSecrets(secrets)
	for _, err := range wrong {
		s.annotate("error", "claude-sandbox configuration", err)
	}
	if len(wrong) > 0 {
		*to = outcome{ConfigError, joined(wrong), explained(wrong...)}
	} else if err := work(); err != nil {
		*to = outcome{agent.Failure, err.Error(), explained(err)}
		s.annotate("error", "claude-sandbox "+name, err)
	}
}

// tell reports the outcome in the log and by reports, each to the file that the variable
// of its name names, and ends the log.
func (s *step) tell(o outcome, reports map[string]func(io.Writer) error) agent.Conclusion {
	for name, write := range reports {
		if err := appendTo(s.Getenv(name), without(s.clean, write)); err != nil {
			s.annotate("warning", "claude-sandbox report", err)
		}
	}
	_, _ = io.WriteString(s.Stdout, Neutral(fmt.Sprintf("conclusion: %s: %s", o.conclusion, NeutralLine(o.message, 1000))))
	_ = s.log.Close() // best effort, as all of the log
	return o.conclusion
}

// applied is what Apply came to.
type applied struct {
	outcome
	branch  string
	commit  string
	pull    github.Opened
	verdict patch.Verdict
}

// Apply is the step of a job that has a token and no agent: it judges the patch of an
// agent's job, makes a commit of it on a new branch, and opens a pull request. A patch that
// may not be applied changes nothing, here and on GitHub.
func Apply(ctx context.Context, o ApplyOptions) agent.Conclusion {
	s := o.step()
	in, errs := ParseApplyInputs(s.github.GetInput, o.Getenv)
	var a applied
	s.carryOut("apply", in.Token, errs, &a.outcome, func() error { return a.apply(ctx, s, in) })
	if a.conclusion == Refused {
		s.annotate("error", "claude-sandbox refuses the patch", errors.New(a.message))
	}
	return s.tell(a.outcome, map[string]func(io.Writer) error{
		"GITHUB_OUTPUT":       func(w io.Writer) error { return writePairs(w, a.pairs()) },
		"GITHUB_STEP_SUMMARY": a.writeSummary,
	})
}

// apply goes from the patch to the pull request.
func (a *applied) apply(ctx context.Context, s *step, in ApplyInputs) error {
	repo := proposal.Repository{Dir: s.Getenv("GITHUB_WORKSPACE")}
	server := proposal.Server{URL: s.Getenv("GITHUB_SERVER_URL"), Repository: s.Getenv("GITHUB_REPOSITORY"), Token: in.Token}
	if err := repo.CheckBranch(ctx, in.Branch); err != nil {
		return err
	}
	if err := a.judge(ctx, repo, in); err != nil || a.conclusion == Refused {
		return err
	}
	head, err := repo.Head(ctx)
	if err != nil {
		return diag.WithHint(err, "check the repository out first, at the commit on which the agent worked: uses: actions/checkout")
	}
	commit, refused, err := repo.Commit(ctx, head, a.verdict.Files, proposal.Message{
		Text: NeutralLine(in.Title, maxTitle) + "\n", Name: "github-actions[bot]", Email: "41898282+github-actions[bot]@users.noreply.github.com",
	})
	if err != nil {
		return err
	}
	if len(refused) > 0 {
		a.refuse(refused)
		return nil
	}
	if commit == "" {
		a.conclusion, a.message = Unchanged, "the patch changes nothing"
		return nil
	}
	if err := repo.Push(ctx, server, commit, in.Branch); err != nil {
		return err
	}
	a.commit, a.branch = commit, in.Branch
	if err := a.open(ctx, s, in, server); err != nil {
		a.commit, a.branch = "", ""
		return errors.Join(err, repo.Delete(context.WithoutCancel(ctx), server, commit, in.Branch))
	}
	return nil
}

// judge reads the patch and judges it.
func (a *applied) judge(ctx context.Context, repo proposal.Repository, in ApplyInputs) error {
	text, err := filekind.Read(in.PatchFile, patch.MaxBytes)
	if err != nil {
		return fmt.Errorf("input patch_file: %w", err)
	}
	p, err := patch.Parse(text)
	if err != nil {
		a.refuse([]patch.Finding{{Why: err.Error()}})
		return nil
	}
	rules := patch.Rules{Folder: in.WorkingDirectory, MaxFiles: in.MaxFiles, MaxBytes: int64(in.MaxKilobytes) << 10}
	ignored, err := repo.Ignored(ctx, rules.Paths(p))
	if err != nil { // of a path that has no place there
		a.refuse([]patch.Finding{{Why: err.Error()}})
		return nil
	}
	rules.Ignored = func(path string) bool { return ignored[path] }
	a.verdict = rules.Judge(p)
	switch {
	case len(a.verdict.Refused) > 0:
		a.refuse(nil)
	case len(a.verdict.Protected) > 0 && in.FailOnProtected:
		a.refuse(a.verdict.Protected)
	}
	return nil
}

// refuse ends the step, for findings in addition to the verdict's.
func (a *applied) refuse(findings []patch.Finding) {
	a.conclusion = Refused
	a.verdict.Refused = append(a.verdict.Refused, findings...)
	var lines []string
	for _, f := range a.verdict.Refused[:min(len(a.verdict.Refused), 10)] {
		lines = append(lines, f.String())
	}
	if more := len(a.verdict.Refused) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	a.message = strings.Join(lines, ";\n")
}

// open opens the pull request and asks for a review.
func (a *applied) open(ctx context.Context, s *step, in ApplyInputs, server proposal.Server) (err error) {
	client := github.Client{API: s.Getenv("GITHUB_API_URL"), Token: in.Token, Repository: server.Repository}
	draft := len(a.verdict.Protected) > 0
	a.pull, err = client.OpenPull(ctx, github.Pull{
		Title: NeutralLine(in.Title, maxTitle), Head: in.Branch, Base: in.Base, Body: s.clean.String(a.body(in)), Draft: draft,
	})
	if draft && err == nil && !a.pull.Draft { // somebody could merge it at once
		err = errors.Join(errors.New("GitHub opened no draft"), client.ClosePull(ctx, a.pull.Number))
	}
	if err != nil {
		return diag.WithHint(err, "the job needs contents: write and pull-requests: write, and Settings > Actions > General must let "+
			"Actions open pull requests; where a repository has no drafts, choose protected_files: fail")
	}
	a.conclusion, a.message = Proposed, "opened "+a.pull.URL
	if draft {
		a.conclusion, a.message = Drafted, "opened the draft "+a.pull.URL+", in which a person has to look at protected files"
	}
	users, teams := reviewersOf(in.Reviewers, draft, s.Getenv("GITHUB_ACTOR"))
	if len(users)+len(teams) == 0 {
		return nil
	}
	if err := client.RequestReview(ctx, a.pull.Number, users, teams); err != nil {
		s.annotate("warning", "claude-sandbox review", fmt.Errorf("the request for a review failed: %w", err))
	}
	return nil
}

// reviewersOf are whom a pull request waits for: those that the workflow names, or for
// protected files the person who started it.
func reviewersOf(named []string, protected bool, actor string) (users, teams []string) {
	if len(named) == 0 && protected && actor != "" && !strings.HasSuffix(actor, "[bot]") {
		named = []string{actor}
	}
	for _, name := range named {
		if _, team, ok := strings.Cut(name, "/"); ok {
			teams = append(teams, team)
		} else {
			users = append(users, name)
		}
	}
	return users, teams
}
