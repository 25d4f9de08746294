package patch

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/org/claude-sandbox/internal/gitbinary"
)

// Apply makes the file's new content of the former one, nil where there is none. It errs
// unless every hunk stands in the former content where it says, line for line.
func (f *File) Apply(old []byte) ([]byte, error) {
	switch {
	case f.whole != nil && !f.Added && gitbinary.Name(old) != f.whole.was:
		return nil, errors.New("it is not the content that the patch replaces")
	case f.whole != nil:
		return f.whole.content, nil
	case f.Binary:
		return nil, errors.New("its content is not in the patch")
	}
	before := bytes.SplitAfter(old, []byte("\n"))
	if len(before[len(before)-1]) == 0 {
		before = before[:len(before)-1]
	}
	var out bytes.Buffer
	done := 0
	for _, h := range f.hunks {
		if h.at < done || h.at+h.old > len(before) {
			return nil, fmt.Errorf("line %d is not where the patch says", h.at+1)
		}
		out.Write(bytes.Join(before[done:h.at], nil))
		done = h.at
		for _, l := range h.lines {
			if l.op != '+' {
				if done == len(before) || !bytes.Equal(before[done], l.text) {
					return nil, fmt.Errorf("line %d is not what the patch says", done+1)
				}
				done++
			}
			if l.op != '-' {
				if n := out.Len(); n > 0 && out.Bytes()[n-1] != '\n' {
					return nil, errors.New("a line follows one that has no end")
				}
				out.Write(l.text)
			}
		}
	}
	if rest := bytes.Join(before[done:], nil); len(rest) > 0 {
		if n := out.Len(); n > 0 && out.Bytes()[n-1] != '\n' {
			return nil, errors.New("a line follows one that has no end")
		}
		out.Write(rest)
	}
	if f.Removed && out.Len() > 0 {
		return nil, errors.New("the patch removes it and leaves lines of it")
	}
	return out.Bytes(), nil
}
