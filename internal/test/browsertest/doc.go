// Package browsertest shows pages of ours in a headless Chromium, so that tests
// see what a person would: what is laid out where, in which colours, and what
// the browser complains about.
//
//	Start -> Browser.Open(file, View) -> Page.Eval | Type | Screenshot | Complaints
//
// It speaks the DevTools protocol over the browser's own pipe (two descriptors,
// messages that end in NUL), which needs neither a port nor a library.
package browsertest
