package dockerfile

import (
	"reflect"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/parser"
	lexer "github.com/moby/buildkit/frontend/dockerfile/shell"
)

// A file without directives is not looked at by BuildKit's reader of them, which finds the same in every other one.
func FuzzDirectives(f *testing.F) {
	for _, s := range []string{"FROM a\n",
		"# syntax=a/b:1 x\nFROM a", "#Syntax = a\n#check=skip=all\n", "// syntax=a\n", "{\"syntax\": \"a\"}",
		" \n{\"s\\u0079ntax\": \"a\"}", "#!/x\n{\"syntax\": \"a\"}", "#!/x\n# syntax=a\n", "\ufeff# check=error=true\n# about\n",
		"# about\n# syntax=a\n", "#\n# check=skip=all\n", "  # syntax=a\n", "# CHECK=skip=JSONArgsRecommended;error=x\r\nFROM a\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		image, at, ok := Syntax([]byte(src))
		wantImage, _, wantAt, wantOK := parser.DetectSyntax([]byte(src))
		if image != wantImage || ok != wantOK || !reflect.DeepEqual(at, wantAt) {
			t.Errorf("%q: syntax %q %v %v, want %q %v %v", src, image, at, ok, wantImage, wantAt, wantOK)
		}
		said, at, ok := directive("check", []byte(src))
		wantSaid, _, wantAt, wantOK := parser.ParseDirective("check", []byte(src))
		if said != wantSaid || ok != wantOK || !reflect.DeepEqual(at, wantAt) {
			t.Errorf("%q: check %q %v %v, want %q %v %v", src, said, at, ok, wantSaid, wantAt, wantOK)
		}
	})
}

// A plain word is the same to BuildKit's lexer.
func FuzzPlainWords(f *testing.F) {
	for _, s := range []string{"", "a b", " a ", "debian:13", "~/x", "#a", "\ufeffa", "a\x00", "é", "\xff", "a<b", "`a", "a\tb", "\\",
		"{x}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, word string) {
		for _, escape := range "\\`" {
			result, err := lexer.NewLex(escape).ProcessWordWithMatches(word, scope{})
			if isPlain(word) && (err != nil || result.Result != word || len(result.Unmatched) > 0) {
				t.Errorf("%q: %+v %v", word, result, err)
			}
		}
	})
}
