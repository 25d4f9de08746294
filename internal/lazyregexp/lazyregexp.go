// Package lazyregexp compiles the regular expressions of package variables when they are
// first needed: a program that compiles some hundreds at each start takes milliseconds for
// those that a command does not need. Its methods are those of [regexp.Regexp].
//
// Most texts hold no match, and none of the words that a match must have. Those words are
// looked for first: it costs a small part of a match, and many an expression is never compiled.
package lazyregexp

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
)

// Regexp is a regular expression that is compiled once, and safe for concurrent use.
type Regexp struct {
	text     string
	words    func() []word // of which every match holds one; none when that is not known
	compiled func() *regexp.Regexp
}

// New returns the expression. A wrong one panics when it is first used: the tests of its
// package use it.
func New(text string) *Regexp {
	return &Regexp{
		text: text,
		words: sync.OnceValue(func() []word {
			parsed, err := syntax.Parse(text, syntax.Perl)
			if err != nil {
				panic(err)
			}
			return needed(parsed)
		}),
		compiled: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) }),
	}
}

// in returns the compiled expression for a text that may hold a match, and nil for one that holds none.
func (r *Regexp) in(s string) *regexp.Regexp {
	words := r.words()
	if len(words) == 0 {
		return r.compiled()
	}
	folded := s
	if slices.ContainsFunc(words, func(w word) bool { return w.fold }) {
		if !isASCII(s) { // which has other letters that are the same in another case
			return r.compiled()
		}
		folded = strings.ToLower(s)
	}
	for _, w := range words {
		text := s
		if w.fold {
			text = folded
		}
		if strings.Contains(text, w.text) {
			return r.compiled()
		}
	}
	return nil
}

func (r *Regexp) MatchString(s string) bool {
	re := r.in(s)
	return re != nil && re.MatchString(s)
}

func (r *Regexp) FindString(s string) string {
	if re := r.in(s); re != nil {
		return re.FindString(s)
	}
	return ""
}

func (r *Regexp) FindStringIndex(s string) []int {
	if re := r.in(s); re != nil {
		return re.FindStringIndex(s)
	}
	return nil
}

func (r *Regexp) FindStringSubmatch(s string) []string {
	if re := r.in(s); re != nil {
		return re.FindStringSubmatch(s)
	}
	return nil
}

func (r *Regexp) FindAllString(s string, n int) []string {
	if re := r.in(s); re != nil {
		return re.FindAllString(s, n)
	}
	return nil
}

func (r *Regexp) FindAllStringIndex(s string, n int) [][]int {
	if re := r.in(s); re != nil {
		return re.FindAllStringIndex(s, n)
	}
	return nil
}

func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	if re := r.in(s); re != nil {
		return re.FindAllStringSubmatch(s, n)
	}
	return nil
}

func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	if re := r.in(s); re != nil {
		return re.FindAllStringSubmatchIndex(s, n)
	}
	return nil
}

func (r *Regexp) ReplaceAllLiteralString(s, with string) string {
	if re := r.in(s); re != nil {
		return re.ReplaceAllLiteralString(s, with)
	}
	return s
}

func (r *Regexp) ReplaceAllString(s, with string) string {
	if re := r.in(s); re != nil {
		return re.ReplaceAllString(s, with)
	}
	return s
}

func (r *Regexp) Match(b []byte) bool              { return r.compiled().Match(b) }
func (r *Regexp) FindSubmatch(b []byte) [][]byte   { return r.compiled().FindSubmatch(b) }
func (r *Regexp) FindSubmatchIndex(b []byte) []int { return r.compiled().FindSubmatchIndex(b) }
func (r *Regexp) FindAllSubmatch(b []byte, n int) [][][]byte {
	return r.compiled().FindAllSubmatch(b, n)
}
func (r *Regexp) FindAllSubmatchIndex(b []byte, n int) [][]int {
	return r.compiled().FindAllSubmatchIndex(b, n)
}
func (r *Regexp) ReplaceAllFunc(b []byte, with func([]byte) []byte) []byte {
	return r.compiled().ReplaceAllFunc(b, with)
}
