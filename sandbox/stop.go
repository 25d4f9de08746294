package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// stopper ends the agent step by step: INT, TERM, KILL.
type stopper struct {
	run   *run
	ctx   context.Context
	timer *time.Timer
	sent  string
}

func (s *stopper) send(signal string) {
	s.sent = signal
	if err := s.run.engine.Kill(s.ctx, s.run.agent.id, signal); err != nil {
		s.run.host.Say("warning: " + err.Error())
	}
}

func (s *stopper) interrupt() {
	s.send("INT")
	s.timer.Reset(graceInterrupt)
}

func (s *stopper) escalate() {
	if s.sent == "INT" {
		s.send("TERM")
		s.timer.Reset(graceTerminate)
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

// output passes the agent's standard output on and keeps a copy. A reader that
// went away does not stop the run: the transcript goes on.
type output struct {
	to         io.Writer
	transcript *os.File
	errs       []error
}

func (o *output) Write(p []byte) (int, error) {
	if o.transcript != nil {
		if _, err := o.transcript.Write(p); err != nil {
			o.errs = append(o.errs, err)
			o.transcript.Close()
			o.transcript = nil
		}
	}
	if o.to != nil {
		if _, err := o.to.Write(p); err != nil {
			o.errs = append(o.errs, err)
			o.to = nil
		}
	}
	return len(p), nil
}

func (o *output) close() error {
	if o.transcript != nil {
		o.errs = append(o.errs, o.transcript.Close())
	}
	return errors.Join(o.errs...)
}
