package changes

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/org/claude-sandbox/internal/gitbinary"
	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// Modes as git writes them into a patch.
const (
	gitFile       = "100644"
	gitExecutable = "100755"
	gitSymlink    = "120000"
)

// makePatch turns the two sides of a change into its patch, or notes why there
// is none. left is how many bytes the whole diff may still take. The secrets that f
// finds are noted, and are asterisks in the patch.
func (c *Change) makePatch(left, formerLeft *int64, f *redact.Finder) {
	defer func() { c.old, c.new = nil, nil }()
	c.Sum, c.newHead = sumsOf(c.new)
	c.SumWas, c.oldHead = sumsOf(c.old)
	known := obeyed.PackageHosts(c.Path, c.old)
	c.NewPackageHosts = slices.DeleteFunc(obeyed.PackageHosts(c.Path, c.new), func(host string) bool { return slices.Contains(known, host) })
	for _, p := range f.Find([]byte(c.Path)) {
		c.noteSecret(Secret{Name: p.Name, InName: true})
	}
	if c.Folded || c.Note != "" && c.new == nil {
		return
	}
	c.left = *left
	text := c.patchText(f)
	c.Before.hideTarget(f)
	c.After.hideTarget(f)
	if int64(len(text)) > *left {
		c.isUnshown(f)
		c.Note, c.Plus, c.Minus = noteEnough, 0, 0
		return
	}
	*left -= int64(len(text))
	c.patch = text
	if (c.Note == NoteBinary || c.HadSecret()) && len(c.old) > 0 && int64(len(c.old)) <= *formerLeft {
		*formerLeft -= int64(len(c.old))
		c.former = c.old
	}
}

// block is how many bytes of a moved file must be as before when it was edited as well.
const block = 4 << 10

// sumsOf are the sums of a content and of its first block, in hex; "" for what it lacks.
func sumsOf(content []byte) (all, head string) {
	if content == nil {
		return "", ""
	}
	sum := sha256.Sum256(content)
	all = hex.EncodeToString(sum[:])
	if len(content) >= block {
		sum = sha256.Sum256(content[:block])
		head = hex.EncodeToString(sum[:])
	}
	return all, head
}

// patchText is a change in the form that git apply reads; nil where it has none,
// such as for a folder. A path that became another type of thing is removed and
// added.
func (c *Change) patchText(f *redact.Finder) []byte {
	var out bytes.Buffer
	if c.Kind == Type || c.Kind == Link {
		c.side(&out, c.Before, nil, c.old, nil, f)
		c.side(&out, nil, c.After, nil, c.new, f)
		return out.Bytes()
	}
	before := c.Before
	if c.Kind == Changed && c.Note != "" {
		// Its former content is not known: all of the present one is shown.
		fmt.Fprintf(&out, "sbx-devc: %s: %s; all that it holds now is shown as new\n", gitQuoted(c.Path), c.Note)
		before = nil
	}
	c.side(&out, before, c.After, c.old, c.new, f)
	return out.Bytes()
}

// side writes one file of a patch; nil states are what is not there.
func (c *Change) side(out *bytes.Buffer, before, after *State, old, new []byte, f *redact.Finder) {
	from, hasFrom := gitMode(before)
	to, hasTo := gitMode(after)
	if !hasFrom && !hasTo || c.Kind == Mode && from == to { // git keeps nothing of it
		return
	}
	if before != nil && before.What == Symlink {
		old = []byte(before.Target)
	}
	if after != nil && after.What == Symlink {
		new = []byte(after.Target)
	}
	a, b := gitQuoted("a/"+c.Path), gitQuoted("b/"+c.Path)
	fmt.Fprintf(out, "diff --git %s %s\n", a, b)
	switch {
	case !hasFrom:
		fmt.Fprintf(out, "new file mode %s\n", to)
		a = "/dev/null"
	case !hasTo:
		fmt.Fprintf(out, "deleted file mode %s\n", from)
		b = "/dev/null"
	case from != to:
		fmt.Fprintf(out, "old mode %s\nnew mode %s\n", from, to)
	}
	switch {
	case c.Kind == Mode || bytes.Equal(old, new):
	case binary(old) || binary(new) || c.binaries && bytes.IndexByte(old, 0)+bytes.IndexByte(new, 0) > -2:
		c.Note = NoteBinary
		c.isUnshown(f)
		if !c.binaries || !c.writeBinary(out, before, after, old, new) {
			fmt.Fprintf(out, "Binary files %s and %s differ\n", a, b)
		}
	default:
		text := diff.Diff("a", old, "b", new)
		_, text, _ = bytes.Cut(text, []byte("+++ b\n")) // its own three lines of names
		c.hideSecrets(text, f)
		fmt.Fprintf(out, "--- %s\n+++ %s\n", a, b)
		out.Write(text)
		c.countLines(text)
	}
}

// writeBinary writes a side's content whole, as git apply reads it. It does not for one that
// holds a secret, and for one that takes more than half of what the diff may still have, so
// that no file of an agent's takes the place of all the others.
func (c *Change) writeBinary(out *bytes.Buffer, before, after *State, old, new []byte) bool {
	if len(c.Secrets) > 0 {
		return false
	}
	was, is := gitbinary.None, gitbinary.None
	if before != nil {
		was = gitbinary.Name(old)
	}
	if after != nil {
		is = gitbinary.Name(new)
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "index %s..%s\nGIT binary patch\nliteral %d\n", was, is, len(new))
	gitbinary.Append(&text, new)
	text.WriteByte('\n')
	if int64(text.Len()) > c.left/2 {
		return false
	}
	out.Write(text.Bytes())
	c.carried = true
	return true
}

// isUnshown notes the secrets of a file that the diff does not show.
func (c *Change) isUnshown(f *redact.Finder) {
	for _, p := range f.Find(c.new) {
		c.noteSecret(Secret{Name: p.Name})
	}
}

// countLines counts the lines that hunks add and remove.
func (c *Change) countLines(hunks []byte) {
	for line := range bytes.Lines(hunks) {
		switch line[0] {
		case '+':
			c.Plus++
		case '-':
			c.Minus++
		}
	}
}

// gitMode is how git writes what a state is; false for what it does not keep.
func gitMode(s *State) (string, bool) {
	switch {
	case s == nil:
		return "", false
	case s.What == Symlink:
		return gitSymlink, true
	case s.What == File && s.Mode&0o100 != 0:
		return gitExecutable, true
	case s.What == File:
		return gitFile, true
	}
	return "", false
}

// binary reports whether git would call content binary: it has a NUL in its
// first 8,000 bytes (buffer_is_binary in git's xdiff-interface.c).
func binary(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), 8000)], 0) >= 0
}

var gitEscapes = map[byte]string{'\a': `\a`, '\b': `\b`, '\t': `\t`, '\n': `\n`, '\v': `\v`, '\f': `\f`, '\r': `\r`, '"': `\"`, '\\': `\\`}

// gitQuoted writes a path as git does: as it is, or in double quotes with
// escapes when it holds control characters, quotes, a backslash or bytes beyond
// ASCII (quote.c).
func gitQuoted(name string) string {
	var out strings.Builder
	plain := true
	for i := range len(name) {
		c := name[i]
		switch escape, ok := gitEscapes[c]; {
		case ok:
			out.WriteString(escape)
			plain = false
		case c < 0x20 || c >= 0x7f:
			fmt.Fprintf(&out, `\%03o`, c)
			plain = false
		default:
			out.WriteByte(c)
		}
	}
	if plain {
		return name
	}
	return `"` + out.String() + `"`
}

// WritePatch writes the set as a unified diff, the most dangerous first, in the
// form that git apply reads. Lines of our own between two files say what is not
// in it. Its text is the agent's: escape it before a terminal shows it.
func (s *Set) WritePatch(w io.Writer) error {
	at := int64(0)
	for i := range s.Changes {
		c := &s.Changes[i]
		c.Patch = Piece{at, int64(len(c.patch))}
		if len(c.patch) == 0 {
			c.Patch = Piece{}
		}
		if _, err := w.Write(c.patch); err != nil {
			return err
		}
		at += c.Patch.Size
		if c.patch == nil || c.Note == NoteBinary && !c.carried {
			n, err := fmt.Fprintf(w, "sbx-devc: %s\n", c.inWords())
			if err != nil {
				return err
			}
			at += int64(n)
		}
	}
	if s.More > 0 {
		if _, err := fmt.Fprintf(w, "sbx-devc: and %s\n", counted(s.More, "more change", "more changes")); err != nil {
			return err
		}
	}
	for _, line := range s.Unseen {
		if _, err := fmt.Fprintf(w, "sbx-devc: not looked at: %s\n", line); err != nil {
			return err
		}
	}
	return nil
}

// writeFormer writes what files held whose former lines the diff does not show, and notes in each change where.
func (s *Set) writeFormer(w io.Writer) error {
	at := int64(0)
	for i := range s.Changes {
		c := &s.Changes[i]
		if c.former == nil {
			continue
		}
		c.Former = Piece{at, int64(len(c.former))}
		at += c.Former.Size
		if _, err := w.Write(c.former); err != nil {
			return err
		}
	}
	return nil
}
