package operation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Rules are the typed entries of a policy, understood. They never change, so any
// number of goroutines may ask them.
type Rules struct {
	services []compiled // of each kind that has an entry, one
	entries  []entry    // all of them
	hosts    []Host     // of all services, each once
}

// MaxEntries bounds the typed entries of a policy: they are compared with each other
// and with every host, and a project's file may be anybody's.
const MaxEntries = 500

// maxEntry bounds an entry, in bytes: people are shown all of it before they accept it.
const maxEntry = 500

// service is what the entries of one kind allow, all of them together.
type service interface {
	// judge decides about a request to a host of the entries. A Decision without an
	// Operation says that the request is none of this kind's; with a Reason, that
	// it may be one that the kind does not know.
	judge(m *Memory, req *Request, body *Body) Decision
}

// form is an entry that its kind has understood.
type form[F any] interface {
	hosts() []Host
	// covers reports whether it allows all that another one of its kind does.
	covers(narrow F) bool
	// words says in plain words what it allows, and whether that is reading alone.
	words() (text string, reads bool)
}

// kind is a family of entries.
type kind struct {
	word    string // before ":"
	compile func(entries []entry) (compiled, []Problem)
	covers  func(wide, narrow entry) bool
	words   func(e entry) (text string, reads bool)
}

// compiled is a service with the hosts that its entries open.
type compiled struct {
	service
	hosts []Host
}

// newKind makes a kind of the function that understands one of its entries, or says what
// is wrong with it, and the one that makes a service of them all.
func newKind[F form[F]](word string, parse func(e entry) (f F, message, hint string), serve func(all []F) service) kind {
	read := func(e entry) (f F, ok bool) {
		e.form.once.Do(func() {
			if f, bad, _ := parse(e); bad == "" {
				e.form.read = f
			}
		})
		f, ok = e.form.read.(F)
		return f, ok
	}
	return kind{
		word: word,
		compile: func(entries []entry) (c compiled, problems []Problem) {
			var all []F
			for _, e := range entries {
				f, message, hint := parse(e)
				if message != "" {
					problems = append(problems, Problem{e.index, message, hint})
					continue
				}
				all = append(all, f)
				c.hosts = append(c.hosts, f.hosts()...)
			}
			c.service = serve(all)
			return c, problems
		},
		covers: func(wide, narrow entry) bool {
			w, good := read(wide)
			n, alsoGood := read(narrow)
			return good && alsoGood && w.covers(n)
		},
		words: func(e entry) (text string, reads bool) {
			f, bad, _ := parse(e)
			if bad != "" {
				return e.text, false
			}
			return f.words()
		},
	}
}

// kinds are all of them, in the order in which they judge.
var kinds = []kind{
	newKind("git", parseGit, func(all []gitEntry) service { return &git{all} }),
	newKind("github", parseGitHub, func(all []githubEntry) service { return &github{all} }),
	newKind("gitlab", parseGitLab, func(all []gitlabEntry) service { return &gitlab{all} }),
	npmRegistry.asKind(),
	pypiRegistry.asKind(),
	goRegistry.asKind(),
	cratesRegistry.asKind(),
	ociRegistry.asKind(),
	newKind("https", parseWeb, func(all []webEntry) service { return &web{all} }),
}

// entry is a typed entry cut into its parts: "KIND:TARGET WORD WORD".
type entry struct {
	index  int    // among the entries given to Compile
	text   string // as written
	kind   string
	target string // "github.com/acme/app"
	words  []string
	form   *onceForm
}

// onceForm is what an entry means, once it is compared: each is, with each other one.
type onceForm struct {
	once sync.Once
	read any // nil = the entry is wrong
}

// Problem says why an entry cannot be used.
type Problem struct {
	Index         int    // among the entries given to Compile
	Message, Hint string // lower case, no full stop; Hint may be empty
}

// Typed reports whether an entry of an allowlist is about operations, and not a
// host alone. "git:443" is a host with a port, and no entry about git. A URL alone
// names no operation.
func Typed(text string) bool {
	_, rest, ok := cutKind(text)
	url := strings.HasPrefix(rest, "//") && !strings.ContainsFunc(strings.TrimSpace(rest), unicode.IsSpace)
	return ok && !isPort(rest) && !url
}

// cutKind finds the kind that begins an entry.
func cutKind(text string) (k kind, rest string, ok bool) {
	word, rest, ok := strings.Cut(strings.TrimSpace(text), ":")
	if !ok {
		return kind{}, "", false
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.word == word })
	if i < 0 {
		return kind{}, "", false
	}
	return kinds[i], rest, true
}

// isPort reports whether rest is a port as a plain entry writes it: "443", "53/udp".
func isPort(rest string) bool {
	number, _, _ := strings.Cut(rest, "/")
	return number != "" && strings.Trim(number, "0123456789") == ""
}

// Compile understands typed entries, each of which Typed accepts. It reports
// everything that is wrong; the Rules are nil when anything is.
func Compile(texts []string) (*Rules, []Problem) {
	if len(texts) > MaxEntries {
		return nil, []Problem{{MaxEntries, fmt.Sprintf("there are more than %d typed entries", MaxEntries), "use wildcards"}}
	}
	byKind := map[string][]entry{}
	r := &Rules{}
	var problems []Problem
	for i, text := range texts {
		if len(text) > maxEntry {
			problems = append(problems, Problem{i, fmt.Sprintf("%q… has more than %d characters", text[:40], maxEntry), "write several entries"})
			continue
		}
		if bad := strings.IndexFunc(text, isOdd); bad >= 0 {
			problems = append(problems, Problem{i, fmt.Sprintf("%+q holds a character that people cannot see or tell from a space", text),
				"write the words with plain spaces between them"})
			continue
		}
		e := parseEntry(text)
		e.index = i
		r.entries = append(r.entries, e)
		byKind[e.kind] = append(byKind[e.kind], e)
	}
	for _, k := range kinds {
		if len(byKind[k.word]) == 0 {
			continue
		}
		s, bad := k.compile(byKind[k.word])
		problems, r.services = append(problems, bad...), append(r.services, s)
	}
	if len(problems) > 0 {
		slices.SortStableFunc(problems, func(a, b Problem) int { return a.Index - b.Index })
		return nil, problems
	}
	for _, s := range r.services {
		for _, h := range s.hosts {
			if !slices.Contains(r.hosts, h) {
				r.hosts = append(r.hosts, h)
			}
		}
	}
	return r, nil
}

// parseEntry cuts a text that Typed accepts into its parts.
func parseEntry(text string) entry {
	k, rest, _ := cutKind(text)
	e := entry{text: strings.TrimSpace(text), kind: k.word, form: &onceForm{}}
	if fields := strings.Fields(rest); len(fields) > 0 {
		e.target, e.words = fields[0], fields[1:]
	}
	return e
}

// isOdd reports whether c is invisible, or a space other than " ".
func isOdd(c rune) bool {
	return c != ' ' && !unicode.IsGraphic(c) || c != ' ' && unicode.IsSpace(c) || c == utf8.RuneError
}

// Covers reports whether one of the entries allows all that the typed entry text
// does, which Compile accepts. It errs on the side of false: an entry that only
// several together cover is not covered.
func (r *Rules) Covers(text string) bool { return r.CoveredBy(text) != "" }

// CoveredBy returns the entry for which Covers is true; "" when there is none.
func (r *Rules) CoveredBy(text string) string {
	return r.coveredBy(parseEntry(text))
}

// Includes reports whether each entry of other is covered by one of r.
func (r *Rules) Includes(other *Rules) bool {
	return !slices.ContainsFunc(other.entries, func(e entry) bool { return r.coveredBy(e) == "" })
}

func (r *Rules) coveredBy(narrow entry) string {
	if r == nil {
		return ""
	}
	i := slices.IndexFunc(r.entries, func(wide entry) bool {
		if wide.kind != narrow.kind {
			return false
		}
		k, _, _ := cutKind(wide.text)
		same := wide.target == narrow.target && slices.Equal(wide.words, narrow.words)
		return same || k.covers(wide, narrow)
	})
	if i < 0 {
		return ""
	}
	return r.entries[i].text
}

// Words says in plain words what a typed entry allows that Compile accepts, and
// whether that is reading alone. The text may hold any character that entries may.
func Words(text string) (words string, reads bool) {
	k, _, _ := cutKind(text)
	if k.words == nil {
		return strings.TrimSpace(text), false
	}
	return k.words(parseEntry(text))
}

// Hosts returns the hosts whose TLS is opened. The list is the rules' own.
func (r *Rules) Hosts() []Host {
	if r == nil {
		return nil
	}
	return r.hosts
}

// GitHosts returns those of the hosts at which git may do something.
func (r *Rules) GitHosts() (hosts []Host) {
	if r == nil {
		return nil
	}
	for _, s := range r.services {
		if _, ok := s.service.(*git); ok {
			for _, h := range s.hosts {
				if !slices.Contains(hosts, h) {
					hosts = append(hosts, h)
				}
			}
		}
	}
	return hosts
}

// Opens reports whether the TLS of a host is opened: by its canonical name.
func (r *Rules) Opens(name string, port uint16) bool {
	return slices.ContainsFunc(r.Hosts(), func(h Host) bool { return h.Matches(name, port) })
}

// Memory is what one sandbox did that later decisions depend on, such as the refs
// that it pushed. It outlives a change of the rules and is safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	pushed  Pushed
	changed func(Pushed)        // nil = it is not kept
	ids     map[string][]string // "site id" of GitHub's objects -> repository
}

// Pushed is where this sandbox left the refs that it pushed: "host/repository ref" ->
// object id. A commit that a push called shallow is "host/repository shallow id" -> id.
type Pushed map[string]string

// NewMemory returns the memory of a sandbox that did nothing yet.
func NewMemory() *Memory { return RestoreMemory(Pushed{}, nil) }

// RestoreMemory returns the memory of a sandbox that pushed, and did nothing else that
// counts. It tells changed, unless nil, each time when more is pushed; the map is its own.
func RestoreMemory(pushed Pushed, changed func(Pushed)) *Memory {
	pushed = maps.Clone(pushed)
	if pushed == nil {
		pushed = Pushed{}
	}
	return &Memory{pushed: pushed, changed: changed, ids: map[string][]string{}}
}

// Decide judges a request. The body is peeked at, and none of it is lost.
func (r *Rules) Decide(m *Memory, req *Request, body *Body) Decision {
	no := Decision{
		Operation: req.Method + " " + req.Path.Raw,
		Reason:    "no entry allows " + req.Method + " " + req.Path.Raw + " at " + req.Host,
	}
	known, guessed := false, false
	for _, s := range r.services {
		if !slices.ContainsFunc(s.hosts, func(h Host) bool { return h.Matches(req.Host, req.Port) }) {
			continue
		}
		d := s.judge(m, req, body)
		switch {
		case d.Allowed:
			screen, err := screenOverride(req, body)
			if err != nil {
				no.Reason = err.Error()
				return no
			}
			d.Screen = screen
			return d
		case known:
		case d.Operation != "":
			no, known = d, true
		case d.Reason != "" && !guessed:
			no.Reason, no.Answer, guessed = d.Reason, d.Answer, true
		}
	}
	return no
}
