package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/org/claude-sandbox/internal/diag"
)

// A run whose agent succeeded is no success of the run if its work, or its records, could
// not be kept: whoever reads the exit code alone would throw them away.

// notices are what people hear of a run, the warnings of its result, and what of it is not
// where it belongs.
type notices struct {
	say    func(string)
	result *Result
	lost   []string // in words, which have been said with their reasons
	// unfetched is why the agent's copy of the project is still on the engine, and untaken
	// why commits are in the firewall's container alone; nil = they are not.
	unfetched, untaken error
}

// warn says a warning, which is in the result as well.
func (n *notices) warn(text string) {
	text = strings.ReplaceAll(text, "\n", "; ") // of joined errors
	n.say("warning: " + text)
	n.result.Warnings = append(n.result.Warnings, text)
}

// unkept says that something of the run could not be kept, and why.
func (n *notices) unkept(what string, err error) {
	n.warn(err.Error())
	n.lose(what)
}

// lose notes that something of the run could not be kept, which has been said.
func (n *notices) lose(what string) {
	if !slices.Contains(n.lost, what) {
		n.lost = append(n.lost, what)
	}
}

// loseUnwritten does so where this machine is the reason, and not what the agent left.
func (n *notices) loseUnwritten(what string, err error) {
	if IsUnwritten(err) {
		n.lose(what)
	}
}

// IsUnwritten reports whether an error says that this machine could not write something, as
// on a full disk. Programs such as git say it in words.
func IsUnwritten(err error) bool {
	return slices.ContainsFunc([]syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO}, func(why syscall.Errno) bool {
		return errors.Is(err, why) || err != nil && strings.Contains(err.Error(), why.Error())
	})
}

// settle decides the exit code, and returns why the run is a failure: err, or what could
// not be kept of a run that would be a success otherwise.
func (n *notices) settle(err error) error {
	if err == nil && len(n.lost) > 0 && n.result.Outcome.OK() && n.result.ExitCode == 0 {
		err = fmt.Errorf("%w: %s", ErrUnkept, strings.Join(n.lost, ", "))
		hint := "make room, or see the warnings above for the reason; the agent's files are where it wrote them"
		switch {
		case isUngiven(n.stuck()):
			hint = "the run's container has it; when the container engine answers, the next 'sbx-devc run' takes it from there"
		case n.stuck() != nil:
			hint = "the run's container has it; make room, and the next 'sbx-devc run' takes it from there"
		}
		err = diag.WithHint(err, "%s", hint)
	}
	n.result.settleExit(err)
	return err
}

// stuck is why the agent's work is on the engine alone; nil = it is here.
func (n *notices) stuck() error { return cmp.Or(n.unfetched, n.untaken) }
