package shell

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Refused says where and why a shell refuses a text; ok is false when it takes it, or when
// the text nests too deeply to be read. With posix the shell is sh, else bash.
func Refused(src string, posix bool) (offset int, why string, ok bool) {
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
	case errors.As(err, &parse):
		return int(parse.Pos.Offset()), parse.Text, true
	case errors.As(err, &lang):
		return int(lang.Pos.Offset()), lang.Feature, true
	}
	return 0, "", false
}
