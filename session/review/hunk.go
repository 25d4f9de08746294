package review

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Part is what of a change an item is.
type Part string

// The parts.
const (
	Content Part = "content" // a hunk
	Bits    Part = "mode"    // the permissions of a file whose content changed, too
	Whole   Part = "whole"   // everything: a new, removed, binary or moved file, a link, a mode alone
)

// Hunk is the smallest thing to be accepted or refused.
type Hunk struct {
	ID       string    `json:"id"`   // names it in its review, and in every later one of the same run
	Part     Part      `json:"part"` // of its file's change
	OldStart int       `json:"oldStart,omitempty"`
	OldLines int       `json:"oldLines,omitempty"`
	NewStart int       `json:"newStart,omitempty"`
	NewLines int       `json:"newLines,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
	Origin   Origin    `json:"origin"`

	Text []byte `json:"-"` // lines of a unified diff, without the line of positions

	hidden bool // asterisks may stand in its lines for values of secrets
}

// errDiff reports a diff that has another form than ours.
var errDiff = errors.New("the diff of the run has another form than expected")

// splitPatch cuts the patch of one file, with one section for each time it names the
// file, into the hunks of all sections.
func splitPatch(patch []byte) (hunks []Hunk, err error) {
	for len(patch) > 0 {
		line, rest := cutLine(patch)
		if !bytes.HasPrefix(line, []byte("@@ ")) { // a line of the header
			patch = rest
			continue
		}
		var h Hunk
		if h, err = hunkHead(line); err != nil {
			return nil, err
		}
		end, err := hunkEnd(rest, h.OldLines, h.NewLines)
		if err != nil {
			return nil, err
		}
		h.Part, h.Text = Content, rest[:end]
		hunks, patch = append(hunks, h), rest[end:]
	}
	return hunks, nil
}

// hunkEnd is where the lines of a hunk end that begin text: behind so many old and
// new lines. The counts decide, and no line's look.
func hunkEnd(text []byte, old, fresh int) (int, error) {
	at := 0
	for old > 0 || fresh > 0 || at < len(text) && text[at] == '\\' {
		if at >= len(text) {
			return 0, errDiff
		}
		line, _ := cutLine(text[at:])
		switch line[0] {
		case ' ':
			old, fresh = old-1, fresh-1
		case '-':
			old--
		case '+':
			fresh--
		case '\\': // no newline at the end
		default:
			return 0, errDiff
		}
		if old < 0 || fresh < 0 {
			return 0, errDiff
		}
		at += len(line)
	}
	return at, nil
}

// hunkHead reads "@@ -1,2 +3,4 @@".
func hunkHead(line []byte) (h Hunk, err error) {
	fields := strings.Fields(string(line))
	if len(fields) < 4 || fields[3] != "@@" {
		return h, errDiff
	}
	read := func(field, sign string, start, lines *int) error {
		field, ok := strings.CutPrefix(field, sign)
		first, count, has := strings.Cut(field, ",")
		a, errA := strconv.Atoi(first)
		n, errN := 1, error(nil)
		if has {
			n, errN = strconv.Atoi(count)
		}
		const most = 1 << 24 // lines of a file that is shown
		inFile := func(line int) bool { return line >= 0 && line <= most }
		if !ok || errA != nil || errN != nil || !inFile(a) || !inFile(n) {
			return errDiff
		}
		*start, *lines = a, n
		return nil
	}
	return h, errors.Join(read(fields[1], "-", &h.OldStart, &h.OldLines), read(fields[2], "+", &h.NewStart, &h.NewLines))
}

// cutLine takes the first line, with its end.
func cutLine(text []byte) (line, rest []byte) {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return text[:i+1], text[i+1:]
	}
	return text, nil
}

// head is the line of positions.
func (h *Hunk) head() string {
	return fmt.Sprintf("@@ -%d,%d +%d,%d @@", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
}

// name gives the hunk its ID.
func (h *Hunk) name(path string, about string) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %s %s %s\n", path, h.Part, about, h.head())
	sum.Write(h.Text)
	h.ID = hex.EncodeToString(sum.Sum(nil)[:8])
}

// sides are the lines that the hunk took away and those that it brought, each with
// those around them.
func (h *Hunk) sides() (old, fresh []byte) {
	last := byte(0)
	for text := h.Text; len(text) > 0; {
		var line []byte
		line, text = cutLine(text)
		switch line[0] {
		case ' ':
			old, fresh = append(old, line[1:]...), append(fresh, line[1:]...)
		case '-':
			old = append(old, line[1:]...)
		case '+':
			fresh = append(fresh, line[1:]...)
		case '\\':
			if last != '+' {
				old = bytes.TrimSuffix(old, []byte("\n"))
			}
			if last != '-' {
				fresh = bytes.TrimSuffix(fresh, []byte("\n"))
			}
		}
		last = line[0]
	}
	return old, fresh
}

// ErrOther reports a content that does not have the lines of a hunk.
var ErrOther = errors.New("it does not hold the lines of the run any more")

// withoutSecrets are the sides of a hunk in whose lines asterisks stand for secrets:
// fresh is the beginning of content, which has its new lines, and the removed lines are
// those of former, what all of the file held before; nil = the hunk's own are true.
func (h *Hunk) withoutSecrets(content, former []byte) (old, fresh []byte) {
	rest, skipped := content, former
	for range h.OldStart - 1 {
		_, skipped = cutLine(skipped)
	}
	for text := h.Text; len(text) > 0; {
		var line, own, was []byte
		line, text = cutLine(text)
		if line[0] == ' ' || line[0] == '+' {
			own, rest = cutLine(rest)
			fresh = append(fresh, own...)
		}
		if line[0] == ' ' || line[0] == '-' {
			was, skipped = cutLine(skipped)
		}
		switch {
		case line[0] == ' ':
			old = append(old, own...)
		case line[0] == '-' && former == nil:
			old = append(old, line[1:]...)
			if len(text) > 0 && text[0] == '\\' {
				old = bytes.TrimSuffix(old, []byte("\n"))
			}
		case line[0] == '-':
			old = append(old, was...)
		}
	}
	return old, fresh
}

// With is the opposite of Without: it puts hunks back into a content from which they, and
// no others, were taken out. It fails with ErrOther where that content is another one, or
// where the diff hides what the hunks brought.
func With(content []byte, hunks []Hunk) ([]byte, error) {
	return exchange(content, hunks, func(h Hunk, _ []byte) (is, becomes []byte) { return h.sides() })
}

// exchange puts one side of each hunk into the place of the other. sides gets the rest of the
// content, which begins with the side that is there.
func exchange(content []byte, hunks []Hunk, sides func(h Hunk, rest []byte) (is, becomes []byte)) ([]byte, error) {
	var out []byte
	line := 1 // of the content that has all hunks
	for _, h := range hunks {
		start := h.NewStart
		if h.NewLines == 0 {
			start++ // the position is that of the line before
		}
		for ; line < start; line++ {
			if len(content) == 0 {
				return nil, ErrOther
			}
			var l []byte
			l, content = cutLine(content)
			out = append(out, l...)
		}
		is, becomes := sides(h, content)
		if line != start || !bytes.HasPrefix(content, is) {
			return nil, ErrOther
		}
		out, content, line = append(out, becomes...), content[len(is):], line+h.NewLines
	}
	return append(out, content...), nil
}

// Without takes hunks out of the content that a file has after all of its hunks. It
// fails with ErrOther where that content is another one. former is what the file held
// before them all, where a diff that hides secrets does not tell; nil = it does.
func Without(content, former []byte, hunks []Hunk) ([]byte, error) {
	return exchange(content, hunks, func(h Hunk, rest []byte) (is, becomes []byte) {
		old, fresh := h.sides()
		if h.hidden {
			old, fresh = h.withoutSecrets(rest, former)
		}
		return fresh, old
	})
}
