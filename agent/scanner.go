package agent

import (
	"bytes"
	"io"
)

// maxLine bounds what the scanner keeps of one line, in bytes. The longest
// line that matters is a result: 128k output tokens are well below 1 MiB. A
// longer line passes through but raises no event.
const maxLine = 16 << 20

// Scanner passes claude's stream-json output on, byte for byte, and reads it
// on the way. Lines may arrive in any pieces; text that is not JSON and types
// it does not know are passed on and otherwise ignored. It is not safe for
// concurrent use.
type Scanner struct {
	out     io.Writer
	onEvent func(Event)

	line   []byte // the unfinished line
	skip   bool   // the unfinished line is longer than maxLine
	result *Result
	said   []byte // the line of result
	init   *Init
	order  order
	outErr error
}

// NewScanner returns a Scanner that copies to out and calls onEvent, from
// Write and Close, for every event in order. A nil onEvent hears nothing.
func NewScanner(out io.Writer, onEvent func(Event)) *Scanner {
	if onEvent == nil {
		onEvent = func(Event) {}
	}
	return &Scanner{out: out, onEvent: onEvent}
}

// Write passes p on before it reads it. When out fails the scanner still
// reads, so that the run can be judged, and returns out's first error.
func (s *Scanner) Write(p []byte) (int, error) {
	if s.outErr == nil {
		_, s.outErr = s.out.Write(p)
	}
	rest := p
	for {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			s.keep(rest)
			break
		}
		if len(s.line) == 0 && !s.skip && i <= maxLine {
			s.read(rest[:i]) // a whole line: no copy
		} else {
			s.keep(rest[:i])
			s.finish()
		}
		rest = rest[i+1:]
	}
	if s.outErr != nil {
		return 0, s.outErr
	}
	return len(p), nil
}

// Close reads a last line that has no newline.
func (s *Scanner) Close() error {
	s.finish()
	return s.outErr
}

// Result returns the last result event that says something, or nil if there was
// none. After a task in the background ends Claude may begin again, find nothing
// to do and write an empty result.
func (s *Scanner) Result() *Result { return s.result }

// ResultLine is the line of Result as claude wrote it, or nil.
func (s *Scanner) ResultLine() []byte { return s.said }

// Init returns the last init event, or nil if there was none.
func (s *Scanner) Init() *Init { return s.init }

// Tampered says why the output cannot be Claude's alone; "" = nothing speaks
// against it. Call it after Close. Claude's children can write to its output,
// so its events must come in Claude's order, all of one session. A program that
// controls Claude's process can keep to that order.
func (s *Scanner) Tampered() string { return s.order.verdict() }

func (s *Scanner) keep(part []byte) {
	if s.skip || len(s.line)+len(part) > maxLine {
		s.skip, s.line = true, nil
		return
	}
	s.line = append(s.line, part...)
}

func (s *Scanner) finish() {
	switch {
	case s.skip:
		s.order.foreign()
	case len(s.line) > 0:
		s.read(s.line)
	}
	s.skip = false
	if cap(s.line) > 1<<20 {
		s.line = nil // do not hold on to one huge line's memory
	}
	s.line = s.line[:0]
}

func (s *Scanner) read(line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	events, main, ok := parseLine(line)
	if !ok {
		s.order.foreign()
		return
	}
	if main {
		s.order.message()
	}
	for _, e := range events {
		switch e := e.(type) {
		case Result:
			if s.result == nil || !e.idle() {
				s.result, s.said = &e, bytes.Clone(line)
			}
			s.order.result(e)
		case Init:
			s.init = &e
			s.order.init(e)
		}
		s.onEvent(e)
	}
}
