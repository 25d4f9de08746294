package detect

import "github.com/org/claude-sandbox/internal/lazyregexp"

var gitURL = lazyregexp.New(`^\s*url\s*=\s*"?([^\s"]+)`)

// git proposes where the repository and its submodules live. The files are
// read as text: git itself would obey what else they say.
func (l *look) git() {
	for _, s := range []struct{ file, reason string }{
		{".git/config", "a remote of the repository"},
		{".gitmodules", "a submodule"},
	} {
		l.lines(s.file, func(line int, text []byte) {
			if m := gitURL.FindSubmatch(text); m != nil {
				l.offer(string(m[1]), s.reason, s.file, line)
			}
		})
	}
}
