// Package lazyregexp compiles the regular expressions of package variables when they are
// first used: a program that compiles some hundreds at each start takes milliseconds for
// those that a command does not need. Its methods are those of [regexp.Regexp].
package lazyregexp

import (
	"regexp"
	"strings"
	"sync"
)

// Regexp is a regular expression that is compiled once, and safe for concurrent use.
type Regexp struct {
	text     string
	words    []string
	once     sync.Once
	compiled *regexp.Regexp
}

// New returns the expression. A wrong one panics when it is first used: the tests of its
// package use it.
func New(text string) *Regexp { return &Regexp{text: text} }

// Naming is New for an expression whose matches all hold one of words as it stands. MatchString and FindString look
// for those first, which costs a small part of a match.
func Naming(text string, words ...string) *Regexp { return &Regexp{text: text, words: words} }

// may reports whether a text can have a match.
func (r *Regexp) may(s string) bool {
	for _, w := range r.words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return len(r.words) == 0
}

func (r *Regexp) get() *regexp.Regexp {
	r.once.Do(func() { r.compiled = regexp.MustCompile(r.text) })
	return r.compiled
}

func (r *Regexp) FindAllString(s string, n int) []string     { return r.get().FindAllString(s, n) }
func (r *Regexp) FindAllStringIndex(s string, n int) [][]int { return r.get().FindAllStringIndex(s, n) }
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.get().FindAllStringSubmatch(s, n)
}
func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.get().FindAllStringSubmatchIndex(s, n)
}
func (r *Regexp) FindAllSubmatch(b []byte, n int) [][][]byte { return r.get().FindAllSubmatch(b, n) }
func (r *Regexp) FindAllSubmatchIndex(b []byte, n int) [][]int {
	return r.get().FindAllSubmatchIndex(b, n)
}
func (r *Regexp) FindString(s string) string {
	if !r.may(s) {
		return ""
	}
	return r.get().FindString(s)
}
func (r *Regexp) FindStringIndex(s string) []int       { return r.get().FindStringIndex(s) }
func (r *Regexp) FindStringSubmatch(s string) []string { return r.get().FindStringSubmatch(s) }
func (r *Regexp) FindSubmatch(b []byte) [][]byte       { return r.get().FindSubmatch(b) }
func (r *Regexp) FindSubmatchIndex(b []byte) []int     { return r.get().FindSubmatchIndex(b) }
func (r *Regexp) Match(b []byte) bool                  { return r.get().Match(b) }
func (r *Regexp) MatchString(s string) bool            { return r.may(s) && r.get().MatchString(s) }
func (r *Regexp) ReplaceAllFunc(b []byte, with func([]byte) []byte) []byte {
	return r.get().ReplaceAllFunc(b, with)
}
func (r *Regexp) ReplaceAllLiteralString(s, with string) string {
	return r.get().ReplaceAllLiteralString(s, with)
}
func (r *Regexp) ReplaceAllString(s, with string) string { return r.get().ReplaceAllString(s, with) }
