package patch

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/internal/gitbinary"
)

// MaxBytes bounds the text of a patch. sandbox/changes writes at most 16 MiB of content.
const MaxBytes = 24 << 20

// maxBinary bounds the content of binary files in a patch, in all, in bytes.
const maxBinary = 32 << 20

// maxParts bounds the files and the notes of a patch, each.
const maxParts = 50_000

// Modes of plain files, the only ones that Judge takes.
const (
	Plain      = "100644"
	Executable = "100755"
)

// Patch is what a text of changes holds.
type Patch struct {
	Files []File
	Notes []Note
}

// Note says what is not in the patch, such as a binary file. Its words may be the agent's.
type Note struct {
	Path string // "" = it is about no path
	Text string // with the path
}

// noCommitHas reports a note on what no commit has: a folder itself, and not what is in it, and
// modes but for the difference of programs.
func (n Note) noCommitHas() bool {
	words := strings.TrimPrefix(n.Text, n.Path+": ")
	return strings.HasPrefix(words, "mode ") ||
		strings.HasSuffix(n.Path, "/") && (strings.HasPrefix(words, "new folder") || strings.HasPrefix(words, "removed"))
}

// File is the change of one file.
type File struct {
	Path             string // slash-separated, as it stands in the patch: any text
	OldMode, NewMode string // as git writes them; "" = there is no file on that side, or both are "" = as it was
	Added, Removed   bool
	Binary           bool // it is no text; the patch may not have its content
	Plus, Minus      int  // lines
	Bytes            int64
	hunks            []hunk
	whole            *whole // nil = it changes by hunks, if at all
}

// whole is the new content of a binary file, and git's names of both sides.
type whole struct {
	was, is string
	content []byte
}

// hunk is one piece of a file.
type hunk struct {
	at    int // its first line in the old file, from 0; of an addition, the line after which it comes
	old   int // lines of the old file
	lines []line
}

// line is one of a hunk. Its text has the line's end, but for the last one of a file without.
type line struct {
	op   byte // ' ', '+' or '-'
	text []byte
}

// Parse reads a patch. An error names the line that it does not understand.
func Parse(text []byte) (*Patch, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("the patch is larger than %d MiB", MaxBytes>>20)
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		return nil, errors.New("the patch has no end")
	}
	p := &parser{rest: text}
	for p.next() {
		var err error
		switch {
		case len(p.patch.Files)+len(p.patch.Notes) > maxParts:
			err = fmt.Errorf("more than %d files", maxParts)
		case bytes.HasPrefix(p.line, []byte("sbx-devc: ")):
			p.note()
		case bytes.HasPrefix(p.line, []byte("diff --git ")):
			err = p.file()
		default:
			err = errors.New("it is no line of a patch of sbx-devc")
		}
		if err != nil {
			return nil, fmt.Errorf("line %d of the patch: %w: %.80q", p.number, err, p.line)
		}
	}
	return &p.patch, nil
}

// parser walks over lines.
type parser struct {
	binaries int64 // bytes of them so far
	rest     []byte
	line     []byte // without its end, which follows it
	number   int
	patch    Patch
}

// next goes to the next line; false = there is none.
func (p *parser) next() bool {
	if len(p.rest) == 0 {
		return false
	}
	p.line, p.rest, _ = bytes.Cut(p.rest, []byte("\n"))
	p.number++
	return true
}

// take goes to the next line if that begins with a prefix, and returns what follows it.
func (p *parser) take(prefix string) (after string, ok bool) {
	if !bytes.HasPrefix(p.rest, []byte(prefix)) {
		return "", false
	}
	p.next()
	return string(p.line[len(prefix):]), true
}

// note reads a line about what is not in the patch: "PATH: why", or a sentence.
func (p *parser) note() {
	text := strings.TrimPrefix(string(p.line), "sbx-devc: ")
	n := Note{Text: text}
	if path, _, ok := strings.Cut(text, ": "); ok && !strings.HasPrefix(text, "not looked at: ") {
		n.Path = path
	}
	p.patch.Notes = append(p.patch.Notes, n)
}

// file reads one file, from its first line.
func (p *parser) file() error {
	var f File
	names := strings.TrimPrefix(string(p.line), "diff --git ")
	half := len(names) / 2
	if len(names)%2 == 0 || names[half] != ' ' { // both names are the same but for one letter
		return errors.New("the line names two files")
	}
	var err error
	if f.Path, err = pathOf(names[:half], 'a'); err != nil {
		return err
	}
	if other, err := pathOf(names[half+1:], 'b'); err != nil || other != f.Path {
		return errors.New("the line names two files")
	}
	p.modes(&f)
	from, to := names[:half], names[half+1:]
	if f.Added {
		from = "/dev/null"
	}
	if f.Removed {
		to = "/dev/null"
	}
	if rest, ok := p.take("Binary files "); ok {
		if rest != from+" and "+to+" differ" {
			return errors.New("the line names another file")
		}
		f.Binary = true
	} else if rest, ok := p.take("index "); ok {
		err = p.binary(&f, rest)
	} else if rest, ok := p.take("--- "); ok {
		if after, has := p.take("+++ "); !has || rest != from || after != to {
			return errors.New("the line names another file")
		}
		err = p.hunks(&f)
	}
	p.patch.Files = append(p.patch.Files, f)
	return err
}

// pathOf reads a name as git quotes it, and takes its first letter away.
func pathOf(name string, side byte) (string, error) {
	if strings.HasPrefix(name, `"`) {
		unquoted, err := strconv.Unquote(name) // git's escapes are among Go's
		if err != nil {
			return "", errors.New("a name is not quoted as git does")
		}
		name = unquoted
	}
	if len(name) < 3 || name[0] != side || name[1] != '/' {
		return "", fmt.Errorf("a name does not begin with %c/", side)
	}
	return name[2:], nil
}

// modes reads the lines about modes.
func (p *parser) modes(f *File) {
	if mode, ok := p.take("new file mode "); ok {
		f.Added, f.NewMode = true, mode
	} else if mode, ok := p.take("deleted file mode "); ok {
		f.Removed, f.OldMode = true, mode
	} else if mode, ok := p.take("old mode "); ok {
		f.OldMode = mode
		f.NewMode, _ = p.take("new mode ")
	}
}

// objectName is git's name of a content.
var objectName = regexp.MustCompile("^[0-9a-f]{40}$")

// binary reads the content of a binary file, of which names are both sides.
func (p *parser) binary(f *File, names string) error {
	was, is, _ := strings.Cut(names, "..")
	if !objectName.MatchString(was) || !objectName.MatchString(is) ||
		(was == gitbinary.None) != f.Added || (is == gitbinary.None) != f.Removed {
		return errors.New("the names of the contents do not fit a file that is added, removed or changed")
	}
	if _, ok := p.take("GIT binary patch"); !ok || len(p.line) != len("GIT binary patch") {
		return errors.New("no binary content follows the names of contents")
	}
	literal, ok := p.take("literal ")
	size, err := strconv.ParseInt(literal, 10, 64)
	isSize := err == nil && size >= 0 && strconv.FormatInt(size, 10) == literal
	if !ok || !isSize || f.Removed && size > 0 {
		return errors.New("it is not a whole content with its size; a delta to the former one is not taken")
	}
	if p.binaries += size; size > maxBinary || p.binaries > maxBinary {
		return fmt.Errorf("binary files have more than %d MiB", maxBinary>>20)
	}
	var content gitbinary.Reader
	for {
		if !p.next() {
			return errors.New("the patch ends in a binary file")
		}
		if len(p.line) == 0 {
			break
		}
		if err := content.Line(p.line); err != nil {
			return err
		}
	}
	f.Binary, f.Bytes, f.whole = true, size, &whole{was: was, is: is}
	if f.whole.content, err = content.Content(size); err != nil {
		return err
	}
	if !f.Removed && gitbinary.Name(f.whole.content) != is {
		return errors.New("the content is another one than its name says")
	}
	return nil
}

// hunks reads the hunks of a file.
func (p *parser) hunks(f *File) error {
	for {
		header, ok := p.take("@@ -")
		if !ok {
			break
		}
		header, ok = strings.CutSuffix(header, " @@")
		old, fresh, both := strings.Cut(header, " +")
		start, left, oldOK := span(old)
		_, right, newOK := span(fresh)
		if !ok || !both || !oldOK || !newOK {
			return errors.New("it is no header of a hunk")
		}
		h := hunk{at: start, old: left}
		if left > 0 {
			h.at--
		}
		if err := p.body(f, &h, left, right); err != nil {
			return err
		}
		f.hunks = append(f.hunks, h)
	}
	if len(f.hunks) == 0 {
		return errors.New("a file without a hunk")
	}
	return nil
}

// span reads "start,lines" of a hunk's header; start is 0 only where there are no lines.
func span(text string) (start, lines int, ok bool) {
	first, second, both := strings.Cut(text, ",")
	start, err := strconv.Atoi(first)
	lines = 1
	if both && err == nil {
		lines, err = strconv.Atoi(second)
	}
	inFile := func(n int) bool { return n >= 0 && n < 1<<30 }
	return start, lines, err == nil && inFile(start) && inFile(lines) && (start > 0 || lines == 0)
}

// body reads the lines of a hunk, which has left of the old file and right of the new one.
func (p *parser) body(f *File, h *hunk, left, right int) error {
	h.lines = make([]line, 0, min(left+right, len(p.rest)/2)) // each is two bytes or more
	for left > 0 || right > 0 {
		if !p.next() {
			return errors.New("the patch ends in a hunk")
		}
		if len(p.line) == 0 || !strings.ContainsRune(" +-", rune(p.line[0])) {
			return errors.New("it is no line of a hunk")
		}
		l := line{p.line[0], p.line[1 : len(p.line)+1]}
		if l.op != '+' {
			left--
		}
		if l.op != '-' {
			right--
		}
		if left < 0 || right < 0 {
			return errors.New("a hunk has more lines than its header says")
		}
		f.Binary = f.Binary || bytes.IndexByte(l.text, 0) >= 0
		switch l.op {
		case '+':
			f.Plus++
			f.Bytes += int64(len(l.text))
		case '-':
			f.Minus++
		}
		if _, ok := p.take(`\ No newline at end of file`); ok {
			l.text = l.text[:len(l.text)-1]
		}
		h.lines = append(h.lines, l)
	}
	return nil
}
