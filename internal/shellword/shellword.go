// Package shellword writes texts as words of a POSIX shell, for commands that people
// paste.
//
//	text ─ Quote ─► a word that a shell reads as that text, in quotes where it needs them
package shellword

import "strings"

// plain are the characters that mean themselves anywhere in a word.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"

// Quote returns a word that a shell reads as text, "" included. Control characters stay:
// see package visible.
func Quote(text string) string {
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
