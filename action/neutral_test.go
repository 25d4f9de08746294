package action

import (
	"strings"
	"testing"
	"unicode/utf8"
)

var commandAttacks = map[string]string{
	"plain":                   "::set-output name=conclusion::success",
	"indented":                "  \t::add-mask::a",
	"second line":             "fine\n::stop-commands::x",
	"after a carriage return": "fine\r::set-env name=PATH::/tmp",
	"after a line separator":  "fine\u2028::error::x",
	"after next line":         "fine\u0085::error::x",
	"older form":              "see ##[add-matcher]/tmp/x",
	"older form, split":       "##\x1b[0m[add-mask]a",
	"older form, zero width":  "##\u200b[add-mask]a",
	"older form, in hashes":   "####[set-output name=a]b",
	"older form, combining":   "##\u0301[group]x",
	"older form, selector":    "##\ufe0f[group]x",
	"older form, two hashes":  "#\u00ad#[group]x",
	"broken UTF-8":            "\xff\xfe::error::x\n\xc0::error::x",
	"terminal title":          "\x1b]0;x\x07::error::x",
	"only colons":             "::",
}

func TestAttackAgentTextIsAWorkflowCommand(t *testing.T) {
	for name, text := range commandAttacks {
		t.Run(name, func(t *testing.T) {
			if found := commandsIn(Neutral(text)); found != nil {
				t.Errorf("Neutral(%q): the runner executes %q", text, found)
			}
			if found := commandsIn(NeutralLine(text, 200)); found != nil {
				t.Errorf("NeutralLine(%q): the runner executes %q", text, found)
			}
			if strings.ContainsAny(NeutralLine(text, 200), "\r\n\x1b") {
				t.Errorf("NeutralLine(%q) is more than one plain line", text)
			}
		})
	}
}

func TestNeutralKeepsWhatPeopleRead(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "| \n",
		"one":                 "| one\n",
		"one\ntwo\n":          "| one\n| two\n",
		"one\r\ntwo":          "| one\n| two\n",
		"\tif a[0] # [b]":     "| \tif a[0] # [b]\n",
		"\x1b[31mred\x1b[0m.": "| red.\n",
		"größer 日本":           "| größer 日本\n",
		"a::b std::vector":    "| a::b std::vector\n",
	} {
		if got := Neutral(text); got != want {
			t.Errorf("Neutral(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzNeutral(f *testing.F) {
	for _, text := range commandAttacks {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, got := range []string{Neutral(text), NeutralLine(text, 80)} {
			if found := commandsIn(got); found != nil {
				t.Errorf("the runner executes %q, made of %q", found, text)
			}
			if !utf8.ValidString(got) {
				t.Errorf("%q is not UTF-8", got)
			}
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(Neutral(text), "\n"), "\n") {
			if !strings.HasPrefix(line, linePrefix) {
				t.Errorf("the line %q of %q has no prefix", line, text)
			}
		}
	})
}
