package credproxy

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/internal/apierror"
)

// Limits of a run, counted at the proxy. Claude Code counts for itself and ends
// a run first; these hold when somebody asks the model past it.
type Limits struct {
	// Turns is Claude's --max-turns; 0 = no limit. The main conversation gets
	// three requests for each turn and ten more: an answer that was cut is asked
	// for again, the context is compacted, and a task in the background that
	// ends makes Claude begin anew. Subagents, hooks and side requests (a web
	// search, a summary of a page), which are no turns of Claude's, get fifty for
	// each turn and fifty more. Counting tokens is free.
	Turns int
	// BudgetUSD is Claude's --max-budget-usd, in US dollars at list price; 0 =
	// no limit. It counts what the upstream reports. Requests that are under way
	// when it is used up are answered. They are no more than what was left had room
	// for, each with its input and an output of usualOutput; others wait for them.
	BudgetUSD float64
	// Budgets are further ones, all of which hold. Those that are not spending.PerRun need
	// Options.Ledger.
	Budgets []spending.Budget
	// Models are lists of patterns, see spending.ModelFits. A request's model must fit one
	// of each list.
	Models [][]string
	// Repeats is after how many requests an agent is refused that makes the same
	// one or two tool calls, with the same results, again and again; 0 = never.
	Repeats int
}

// all are the budgets, BudgetUSD too.
func (l Limits) all() []spending.Budget {
	if l.BudgetUSD <= 0 {
		return l.Budgets
	}
	return append([]spending.Budget{{Amount: l.BudgetUSD, Unit: spending.USD, Per: spending.PerRun}}, l.Budgets...)
}

// Reached is a limit that was reached; "" = none.
type Reached string

// The limits that can be reached.
const (
	ReachedTurns  Reached = "turns"
	ReachedBudget Reached = "budget"
	ReachedLoop   Reached = "loop"
)

func (l Limits) mainRequests() int64 { return int64(l.Turns)*3 + 10 }
func (l Limits) sideRequests() int64 { return int64(l.Turns)*50 + 50 }

// agentHeader names the subagent that asks. Claude's main conversation has none.
const agentHeader = "X-Claude-Code-Agent-Id"

// asker is who sends a request, as far as a request can tell.
type asker int

const (
	subagent asker = iota
	hook           // a hook of type prompt or agent
	plain          // none of them, and no tools of the sandbox: a side request, or Claude itself in a run without tools
	main           // Claude's main conversation
)

func askerOf(h http.Header, body request) asker {
	switch {
	case len(h.Values(agentHeader)) > 0:
		return subagent
	case body.hook:
		return hook
	case body.clientTools == 0:
		return plain
	}
	return main
}

// conversation is what the proxy remembers of a run's requests. It is safe for
// concurrent use.
type conversation struct {
	answered atomic.Int64 // requests for a message with a status of 2xx

	mu         sync.Mutex
	main, side int64                    // requests that were answered or are under way
	newest     int64                    // number of the newest request of the main conversation
	tooled     bool                     // a main request was seen
	underWay   map[*turn]spending.Spent // what is expected of each, in addition to what is counted
	ended      chan struct{}            // closed when one of them ends
	last       Answer                   // to that; zero until it is answered
	hooks      int64                    // number of the newest request of a hook
	hookOpen   bool                     // that is under way, or its answer calls tools
	reached    Reached
}

// turn is one request under way.
type turn struct {
	of     *conversation
	main   bool  // counts as a request of the main conversation
	number int64 // in the main conversation; 0 = it is not of it
	hook   int64 // the same among the requests of hooks
}

// turnsUsed reports whether the main conversation (tools), or all others together, made as
// many requests as the turns allow.
func (c *conversation) turnsUsed(l Limits, tools bool) bool {
	switch {
	case l.Turns <= 0:
		return false
	case tools:
		return c.main >= l.mainRequests()
	}
	return c.side >= l.sideRequests()
}

// beginTurn counts a request, or refuses it. room is overBudget, and loop says that the agent
// repeats itself. Without a turn and a refusal the request waits until one ends.
func (c *conversation) beginTurn(from asker, l Limits, asked request, loop bool,
	room func(string, []spending.Spent) (over string, full bool)) (t *turn, refused *refusal, wait <-chan struct{}) {
	tools := from == main
	c.mu.Lock()
	defer c.mu.Unlock()
	over, full := room(asked.model, slices.Collect(maps.Values(c.underWay)))
	if c.reached == "" && c.turnsUsed(l, tools) {
		c.reached = ReachedTurns
	}
	if c.reached == "" && over != "" {
		c.reached = ReachedBudget
	}
	if c.reached == "" && loop {
		c.reached = ReachedLoop
	}
	switch {
	case c.reached == ReachedTurns:
		return nil, refuseOver(fmt.Sprintf("this run may have %d turns; the sandbox counted more requests than they need", l.Turns)), nil
	case over != "":
		return nil, refuseOver(over), nil
	case c.reached == ReachedLoop:
		return nil, refuseOver(fmt.Sprintf("the agent made the same calls with the same results %d times", l.Repeats)), nil
	case len(c.underWay) >= maxInFlight:
		return nil, &refusal{status: 529, kind: apierror.Overloaded, message: "too many requests at a time"}, nil
	case full:
		return nil, nil, c.ended
	}
	// Without tools, the main conversation looks as side requests do. It counts
	// as theirs, and is the main one as long as no request had tools.
	speaks := tools || from == plain && !c.tooled
	t = &turn{of: c, main: tools}
	if c.underWay == nil {
		c.underWay, c.ended = map[*turn]spending.Spent{}, make(chan struct{})
	}
	c.underWay[t] = asked.expected()
	if tools {
		c.main, c.tooled = c.main+1, true
	} else {
		c.side++
	}
	if speaks {
		c.newest++
		c.last = Answer{}
		t.number = c.newest
	}
	if from == hook {
		c.hooks++
		t.hook, c.hookOpen = c.hooks, true
	}
	return t, nil, nil
}

// begun notes that the answer has begun. Its request and input have been counted: in between
// they would be neither expected nor used.
func (t *turn) begun(asked request) {
	asked.size, asked.extra = 0, 0
	left := asked.expected()
	left.Requests = 0
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.of.underWay[t] = left
}

// refuseOver is the refusal of a run that has reached a limit. Claude Code 2.1.329
// ends at once on this status with this header, without another try; 400 it
// repeats with less in it, and 403 it takes for a wrong key.
func refuseOver(message string) *refusal {
	return &refusal{status: http.StatusPaymentRequired, kind: apierror.Billing, message: message, final: true}
}

// end notes how a request was answered. One that the upstream refused does not
// count.
func (t *turn) end(answered bool) {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	delete(t.of.underWay, t)
	close(t.of.ended)
	t.of.ended = make(chan struct{})
	switch {
	case answered:
	case t.main:
		t.of.main--
	default:
		t.of.side--
	}
}

// said notes the answer to a request of the main conversation, unless there is a
// newer one.
func (t *turn) said(a Answer) {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	if t.number > 0 && t.number == t.of.newest {
		t.of.last = a
	}
	if t.hook > 0 && t.hook == t.of.hooks {
		t.of.hookOpen = a.Stop == "" || a.Stop == "tool_use" && a.Structured == nil
	}
}

func (c *conversation) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.underWay) > 0
}

func (c *conversation) state() (last Answer, hookOpen bool, reached Reached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last, c.hookOpen, c.reached
}
