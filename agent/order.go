package agent

// order follows the sequence of a session's lines. Claude writes
//
//	init, messages…, result [, system lines…, init, messages…, result]…
//
// in one session: the part in brackets when a task in the background ends
// after the result and Claude goes on. Claude holds a result back while tasks
// run, and may write it after the next init (measured with two subagents). So
// every init has one result, which may be late.
type order struct {
	session string
	begun   bool // an init came
	open    int  // inits without a result
	closed  bool // a result came
	wrong   string
}

func (o *order) init(e Init) {
	if o.begun && e.SessionID != o.session {
		o.found("there is more than one session")
	}
	o.session, o.begun = e.SessionID, true
	o.open++
}

func (o *order) result(e Result) {
	switch {
	case o.closed && o.open == 0:
		o.found("there is more than one result")
	case !o.begun:
		// A start that fails has a result and no init; it is no success.
		if e.Subtype == "success" && !e.IsError {
			o.found("there is a result without a session")
		}
	case e.SessionID != o.session:
		o.found("the result is another session's")
	}
	o.open, o.closed = max(o.open-1, 0), true
}

// message is one of the conversation's own.
func (o *order) message() {
	if o.closed && o.open == 0 {
		o.found("the session goes on after its result")
	}
}

// foreign is a line that Claude does not write. Hooks may, before the session.
func (o *order) foreign() {
	if o.begun {
		o.found("there is a line that is not Claude's")
	}
}

func (o *order) found(what string) {
	if o.wrong == "" {
		o.wrong = what
	}
}

func (o *order) verdict() string {
	if o.wrong == "" && o.closed && o.open > 0 {
		return "a part of the session has no result"
	}
	return o.wrong
}
