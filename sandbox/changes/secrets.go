package changes

import (
	"bytes"
	"io"
	"slices"
	"sort"

	"github.com/org/claude-sandbox/internal/redact"
)

// Secret is a secret of the run whose value a change holds. In the diff the value is
// asterisks.
type Secret struct {
	Name string `json:"name"`
	Line int    `json:"line,omitempty"` // of the file as it is now; 0 = it is not in the diff
	// Former says that it stands in lines that are gone: the file held it before. The former
	// content is in FormerFile then, as far as there is room.
	Former bool `json:"former,omitempty"`
	InName bool `json:"inName,omitempty"` // the path holds it
}

// maxSecrets bounds the secrets that are noted of one change.
const maxSecrets = 100

func (c *Change) noteSecret(s Secret) {
	for _, other := range c.Secrets {
		if other == s {
			return
		}
	}
	if len(c.Secrets) < maxSecrets {
		c.Secrets = append(c.Secrets, s)
	}
}

// Secrets are the names of the secrets that the changes bring, sorted.
func (s *Set) Secrets() (names []string) {
	for i := range s.Changes {
		for _, at := range s.Changes[i].Secrets {
			if !at.Former && !slices.Contains(names, at.Name) {
				names = append(names, at.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// HadSecret reports whether lines that are gone held a secret, so that the diff does not
// tell what they were.
func (c *Change) HadSecret() bool {
	for _, s := range c.Secrets {
		if s.Former {
			return true
		}
	}
	return false
}

// hideSecrets puts asterisks over the secrets in hunks, of both sides, and notes those
// that the change brings and those that it takes away.
func (c *Change) hideSecrets(hunks []byte, f *redact.Finder) {
	if f == nil {
		return
	}
	var old, fresh side
	number := 0
	for at := 0; at < len(hunks); {
		end := at + len(hunks[at:])
		if i := bytes.IndexByte(hunks[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		switch line := hunks[at:end]; line[0] {
		case '@':
			old.hide(c, hunks, f, true)
			fresh.hide(c, hunks, f, false)
			number = newStart(line)
		case ' ':
			old.add(line, at, 0)
			fresh.add(line, at, -number)
			number++
		case '-':
			old.add(line, at, number)
		case '+':
			fresh.add(line, at, number)
			number++
		}
		at = end
	}
	old.hide(c, hunks, f, true)
	fresh.hide(c, hunks, f, false)
}

// newStart is the first new line of "@@ -1,2 +3,4 @@".
func newStart(head []byte) (n int) {
	_, after, _ := bytes.Cut(head, []byte(" +"))
	for _, c := range after {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// side is the lines of one side of a hunk, one after the other.
type side struct {
	text  []byte
	lines []sideLine
}

// sideLine is a line of a side: where it begins there and in the diff, and its number,
// which is negative or 0 for one that both sides have.
type sideLine struct{ at, inDiff, number int }

func (s *side) add(line []byte, at, number int) {
	s.lines = append(s.lines, sideLine{len(s.text), at + 1, number})
	s.text = append(s.text, line[1:]...)
}

// hide puts asterisks over the secrets of the side and empties it.
func (s *side) hide(c *Change, hunks []byte, f *redact.Finder, former bool) {
	for _, p := range f.Find(s.text) {
		noted := false
		i := sort.Search(len(s.lines), func(i int) bool { return s.lines[i].at > p.At }) - 1
		for ; i < len(s.lines) && s.lines[i].at < p.At+p.Size; i++ {
			l := s.lines[i]
			for at := max(p.At, l.at); at < p.At+p.Size && at < len(s.text) && s.text[at] != '\n'; at++ {
				hunks[l.inDiff+at-l.at] = '*'
			}
			if l.number > 0 && !noted {
				noted = true
				n := Secret{Name: p.Name, Line: l.number, Former: former}
				if former {
					n.Line = 0
				}
				c.noteSecret(n)
			}
		}
	}
	*s = side{}
}

// hideTarget puts asterisks over the secrets in where a link leads. Such a link is not
// applied and not brought back: it is said to be another one.
func (s *State) hideTarget(f *redact.Finder) {
	if s == nil || s.What != Symlink {
		return
	}
	text := []byte(s.Target)
	for _, p := range f.Find(text) {
		copy(text[p.At:], bytes.Repeat([]byte("*"), p.Size))
	}
	s.Target = string(text)
}

// Bounds on looking for secrets in a file that is too large to be shown, in bytes.
const (
	chunk   = 1 << 20
	overlap = 64 << 10 // no form of a secret that is looked for is longer, as a rule
)

// searchUnshown notes the secrets of a file that is too large to be shown, and of the
// files of a new folder with very many.
func (r *reader) searchUnshown(c *Change) {
	if n := r.after.at(c.Path); r.b.secrets == nil || n == nil {
		return
	} else if n.what == File {
		r.search(c, c.Path, n)
	} else {
		n.each(c.Path, func(rel string, k *node) {
			if k.what == File {
				r.search(c, rel, k)
			}
		})
	}
}

// search notes the secrets of a file, or counts it as not searched.
func (r *reader) search(c *Change, rel string, n *node) {
	f, err := openFile(r.b.root, rel, n)
	if err != nil || r.left < n.size {
		r.unsearched++
		return
	}
	defer f.Close()
	r.left -= n.size
	text := make([]byte, min(chunk, n.size+1))
	for kept := 0; r.ctx.Err() == nil; {
		read, err := io.ReadFull(f, text[kept:])
		for _, p := range r.b.secrets.Find(text[:kept+read]) {
			c.noteSecret(Secret{Name: p.Name})
		}
		if err != nil {
			return
		}
		kept = copy(text, text[max(0, len(text)-overlap):])
	}
	r.unsearched++
}
