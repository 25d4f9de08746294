package decision

import (
	"fmt"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/pathglob"
	"github.com/org/claude-sandbox/internal/shellword"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/session/review"
)

// Danger is what a person must see before changes are taken.
type Danger struct {
	Open    []string // paths that are dangerous, and that no glob accepts
	Unasked []string // those of them that act although the project is not run, or give a secret away
}

// DangerOf is the danger of reviews without what globs accept.
func DangerOf(reviews []*review.Review, accept []string) (d Danger) {
	for _, r := range reviews {
		for i := range r.Files[:r.Dangerous] {
			f := &r.Files[i]
			if pathglob.MatchAny(accept, f.Path) {
				continue
			}
			d.Open = append(d.Open, f.Path)
			if f.Unasked() {
				d.Unasked = append(d.Unasked, f.Path)
			}
		}
	}
	return d
}

// Refusal is the answer where no person is there to ask: an error for what acts unasked.
func (d Danger) Refusal() error {
	if len(d.Unasked) == 0 {
		return nil
	}
	err := fmt.Errorf("%s would act without being run, or give a secret away, such as %s; nothing was done",
		visible.Count(len(d.Unasked), "changed file"), visible.Line(d.Unasked[0]))
	return exitcode.With(exitcode.Refused, diag.WithHint(err,
		"look at it first (sbx-devc review), and name what you accept: %s", strings.Join(acceptFlags(d.Unasked), " ")))
}

// globName makes a glob that names nothing but one path.
var globName = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// acceptFlags are flags that accept paths, at most some of them.
func acceptFlags(paths []string) (flags []string) {
	const most = 3
	for _, p := range paths[:min(len(paths), most)] {
		flags = append(flags, "--accept-dangerous "+shellword.Quote(visible.Line(globName.Replace(p))))
	}
	if len(paths) > most {
		flags = append(flags, "…")
	}
	return flags
}
