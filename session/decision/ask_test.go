package decision

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/ask"
	"github.com/org/claude-sandbox/session/review"
)

// written is a run over files, each with its hunks: "hooks: h1 h2 | a.go: a1".
func written(dangerous, others string) *Run {
	r := &Run{Review: &review.Review{}, Taken: Taken{}}
	for i, list := range []string{dangerous, others} {
		for file := range strings.SplitSeq(list, " | ") {
			name, hunks, ok := strings.Cut(file, ": ")
			if !ok {
				continue
			}
			f := review.File{Path: name}
			if i == 0 {
				f.Kinds = []review.Kind{review.Link}
			}
			for id := range strings.FieldsSeq(hunks) {
				f.Hunks = append(f.Hunks, review.Hunk{ID: id})
			}
			r.Review.Files = append(r.Review.Files, f)
		}
		if i == 0 {
			r.Review.Dangerous = len(r.Review.Files)
		}
	}
	return r
}

var errEnd = errors.New("the input ended")

// answered asks about a run and gives one answer to each question.
func answered(r *Run, now Taken, answers string) (questions []string, left string, err error) {
	err = r.Ask(now, Screen{Out: io.Discard, Rows: 10, Key: func(question string, _ []ask.Option) (string, error) {
		questions = append(questions, question)
		if answers == "" {
			return "", errEnd
		}
		key := answers[:1]
		answers = answers[1:]
		return key, nil
	}})
	return questions, answers, err
}

// taken are the decisions in one line.
func taken(t Taken) string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(t)) {
		out = append(out, id+map[bool]string{true: "+", false: "-"}[t[id]])
	}
	return strings.Join(out, " ")
}

func TestWhatAnswersDecide(t *testing.T) {
	const dangerous, others = "hook: h1 h2 h3 | link: l1", "a: a1 a2 | b: b1"
	for _, c := range []struct {
		name, before, now, answers string
		want                       string
		questions                  int
		last                       string // of the questions
		fails                      bool
	}{
		{name: "each", answers: "ynyny", want: "a1+ a2+ b1+ h1+ h2- h3+ l1-", questions: 5, last: "accept the other 2 files"},
		{name: "a file at once", answers: "anq", want: "h1+ h2+ h3+ l1-", questions: 3},
		{name: "the rest of a file", answers: "ydyn", want: "a1- a2- b1- h1+ h2- h3- l1+", questions: 4},
		{name: "the end in a file", answers: "yq", want: "h1+", questions: 2, last: "(2 of 4) accept this change to hook?"},
		{name: "the end of the input", answers: "y", want: "h1+", questions: 2, fails: true},
		{name: "the others one by one", answers: "adsyan", want: "a1+ a2+ b1- h1+ h2+ h3+ l1-", questions: 6,
			last: "(3 of 3) accept this change to b?"},
		{name: "the others one by one, then the end", answers: "aasyq", want: "a1+ h1+ h2+ h3+ l1+", questions: 5},
		{name: "what is decided is not asked", before: "h1- h2-", now: "l1+", answers: "yy", want: "a1+ a2+ b1+ h3+ l1+",
			questions: 2},
		{name: "the last one", before: "h1- h2- h3- l1- a1+ a2+", answers: "y", want: "b1+", questions: 1, last: "accept the other 1 file,"},
		{name: "nothing is left", before: "h1- h2- h3- l1- a1+ a2+ b1+"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, now := written(dangerous, others), Taken{}
			for list, into := range map[string]Taken{c.before: r.Taken, c.now: now} {
				for word := range strings.FieldsSeq(list) {
					into[word[:2]] = word[2] == '+'
				}
			}
			questions, left, err := answered(r, now, c.answers)
			if taken(now) != c.want || len(questions) != c.questions || errors.Is(err, errEnd) != c.fails || left != "" {
				t.Errorf("%s, %d questions %q, answers left %q, %v", taken(now), len(questions), questions, left, err)
			}
			if c.last != "" && !strings.Contains(fmt.Sprint(questions[max(0, len(questions)-1):]), c.last) {
				t.Errorf("the last question is %q", questions)
			}
		})
	}
}

// Decisions count for paths that hold them, and the others stay open.
func TestDecisionsOfPathsThatAreLeftAlone(t *testing.T) {
	r := written("hook: h1 h2", "a: a1 | b: b1")
	s := r.note(Taken{"h1": true, "h2": false, "a1": true, "b1": false},
		[]Outcome{{Path: "hook", Err: ErrChanged}, {Path: "b", Done: "removed"}})
	if s.Accepted != 1 || s.Refused != 1 || s.Left != 1 || taken(r.Taken) != "a1+ b1-" || r.Undecided() != 2 ||
		!slices.Equal(r.accepted(), []string{"a"}) {
		t.Errorf("%+v %s %d %q", s, taken(r.Taken), r.Undecided(), r.accepted())
	}
	if all := taken(r.All()); all != "h1+ h2+" {
		t.Errorf("all: %s", all)
	}
	if none := taken(r.None()); none != "a1- b1- h1- h2-" {
		t.Errorf("none: %s", none)
	}
}

// A glob of --auto-apply takes nothing dangerous, whatever it names.
func TestGlobsDecide(t *testing.T) {
	for _, c := range []struct {
		auto, dangerous []string
		want            string
	}{
		{[]string{"**"}, nil, "a1+ b1+"},
		{[]string{"a"}, []string{"hook"}, "a1+ h1+ h2+"},
		{nil, []string{"**"}, "a1+ b1+ h1+ h2+"},
		{nil, nil, ""},
	} {
		if got := taken(written("hook: h1 h2", "a: a1 | b: b1").Auto(c.auto, c.dangerous)); got != c.want {
			t.Errorf("%q, %q: %s", c.auto, c.dangerous, got)
		}
	}
}
