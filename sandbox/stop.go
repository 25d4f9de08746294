package sandbox

import (
	"context"
	"syscall"
	"time"

	"github.com/org/claude-sandbox/sandbox/runplan"
)

// stopper ends the agent step by step: INT, TERM, KILL.
type stopper struct {
	agent *process
	say   func(string)
	ctx   context.Context
	timer *time.Timer
	sent  string
}

func (s *stopper) send(signal string) {
	s.sent = signal
	if err := s.agent.engine.Kill(s.ctx, s.agent.id, signal); err != nil {
		s.say("warning: " + err.Error())
	}
}

func (s *stopper) interrupt() {
	s.send("INT")
	s.timer.Reset(runplan.GraceInterrupt)
}

func (s *stopper) escalate() {
	if s.sent == "INT" {
		s.send("TERM")
		s.timer.Reset(runplan.GraceTerminate)
		return
	}
	s.send("KILL")
}

// signalName is the engine's name of a signal.
func signalName(s syscall.Signal) string {
	switch s {
	case syscall.SIGINT:
		return "INT"
	case syscall.SIGHUP:
		return "HUP"
	}
	return "TERM"
}
