package kernel

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
)

// job is a started program. Programs run side by side by being started one
// after the other on the same thread, never from goroutines: a child inherits
// the network namespace of the thread that forks it.
type job struct {
	ctx            context.Context
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	err            error // why it could not be started
}

func start(ctx context.Context, stdin, program string, args ...string) *job {
	j := &job{ctx: ctx, cmd: exec.CommandContext(ctx, program, args...)}
	j.cmd.Stdin, j.cmd.Stdout, j.cmd.Stderr = strings.NewReader(stdin), &j.stdout, &j.stderr
	j.err = j.cmd.Start()
	return j
}

// startRestore applies a script without flushing what is not ours, waiting for
// the lock (-w) that another iptables program may hold.
func (t tools) startRestore(ctx context.Context, script string) *job {
	return start(ctx, script, t.restore, "--noflush", "-w")
}

// startSave prints every table of the family.
func (t tools) startSave(ctx context.Context) *job {
	return start(ctx, "", t.save)
}

func (j *job) wait() error {
	if j.err == nil {
		j.err = j.cmd.Wait()
	}
	if j.ctx.Err() != nil && j.err != nil {
		j.err = j.ctx.Err() // rather than how the program ended because of it
	}
	if j.err == nil {
		return nil
	}
	return toolError(filepath.Base(j.cmd.Path), j.stderr.String(), j.err)
}

// waitAll waits for every job, also after one has failed.
func waitAll(jobs []*job, what string) error {
	var errs []error
	for _, j := range jobs {
		if err := j.wait(); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return &opError{what, errors.Join(errs...)}
}

// opError puts the operation before the programs' errors, on one line.
type opError struct {
	what string
	err  error
}

func (e *opError) Error() string {
	return e.what + ": " + strings.ReplaceAll(e.err.Error(), "\n", "; ")
}
func (e *opError) Unwrap() error { return e.err }
