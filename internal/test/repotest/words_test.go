package repotest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// headless matches sentences without a subject who acts: "nobody" for "no program" or
// "unknown", and sentences that begin with "what …", "whoever …" or "of a …".
var headless = regexp.MustCompile(
	`(?i:\bnobody\b)|(?:^|[.;:?] )(?:Whoever|Whatever|What|Who|Of (?:a|an|the|these|those|two|several)) [a-z]|` +
		`(?i:\b(?:of theirs|for want of)\b)`)

// theUser matches the user nobody, which is not the word.
var theUser = regexp.MustCompile(`user nobody|as nobody|and nobody\.|"nobody|nobody:`)

// firstHeadless returns the first part of a text that a stranger would have to read twice, or "".
func firstHeadless(text string) string {
	text = strings.Join(strings.Fields(theUser.ReplaceAllString(text, "")), " ")
	at := headless.FindStringIndex(text)
	if at == nil {
		return ""
	}
	end := min(at[1]+60, len(text))
	if question := strings.IndexAny(text[at[0]+2:end], ".?"); question >= 0 && text[at[0]+2+question] == '?' {
		return ""
	}
	return text[at[0]:end]
}

// Comments have sentences with a subject who acts.
func TestCommentsHaveSubjects(t *testing.T) {
	for file, text := range productFiles(t) {
		if strings.HasPrefix(file, filepath.Join(root, "tools")) { // modules of their own, no part of the product
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				names[id.Name] = true
			}
			return true
		})
		for _, c := range parsed.Comments {
			text := c.Text()
			if first, _, _ := strings.Cut(text, " "); names[first] { // the name of what is declared
				text = strings.TrimPrefix(text, first)
			}
			if found := firstHeadless(text); found != "" {
				t.Errorf("%s: name the subject who acts, in %q", file, found)
			}
		}
	}
}

// So have the pages.
func TestPagesHaveSubjects(t *testing.T) {
	for name, text := range pages(t) {
		for paragraph := range strings.SplitSeq(code.ReplaceAllString(text, ""), "\n\n") {
			if found := firstHeadless(paragraph); found != "" {
				t.Errorf("%s: name the subject who acts, in %q", name, found)
			}
		}
	}
}

// The words that are wrong are found, and the same words in another sense are not.
func TestFirstHeadless(t *testing.T) {
	for text, want := range map[string]bool{
		"a socket that nobody reads":                      true,
		"It ends. Whoever asks gets nothing.":             true,
		"What fits stays.":                                true,
		"It keeps it. Of a name the last one counts.":     true,
		"a name of theirs":                                true,
		"it runs as nobody, and the user nobody may read": false,
		"What does it stop? Nothing.":                     false,
		"It says what fits, and who may read it.":         false,
	} {
		if got := firstHeadless(text) != ""; got != want {
			t.Errorf("%q: found %v, want %v", text, got, want)
		}
	}
}
