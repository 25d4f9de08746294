package rights

import (
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
)

// dockerfile reads the stage that becomes the container: its last USER, ENTRYPOINT and
// CMD, its variables and its ports. A user that depends on the build is not known.
func (l *lister) dockerfile() {
	if l.Stage == nil {
		return
	}
	right := func(key string, kind Kind, name, value string, start, end int, words ...string) {
		l.add(Right{Kind: kind, Name: name, Value: value, Words: words, Notation: Dockerfile, Key: key,
			Place: Place{Doc: l.Dockerfile, Start: start, End: end}})
	}
	if user, _, _ := strings.Cut(l.Stage.User, ":"); user != "" && !strings.Contains(l.Stage.User, "$") {
		last := l.Stage.Last("USER")
		if last == nil { // scratch has root alone
			last = l.Stage.From
		}
		right("USER", User, "", user, last.Start, last.HeadEnd)
	}
	entrypoint, cmd := l.Stage.Start()
	if entrypoint != nil {
		i := l.Stage.Last("ENTRYPOINT")
		right("ENTRYPOINT", Entrypoint, "", strings.Join(entrypoint, " "), i.Start, i.HeadEnd, entrypoint...)
	}
	if cmd != nil {
		i := l.Stage.Last("CMD")
		right("CMD", Command, "", strings.Join(cmd, " "), i.Start, i.HeadEnd, cmd...)
	}
	for _, i := range l.Stage.History() {
		switch c := i.Command.(type) {
		case *instructions.EnvCommand:
			behind := i.Start
			for _, kv := range c.Env {
				start, end := i.FindBehind(behind, kv.Key)
				behind = end
				right("ENV", Env, kv.Key, strings.Trim(kv.Value, `"'`), start, end)
			}
		case *instructions.ExposeCommand:
			for _, port := range c.Ports {
				start, end := i.Find(port)
				right("EXPOSE", Exposed, "", i.Expand(port), start, end)
			}
		}
	}
}
