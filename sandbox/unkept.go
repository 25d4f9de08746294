package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/org/claude-sandbox/internal/diag"
)

// A run whose agent succeeded is no success of the run if its work, or its records, could
// not be kept: whoever reads the exit code alone would throw them away.

// loss is what of a run is not where it belongs.
type loss struct {
	what []string // in words, which have been said with their reasons
	// unfetched is why the agent's copy of the project is still on the engine, and untaken
	// why commits are in the firewall's container alone; nil = they are not.
	unfetched, untaken error
}

// unkept says that something of the run could not be kept, and why.
func (r *run) unkept(what string, err error) {
	r.warn(err.Error())
	r.lose(what)
}

// lose notes that something of the run could not be kept, which has been said.
func (r *run) lose(what string) {
	if !slices.Contains(r.loss.what, what) {
		r.loss.what = append(r.loss.what, what)
	}
}

// loseUnwritten does so where this machine is the reason, and not what the agent left.
func (r *run) loseUnwritten(what string, err error) {
	if isUnwritten(err) {
		r.lose(what)
	}
}

// isUnwritten reports whether an error says that this machine could not write something, as
// on a full disk. Programs such as git say it in words.
func isUnwritten(err error) bool {
	return slices.ContainsFunc([]syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO}, func(why syscall.Errno) bool {
		return errors.Is(err, why) || err != nil && strings.Contains(err.Error(), why.Error())
	})
}

// settle decides the exit code, and returns why the run is a failure: err, or what could
// not be kept of a run that would be a success otherwise.
func (r *run) settle(err error) error {
	if err == nil && len(r.loss.what) > 0 && r.result.Outcome.OK() && r.result.ExitCode == 0 {
		err = fmt.Errorf("%w: %s", ErrUnkept, strings.Join(r.loss.what, ", "))
		hint := "make room, or see the warnings above for the reason; the agent's files are where it wrote them"
		if r.loss.unfetched != nil || r.loss.untaken != nil {
			hint = "the run's container has it; make room, and the next 'sbx-devc run' takes it from there"
		}
		err = diag.WithHint(err, "%s", hint)
	}
	r.result.settleExit(err)
	return err
}
