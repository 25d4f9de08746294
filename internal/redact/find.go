package redact

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Named is a secret and its name.
type Named struct{ Name, Value string }

// Place is where a text shows a secret.
type Place struct {
	Name string `json:"name"` // the secret's
	At   int    `json:"at"`   // bytes from the text's beginning
	Size int    `json:"size"` // bytes
}

// Finder finds named secrets in texts, in the forms that a Redactor knows, and with each
// byte written as a number: in hex, decimal, octal or binary, as an escape or in an array.
// All of it may be cut into pieces by line ends, written \n as well, quotes and other signs.
// It is immutable and safe for
// concurrent use; a nil one finds nothing.
type Finder struct{ needles []needle }

// needle is a form of a secret.
type needle struct {
	name    string
	text    []byte
	letters []byte // its letters and digits; nil = too few to be looked for
	folded  bool   // letters are small ones, for a text's in either case; text is empty
}

// byteForms are how programs write the bytes of a text one by one, without the signs between
// them: 51 and %51; \x51 and &#x51;; 0x51; \u0051; \u{51}; 81 and &#81;; \121; 01010001.
var byteForms = []string{"%02x", "x%02x", "0x%02x", "u%04x", "u%02x", "%d", "%03o", "%08b"}

// minLetters is the number of letters and digits below which a secret is not looked for
// in pieces: fewer stand behind one another by chance.
const minLetters = 12

// NewFinder returns a Finder; nil where there is nothing to find. Secrets shorter than 6
// bytes are left out.
func NewFinder(secrets []Named) *Finder {
	f := &Finder{}
	for _, s := range secrets {
		all := forms(s.Value)
		slices.Sort(all)
		for _, form := range slices.Compact(all) {
			n := needle{name: s.Name, text: []byte(form)}
			if l, _ := lettersOf(n.text, false); len(l) >= minLetters {
				n.letters = l
			}
			f.needles = append(f.needles, n)
		}
		for _, format := range byteForms {
			var n bytes.Buffer
			for _, b := range []byte(strings.TrimSpace(s.Value)) {
				fmt.Fprintf(&n, format, b)
			}
			if len(all) > 0 && n.Len() >= minLetters {
				f.needles = append(f.needles, needle{name: s.Name, letters: n.Bytes(), folded: true})
			}
		}
	}
	if len(f.needles) == 0 {
		return nil
	}
	return f
}

// Names are the names of the secrets that f finds, sorted.
func (f *Finder) Names() (names []string) {
	if f == nil {
		return nil
	}
	for _, n := range f.needles {
		names = append(names, n.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Find returns the places at which a text shows the secrets, in their order; of places
// of one name that overlap one comes back.
func (f *Finder) Find(text []byte) (found []Place) {
	if f == nil {
		return nil
	}
	for _, n := range f.needles {
		if !n.folded {
			each(text, n.text, func(from, to int) { found = append(found, Place{n.name, from, to - from}) })
		}
	}
	found = append(found, f.inPieces(text)...)
	if bytes.IndexByte(text, '\\') >= 0 {
		for _, blank := range []string{`\n`, `\r`, `\t`} {
			text = bytes.ReplaceAll(text, []byte(blank), []byte("  "))
		}
		found = append(found, f.inPieces(text)...)
	}
	slices.SortFunc(found, func(a, b Place) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.At, b.At)) })
	out := found[:0]
	for _, p := range found {
		if last := len(out) - 1; last >= 0 && out[last].Name == p.Name && p.At < out[last].At+out[last].Size {
			out[last].Size = max(out[last].Size, p.At+p.Size-out[last].At)
			continue
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b Place) int { return cmp.Compare(a.At, b.At) })
	return out
}

// inPieces finds secrets by their letters and digits alone.
func (f *Finder) inPieces(text []byte) (found []Place) {
	letters, at := lettersOf(text, true)
	folded := bytes.ToLower(letters)
	for _, n := range f.needles {
		in := letters
		if n.folded {
			in = folded
		}
		if n.letters != nil {
			each(in, n.letters, func(from, to int) {
				first, last := int(at[from]), int(at[to-1])
				found = append(found, Place{n.name, first, last + 1 - first})
			})
		}
	}
	return found
}

// each calls do with the bounds of each occurrence of part.
func each(text, part []byte, do func(from, to int)) {
	for from := 0; ; {
		i := bytes.Index(text[from:], part)
		if i < 0 {
			return
		}
		do(from+i, from+i+len(part))
		from += i + len(part)
	}
}

// lettersOf returns the letters and digits of a text, and where each stands if places is
// set.
func lettersOf(text []byte, places bool) (letters []byte, at []int32) {
	letters = make([]byte, 0, len(text))
	if places {
		at = make([]int32, 0, len(text))
	}
	for i, c := range text {
		if kindOf(c) == sign {
			continue
		}
		letters = append(letters, c)
		if places {
			at = append(at, int32(i))
		}
	}
	return letters, at
}
