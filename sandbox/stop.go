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
	left       int64  // bytes that the transcript may still take
	full       func() // called once when it has taken them
	errs       []error
}

// maxTranscript bounds the transcript, in bytes: the agent decides how much it
// prints, and the host's disk is not the agent's. An hour of work takes some MiB.
const maxTranscript = 512 << 20

func (o *output) Write(p []byte) (int, error) {
	if o.transcript != nil {
		kept := p[:min(int64(len(p)), o.left)]
		o.left -= int64(len(kept))
		_, err := o.transcript.Write(kept)
		if err != nil {
			o.errs = append(o.errs, err)
		}
		if cut := len(kept) < len(p); err != nil || cut {
			o.errs = append(o.errs, o.transcript.Close())
			o.transcript = nil
			if cut {
				o.full()
			}
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
