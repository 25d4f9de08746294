// Package shellword writes and reads words of a POSIX shell, as far as quotes go.
//
//	text ─ Quote ─► a word that a shell reads as that text, in quotes where it needs them
//	text ─ Split ─► its words, each with its place; nothing is expanded
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

// Word is a word of shell text: what the shell makes of text[From:To].
type Word struct {
	Text     string
	From, To int
}

// Split splits text as a shell does, at white space that is not quoted. Operators stay
// with their words. closed is false where a quote, or a backslash at the end, has nothing
// behind it; that word ends with the text.
func Split(text string) (words []Word, closed bool) {
	var word []byte
	from, quote, escape := -1, byte(0), false
	for i := 0; i < len(text); i++ {
		c := text[i]
		space := strings.IndexByte(" \t\r\n", c) >= 0
		if from < 0 {
			if space {
				continue
			}
			from, word = i, nil
		}
		switch {
		case escape:
			if quote != 0 && strings.IndexByte("\"\\$`", c) < 0 {
				word = append(word, '\\')
			}
			word, escape = append(word, c), false
		case c == '\\' && quote != '\'':
			escape = true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == 0 && space:
			words = append(words, Word{string(word), from, i})
			from = -1
		default:
			word = append(word, c)
		}
	}
	if escape {
		word = append(word, '\\')
	}
	if from >= 0 {
		words = append(words, Word{string(word), from, len(text)})
	}
	return words, quote == 0 && !escape
}
