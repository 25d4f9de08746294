package decision

import (
	"fmt"
	"io"
	"strings"

	"github.com/org/claude-sandbox/internal/ask"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/session/review"
)

// Screen is where a person reads hunks and answers.
type Screen struct {
	Out  io.Writer // gets the hunks
	Rows int       // of the screen, without the question's
	Key  func(question string, options []ask.Option) (string, error)
}

// Answers about a hunk, as git add -p has them.
var hunkKeys = []ask.Option{
	{Value: "y", Label: "accept this change"}, {Value: "n", Label: "refuse it"},
	{Value: "a", Label: "accept this and the other changes of the file"}, {Value: "d", Label: "refuse this and the other changes of the file"},
	{Value: "q", Label: "decide nothing more; earlier decisions count"},
}

// otherKeys are the answers about all files in which nothing dangerous was found.
var otherKeys = []ask.Option{
	{Value: "y", Label: "accept all of them"}, {Value: "n", Label: "refuse all of them"}, {Value: "s", Label: "ask about each"},
	{Value: "q", Label: "decide nothing more; earlier decisions count"},
}

// Ask asks about each undecided dangerous hunk, and once about all other undecided
// ones. It notes the answers in decided, those before an error of Key too.
func (r *Run) Ask(decided Taken, s Screen) error {
	dangerous, others := r.Review.Files[:r.Review.Dangerous], r.Review.Files[r.Review.Dangerous:]
	if quit, err := s.each(r.open(dangerous, decided), decided); quit || err != nil {
		return err
	}
	open := r.open(others, decided)
	if len(open) == 0 {
		return nil
	}
	question := fmt.Sprintf("\naccept the other %s, in which nothing dangerous was found?", visible.Count(len(open), "file"))
	key, err := s.Key(question, otherKeys)
	switch {
	case err != nil || key == "q":
		return err
	case key == "s":
		_, err = s.each(open, decided)
		return err
	}
	for _, f := range open {
		for _, h := range f.hunks {
			decided[h.ID] = key == "y"
		}
	}
	return nil
}

// openFile is a file with undecided hunks.
type openFile struct {
	*review.File
	hunks []*review.Hunk
}

// open lists what of files is decided neither before nor now.
func (r *Run) open(files []review.File, now Taken) (open []openFile) {
	for i := range files {
		f := openFile{File: &files[i]}
		for j := range f.Hunks {
			h := &f.Hunks[j]
			_, before := r.Taken[h.ID]
			if _, decided := now[h.ID]; !before && !decided {
				f.hunks = append(f.hunks, h)
			}
		}
		if len(f.hunks) > 0 {
			open = append(open, f)
		}
	}
	return open
}

// each asks about hunk after hunk, until the person quits.
func (s Screen) each(files []openFile, decided Taken) (quit bool, err error) {
	asked, all := 0, 0
	for _, f := range files {
		all += len(f.hunks)
	}
	for _, f := range files {
		key := ""
		for i, h := range f.hunks {
			asked++
			if key != "a" && key != "d" {
				s.show(f, i)
				question := fmt.Sprintf("(%d of %d) accept this change to %s?", asked, all, visible.Line(f.Path))
				if key, err = s.Key(question, hunkKeys); err != nil || key == "q" {
					return true, err
				}
			}
			decided[h.ID] = key == "y" || key == "a"
		}
	}
	return false, nil
}

// show shows one hunk, the first one of a file below the file's heading.
func (s Screen) show(f openFile, i int) {
	text := f.hunks[i].Shown()
	if i == 0 {
		text = "\n" + f.Heading() + text
	}
	if strings.Count(text, "\n") >= s.Rows { // its beginning has left the screen
		text += f.Reasons(f.hunks[i])
	}
	fmt.Fprint(s.Out, text)
}
