package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"strings"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/sandbox"
)

// exec runs a program.
func (s *server) exec(ctx context.Context, r Request) (Message, error) {
	at, ctx, done, err := s.use(ctx, r)
	if err != nil {
		return Message{}, err
	}
	defer done()
	dir, leave, err := s.enter(ctx, at, r)
	if err != nil {
		return Message{}, err
	}
	defer leave()
	out := &text{to: s.out, id: r.ID, kind: "stdout"}
	problems := &text{to: s.out, id: r.ID, kind: "stderr"}
	code, err := at.Exec(ctx, sandbox.ExecOptions{
		Command: r.Command, Environ: os.Environ(), Dir: dir, Stdin: strings.NewReader(r.Stdin), Stdout: out, Stderr: problems,
	})
	out.flush()
	problems.flush()
	switch cause := context.Cause(ctx); {
	case cause != nil:
		return Message{}, endedBy(cause)
	case errors.Is(err, sandbox.ErrNotRunning):
		return Message{}, &Error{SandboxEnded, err}
	case err != nil:
		return Message{}, err
	}
	return Message{Type: "exit", Output: Output{Exit: &code}}, nil
}

// enter is the folder of a request in the sandbox, absolute, which stays until leave is called.
func (s *server) enter(ctx context.Context, at *running, r Request) (dir string, leave func(), err error) {
	dir, leave = at.Folder, func() {}
	if r.Workflow != "" {
		if dir, leave, err = s.enterWorkflow(ctx, at, r.Workflow); err != nil {
			return "", nil, err
		}
	}
	if r.Dir == "" {
		return dir, leave, nil
	}
	dir = path.Join(dir, r.Dir)
	code, err := at.Exec(ctx, sandbox.ExecOptions{Command: []string{"test", "-d", dir}, Stdin: strings.NewReader(""), Stdout: io.Discard,
		Stderr: io.Discard})
	if err == nil && code != 0 {
		err = failure(BadCwd, "", "the folder %q is not there", r.Dir)
	}
	if err != nil {
		leave()
		return "", nil, err
	}
	return dir, leave, nil
}

// data are the conclusions of a prompt that say how the task went. All others are failures
// of what is around it.
var data = map[agent.Conclusion]bool{
	agent.Success: true, agent.Failure: true, agent.MaxTurns: true, agent.MaxBudget: true, agent.MaxRepeats: true,
}

// refused is the last message of a request that did not begin. A prompt ends with its usage then, too.
func (s *server) refused(r Request, err error) Message {
	m := errorMessage(err)
	if r.Op != Prompt {
		return m
	}
	m.ID = r.ID
	s.out.write(m)
	return Message{Type: "usage", Usage: &Usage{Models: modelsOf(nil)}}
}

// prompt has Claude answer. The usage is the last message.
func (s *server) prompt(ctx context.Context, r Request) Message {
	at, ctx, done, err := s.use(ctx, r)
	if err != nil {
		return s.refused(r, err)
	}
	defer done()
	dir, leave, err := s.enter(ctx, at, r)
	if err != nil {
		return s.refused(r, err)
	}
	defer leave()
	p, err := at.Prompt(ctx, sandbox.PromptOptions{Prompt: r.Prompt, Dir: dir, Change: r.headless, Schema: r.schema,
		Stdout: &events{to: s.out, id: r.ID}})
	if errors.Is(err, sandbox.ErrNotRunning) {
		err = &Error{SandboxEnded, err}
	}
	if err != nil && p == nil {
		return s.refused(r, err)
	}
	m := Message{Type: "result"}
	switch conclusion := p.Outcome.Conclusion; {
	case err != nil:
		m = errorMessage(err)
	case context.Cause(ctx) != nil && (conclusion == agent.Cancelled || conclusion == agent.Timeout):
		m = errorMessage(endedBy(context.Cause(ctx)))
	case !data[conclusion]:
		m = Message{Type: "error", Failure: Failure{Error: Code(conclusion), Message: p.Outcome.Message}}
	default:
		ok := p.Outcome.OK()
		m.OK, m.Conclusion, m.Message = &ok, string(conclusion), p.Outcome.Message
		if p.Agent != nil {
			m.Text = p.Agent.Text
			if ok && r.schema != nil {
				m.Structured = json.RawMessage(p.Agent.Structured)
			}
		}
	}
	m.ID = r.ID
	s.out.write(m)
	return Message{Type: "usage", Usage: &Usage{
		Requests: p.Answers, Input: p.Usage.Input, Output: p.Usage.Output, CacheRead: p.Usage.CacheRead, CacheWrite: p.Usage.CacheWrite,
		USD: agent.RoundUSD(p.USD), Models: modelsOf(p.Models),
	}}
}

// headless makes of how Claude runs in the sandbox how it answers this request.
func (r *Request) headless(h agent.Headless) agent.Headless {
	h.Model = cmp.Or(r.Model, h.Model)
	h.MaxTurns = cmp.Or(r.MaxTurns, h.MaxTurns)
	h.MaxBudgetUSD = cmp.Or(r.MaxBudgetUSD, h.MaxBudgetUSD)
	if r.Mode == Generate {
		h.Tools, h.MCPConfigs, h.MemoryOf = []string{}, nil, nil
		h.AppendSystemPrompt, h.SystemPrompt = "", r.Instructions
		return h
	}
	h.AppendSystemPrompt = strings.TrimSpace(h.AppendSystemPrompt + "\n" + r.Instructions)
	if r.AllowedTools != nil {
		h.Tools = r.AllowedTools
	}
	return h
}
