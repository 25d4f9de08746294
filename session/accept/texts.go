package accept

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/session/instructions"
	"github.com/org/claude-sandbox/settings/trust"
)

// texts are what Claude gets of a project's instructions. They are accepted with the
// project's settings, and are an entry of their own in the store: a skill that changes
// stays away from Claude until it is accepted, and closes no host.
type texts struct {
	set      *instructions.Set
	accepted trust.Content // nil = none ever were
}

// textsName is the name of a project's texts in the store.
func textsName(project string) string { return project + filepath.FromSlash("/.claude/texts") }

// texts reads those of the project in dir.
func (e entry) texts(dir string) (texts, error) {
	set, err := instructions.Project(dir)
	if err != nil {
		return texts{}, err
	}
	content := trust.Content(set.Texts())
	answer, err := e.store.Look(textsName(e.name), content)
	accepted := answer.Accepted
	if answer.Standing == trust.Trusted {
		accepted = content
	}
	return texts{set, accepted}, err
}

// acceptTexts remembers texts in the place of earlier ones.
func (e entry) acceptTexts(t texts, by string) error {
	if content := t.set.Texts(); len(content) > 0 || t.accepted != nil {
		return e.store.Accept(textsName(e.name), content, by)
	}
	return nil
}

// Texts returns the texts for Claude of the trusted project in dir that its user has
// accepted as they are. The others are among what is left out.
func Texts(own userdir.Dir, dir string) (*instructions.Set, error) {
	e, err := entryOf(own, dir)
	if err != nil {
		return nil, err
	}
	t, err := e.texts(dir)
	if err != nil {
		return nil, exitError(err)
	}
	t.set.Only(t.accepted, "new or changed since you accepted the project: 'sbx-devc trust' shows it")
	return t.set, nil
}

// NewTexts reports whether the project has texts for Claude that are not accepted as
// they are.
func (q *Question) NewTexts() bool { return len(q.texts.set.Other(q.texts.accepted)) > 0 }

// showTexts names the texts that Claude would get and that are not accepted, and what
// has changed in them.
func (q *Question) showTexts(w io.Writer) {
	for i, name := range q.texts.set.Other(q.texts.accepted) {
		if i == maxTexts {
			fmt.Fprintln(w, "  …")
			break
		}
		if i == 0 {
			fmt.Fprintln(w, "Claude gets these texts of the project, which are new or have changed:")
		}
		fmt.Fprintf(w, "  .claude/%s\n", visible.Line(name))
	}
	if q.NewTexts() && q.texts.accepted != nil {
		writeBounded(w, trust.Content(q.texts.set.Texts()).Diff(q.texts.accepted))
	}
}

// maxTexts bounds the names of texts that are shown.
const maxTexts = 20
