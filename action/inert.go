package action

import (
	"fmt"
	"regexp"
	"strings"
)

// Parts of Markdown that inert shows as what they are.
var (
	inertHeading = regexp.MustCompile(`^ {0,3}#{1,6}[ \t]+(.*?)[ \t#]*$`)
	inertItem    = regexp.MustCompile(`^([ \t]*)(?:[-*+]|([0-9]{1,9})[.)])[ \t]+(.*)$`)
	inertQuote   = regexp.MustCompile(`^ {0,3}>[ \t]?(.*)$`)
	inertFence   = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})")
	inertSpan    = regexp.MustCompile("``[^`]+``|`[^`]+`")
	inertBold    = regexp.MustCompile(`\*\*([^\s*](?:[^*]*[^\s*])?)\*\*`)
	inertAddress = regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*://\S*|(?:mailto|xmpp):\S*|www\.\S+|\S*@\S*|` +
		`\S*#[0-9]\S*|\bgh-[0-9]+|\b[0-9a-f]{7,}\b`)
)

// inert writes Markdown of the agent's so that it looks as the agent meant it and can do
// nothing: headings, lists, quotes, bold words and code are made anew, and every other
// character that could mean something to Markdown or HTML is a reference to it. So there is
// no link, image, mention, HTML, formula or diagram; addresses, mentions, numbers of issues and
// hashes of commits are code, because GitHub looks for these in the text that it shows.
func inert(text string) string {
	var b strings.Builder
	var block []string // of code, or of a table, which is shown as code
	end := func() {
		if len(block) > 0 {
			b.WriteString(fenced(strings.Join(block, "\n")))
			block = nil
		}
	}
	fence := ""
	for line := range strings.SplitSeq(lines(text), "\n") {
		if fence != "" {
			if mark := strings.TrimSpace(line); len(mark) >= len(fence) && strings.Trim(mark, fence[:1]) == "" {
				fence = ""
				end()
			} else {
				block = append(block, line)
			}
			continue
		}
		if m := inertFence.FindStringSubmatch(line); m != nil {
			end()
			fence = m[1]
			b.WriteString("\n")
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(line), "|") {
			if len(block) == 0 {
				b.WriteString("\n")
			}
			block = append(block, strings.TrimSpace(line))
			continue
		}
		end()
		b.WriteString(inertLine(line) + "\n")
	}
	end()
	return strings.TrimRight(b.String(), "\n") + "\n\n"
}

// inertLine writes one line outside of code.
func inertLine(line string) string {
	if m := inertHeading.FindStringSubmatch(line); m != nil {
		return "\n##### " + inertText(m[1]) + "\n"
	}
	if m := inertItem.FindStringSubmatch(line); m != nil {
		mark := "-"
		if m[2] != "" {
			mark = m[2] + "."
		}
		depth := len(strings.ReplaceAll(m[1], "\t", "    ")) / 2
		return strings.Repeat("  ", min(depth, 3)) + mark + " " + inertText(m[3])
	}
	if m := inertQuote.FindStringSubmatch(line); m != nil {
		return "> " + inertText(m[1])
	}
	return inertText(strings.TrimLeft(line, " \t"))
}

// inertText writes the words of a line: code spans as they are, bold words bold.
func inertText(text string) string {
	return outside(inertSpan, text, func(span string) string { return codeSpan(strings.Trim(span, "`")) }, func(text string) string {
		return outside(inertAddress, text, codeSpan, func(text string) string {
			return outside(inertBold, text, func(bold string) string {
				return "**" + references(strings.Trim(bold, "*")) + "**"
			}, references)
		})
	})
}

// outside writes what matches one way and what is between the matches another way.
func outside(match *regexp.Regexp, text string, inside, between func(string) string) string {
	var b strings.Builder
	at := 0
	for _, m := range match.FindAllStringIndex(text, -1) {
		b.WriteString(between(text[at:m[0]]))
		b.WriteString(inside(text[m[0]:m[1]]))
		at = m[1]
	}
	b.WriteString(between(text[at:]))
	return b.String()
}

// codeSpan shows text of one line as code; nothing in it can end the code.
func codeSpan(text string) string {
	text = strings.ReplaceAll(text, "`", "'")
	if strings.TrimSpace(text) == "" {
		return text
	}
	return "`" + text + "`"
}

// references writes every character that means something in Markdown or HTML as a reference.
func references(text string) string {
	var b strings.Builder
	for _, c := range text {
		if strings.ContainsRune("\\`*_{}[]<>#+-!|~$&=^:@\"'()", c) {
			fmt.Fprintf(&b, "&#%d;", c)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}
