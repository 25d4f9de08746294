package shell

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// Refused says where and why a shell refuses a text; ok is false when it takes it, or when
// the text nests too deeply to be read. With posix the shell is sh, else bash.
func Refused(src string, posix bool) (offset int, why string, ok bool) {
	src = asText(src)
	if nests(src) {
		return 0, "", false
	}
	variant := syntax.LangBash
	if posix {
		variant = syntax.LangPOSIX
	}
	_, err := syntax.NewParser(syntax.Variant(variant)).Parse(strings.NewReader(src), "")
	var parse syntax.ParseError
	var lang syntax.LangError
	switch {
	case errors.As(err, &parse) && (strings.Contains(parse.Text, "arithm") || strings.Contains(parse.Text, "((")):
		return 0, "", false // bash takes $((a) | b) for commands, and looks at numbers only when it runs
	case errors.As(err, &parse):
		return int(parse.Pos.Offset()), inWords(parse.Text, src), true
	case errors.As(err, &lang):
		return int(lang.Pos.Offset()), lang.Feature, true
	}
	return 0, "", false
}

var (
	unended  = lazyregexp.New("^`(\\w+)` statement must end with `(\\w+)`$")
	unclosed = lazyregexp.New("^reached .* without (?:closing quote `(.+)`|matching `(.+)` with `(.+)`)$")
)

// inWords says what the parser found, for people who do not know how it reads.
func inWords(text, src string) string {
	if m := unended.FindStringSubmatch(text); m != nil {
		why := fmt.Sprintf("nothing ends its `%s`", m[1])
		if slices.Contains(strings.Fields(src), m[2]) {
			why += fmt.Sprintf(": write ; or a new line in front of `%s`", m[2])
		}
		return why
	}
	if m := unclosed.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("nothing closes its %s", m[1]+m[2])
	}
	return text
}
