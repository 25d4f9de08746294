package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/sandbox"
)

// Sandbox is one that runs: a *sandbox.Held.
type Sandbox interface {
	ID() string
	Exec(ctx context.Context, o sandbox.ExecOptions) (code int, err error)
	Prompt(ctx context.Context, o sandbox.PromptOptions) (*sandbox.Prompted, error)
	End() // ends it with everything in it
}

// Running is a sandbox that was started.
type Running struct {
	Sandbox
	Folder string       // of the project, absolute in the sandbox
	Copy   bool         // the project there is a copy or a clone, in which worktrees may be made
	Ended  <-chan error // receives one value when it has ended and everything of it is collected
}

// Start starts a sandbox. It returns when that is ready, or with what prevents it; an error
// has an exit code, see package exitcode. When ctx ends, so does the start.
type Start func(ctx context.Context) (*Running, error)

// MaxRequests is how many requests go on at once.
const MaxRequests = 64

// Serve answers the requests of in on out until in ends, ctx does, or the reader of out has gone. It
// returns when everything that was started has ended, with why out could not be written.
func Serve(ctx context.Context, in io.Reader, out io.Writer, start Start) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	leave := func() { cancel(failure(Stopped, "", "the client has left")) }
	s := &server{ctx: ctx, start: start, out: &writer{out: out, gone: leave}, requests: map[string]context.CancelCauseFunc{},
		workflows: map[string]*worktree{}}
	go func() {
		s.read(lines{bufio.NewReaderSize(in, 64<<10)})
		leave()
	}()
	<-ctx.Done()
	s.mu.Lock()
	s.leaving = true
	s.mu.Unlock()
	s.going.Wait()
	s.end()
	return s.out.lost
}

// server is the state of one Serve.
type server struct {
	ctx   context.Context
	start Start
	out   *writer
	going sync.WaitGroup // requests

	starting sync.Mutex // held while the sandbox is started or ended

	mu        sync.Mutex
	leaving   bool
	running   *running // nil = none
	requests  map[string]context.CancelCauseFunc
	workflows map[string]*worktree
	ensuring  chan struct{} // closed when the newest ensure has ended; nil = there was none
}

// running is the sandbox.
type running struct {
	*Running
	done  chan struct{} // closed when it has ended
	err   error         // why, once it is done
	asked bool          // to end
}

// read takes requests until there are no more.
func (s *server) read(from lines) {
	for {
		line, err := from.next()
		if err != nil {
			return
		}
		if len(strings.TrimSpace(string(line[:min(len(line), 64)]))) == 0 && len(line) <= 64 {
			continue
		}
		r, err := Parse(line)
		if err == nil {
			err = s.begin(r)
		}
		if err != nil {
			s.mu.Lock()
			if s.requests[r.ID] != nil { // whose usage is another one's
				r.Op = ""
			}
			s.mu.Unlock()
			s.out.last(r.ID, s.refused(r, err))
		}
	}
}

// begin has a request go on in a goroutine of its own.
func (s *server) begin(r Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.leaving:
		return failure(Stopped, "", "the client has left")
	case s.requests[r.ID] != nil:
		return failure(IDInUse, "", "another request with this id goes on")
	case len(s.requests) >= MaxRequests && r.Op != Cancel && r.Op != Stop:
		return failure(TooMany, "wait for one to end", "%d requests go on", len(s.requests))
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	s.requests[r.ID] = cancel
	ended := make(chan struct{})
	if r.Op == Ensure {
		s.ensuring = ended
	}
	s.going.Go(func() {
		last := s.do(ctx, r)
		close(ended)
		s.mu.Lock()
		delete(s.requests, r.ID)
		s.mu.Unlock()
		cancel(nil)
		s.out.last(r.ID, last) // behind the removal: a client that has read it may use the id again
	})
	return nil
}

// do does a request, and returns its last message.
func (s *server) do(ctx context.Context, r Request) Message {
	var m Message
	var err error
	switch r.Op {
	case Ensure:
		m, err = s.ensure(ctx)
	case Exec:
		m, err = s.exec(ctx, r)
	case Prompt:
		return s.prompt(ctx, r)
	case Finish:
		m, err = s.finish(ctx, r)
	case Cancel:
		m, err = s.cancel(r)
	case Stop:
		m, err = s.stop(r)
	}
	if err != nil {
		return errorMessage(err)
	}
	return m
}

// asError gives a failure its code.
func asError(err error) *Error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	return &Error{Internal, err}
}

// startCodes are the codes of failures to start, by exit code.
var startCodes = map[int]Code{
	exitcode.Usage: BadConfig, exitcode.Config: BadConfig, exitcode.NoInput: NoInput, exitcode.Unavailable: NoEngine,
	exitcode.Locked: Locked, exitcode.Refused: Refused, exitcode.NoSecret: NoKey, exitcode.NoStart: NoStart,
	exitcode.Timeout: TimedOut,
}

// withStartCode is why a sandbox did not start, or ended.
func withStartCode(err error, otherwise Code) *Error {
	number, show := exitcode.Of(err, exitcode.Internal)
	code, known := startCodes[number]
	if !known {
		code = otherwise
	}
	if show == nil {
		show = fmt.Errorf("the run ended with exit code %d", number)
	}
	return &Error{code, show}
}

// ensure has the sandbox running.
func (s *server) ensure(ctx context.Context) (Message, error) {
	s.starting.Lock()
	defer s.starting.Unlock()
	r, started := s.now(), false
	if r == nil {
		if err := context.Cause(ctx); err != nil {
			return Message{}, endedBy(err)
		}
		sandbox, err := s.start(ctx)
		if cause := context.Cause(ctx); err != nil && cause != nil {
			return Message{}, endedBy(cause)
		}
		if err != nil {
			return Message{}, withStartCode(err, Internal)
		}
		started = true
		r = &running{Running: sandbox, done: make(chan struct{})}
		s.mu.Lock()
		s.running = r
		s.mu.Unlock()
		go s.watch(r)
	}
	return Message{Type: "ready", Place: Place{r.ID(), r.Folder, &started}}, nil
}

// watch waits for the end of the sandbox, and says it when no request asked for it.
func (s *server) watch(r *running) {
	r.err = <-r.Ended
	s.mu.Lock()
	asked := r.asked
	if s.running == r {
		s.running, s.workflows = nil, map[string]*worktree{}
	}
	s.mu.Unlock()
	close(r.done)
	if asked {
		return
	}
	e := &Error{SandboxEnded, errors.New("the sandbox has ended")}
	if r.err != nil {
		e = withStartCode(r.err, SandboxEnded)
	}
	m := errorMessage(e)
	m.Type, m.Run = "ended", r.ID()
	s.out.write(m)
}

// now is the sandbox; nil = there is none.
func (s *server) now() *running {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running
}

// use is the sandbox for a request, and a context that ends with both.
func (s *server) use(ctx context.Context, r Request) (*running, context.Context, context.CancelFunc, error) {
	at := s.now()
	s.mu.Lock()
	ensuring := s.ensuring
	s.mu.Unlock()
	if at == nil && ensuring != nil { // a client need not wait for ready
		select {
		case <-ensuring:
			at = s.now()
		case <-ctx.Done():
			return nil, nil, nil, endedBy(context.Cause(ctx))
		}
	}
	if at == nil {
		return nil, nil, nil, failure(NotRunning, `start it first: {"id": "1", "op": "ensure"}`, "there is no sandbox")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := func() { cancel(nil) }
	if r.timeout > 0 {
		var stopTimer context.CancelFunc
		ctx, stopTimer = context.WithTimeout(ctx, r.timeout)
		stop = func() { stopTimer(); cancel(nil) }
	}
	go func() {
		select {
		case <-at.done:
			cancel(failure(SandboxEnded, "ensure starts another one", "the sandbox has ended"))
		case <-ctx.Done():
		}
	}()
	return at, ctx, stop, nil
}

// endedBy is the failure of a request that the end of its context ended.
func endedBy(cause error) *Error {
	if e := (*Error)(nil); errors.As(cause, &e) {
		return e
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		return failure(TimedOut, "", "the request's time was over")
	}
	return failure(Stopped, "", "the worker was ended")
}

// cancel ends another request.
func (s *server) cancel(r Request) (Message, error) {
	s.mu.Lock()
	stop := s.requests[r.Target]
	s.mu.Unlock()
	if stop == nil || r.Target == r.ID {
		return Message{}, failure(NoSuch, "", "no request with the id %s goes on", r.Target)
	}
	stop(failure(Cancelled, "", "the request was cancelled"))
	return Message{Type: "cancelled", Target: r.Target}, nil
}

// stop ends the sandbox, and the requests that go on.
func (s *server) stop(r Request) (Message, error) {
	s.mu.Lock()
	for id, cancel := range s.requests {
		if id != r.ID {
			cancel(failure(Stopped, "", "the sandbox was stopped"))
		}
	}
	s.mu.Unlock()
	s.starting.Lock()
	defer s.starting.Unlock()
	ended := s.end()
	m := Message{Type: "stopped"}
	if ended != nil {
		m.Run = ended.ID()
		if ended.err != nil {
			return Message{}, withStartCode(ended.err, Internal)
		}
	}
	return m, nil
}

// end ends the sandbox and waits for that. It returns the one that it ended.
func (s *server) end() *running {
	s.mu.Lock()
	r := s.running
	if r != nil {
		r.asked = true
	}
	s.mu.Unlock()
	if r == nil {
		return nil
	}
	s.leaveWorkflows(r)
	r.End()
	<-r.done
	return r
}
