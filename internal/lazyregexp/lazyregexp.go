// Package lazyregexp compiles the regular expressions of package variables when they are
// first needed: a program that compiles some hundreds at each start takes milliseconds for
// those that a command does not need. Its methods are those of [regexp.Regexp].
//
// Most texts hold no match, and none of the words that a match must have. Those words are
// looked for first: it costs a small part of a match, and many an expression is never compiled.
// An expression that is nothing but some words matches a text that holds one of them, and is not tried.
package lazyregexp

import (
	"regexp"
	"regexp/syntax"
	"sync"
)

// Regexp is a regular expression that is compiled once, and safe for concurrent use.
type Regexp struct {
	words    func() words
	compiled func() *regexp.Regexp
}

// New returns the expression. A wrong one panics when it is first used: the tests of its
// package use it.
func New(text string) *Regexp {
	return &Regexp{
		words: sync.OnceValue(func() words {
			parsed, err := syntax.Parse(text, syntax.Perl)
			if err != nil {
				panic(err)
			}
			return wordsOf(parsed)
		}),
		compiled: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) }),
	}
}

// in returns the compiled expression for a text that may hold a match, and nil for one that holds none.
func (r *Regexp) in(s string) *regexp.Regexp {
	if held, known := r.words().in(s); known && !held {
		return nil
	}
	return r.compiled()
}

func (r *Regexp) MatchString(s string) bool {
	words := r.words()
	if held, known := words.in(s); known && (words.matches || !held) {
		return held
	}
	return r.compiled().MatchString(s)
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
