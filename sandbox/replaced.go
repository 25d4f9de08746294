package sandbox

import (
	"fmt"
	"strings"
	"time"

	"github.com/org/claude-sandbox/internal/exitcode"
)

// Protected paths are mounted read-only, and the kernel takes a mount away when
// somebody on the host removes its place or renames something over it, as git
// does with its config. The first process of the agent's container notices that
// at once and ends everything there, see cmd/sbx-init. It shares the agent's
// user, who could keep it from the processors for a while, so the places are
// looked at from here, too: while the agent works and when it has ended.

// placesPause is how often the places are looked at from here.
const placesPause = time.Second

// unprotected says what lost its protection while the agent worked, "" if
// nothing did. An agent that ends itself with our own exit code is believed: it
// gains a failure.
func unprotected(replaced []string, code int) string {
	if len(replaced) == 0 && code != exitcode.Unprotected {
		return ""
	}
	what := strings.Join(replaced, ", ")
	if what == "" {
		what = "a protected path" // it is back in its place; sbx-init has named it
	}
	return fmt.Sprintf("somebody on this machine removed, renamed or replaced %s while the agent worked, which takes the protection away, "+
		"or it was written to by another name; the agent was ended, and may have written there in the moment between: "+
		"look at it without git (ls, cat) before git, a prompt or an editor obeys it, and run again", what)
}
