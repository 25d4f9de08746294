package spending

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Budget{
		"5 usd":                       {5, USD, PerRun, nil},
		"5usd":                        {5, USD, PerRun, nil},
		"0.5 USD/day":                 {0.5, USD, PerDay, nil},
		"500 requests/month":          {500, Requests, PerMonth, nil},
		"2M tokens/project-day opus*": {2e6, Tokens, PerProjectDay, []string{"opus*"}},
		"1.5k input/project-month":    {1500, Input, PerProjectMonth, nil},
		" 7  output/run  x  b ":       {7, Output, PerRun, []string{"x", "b"}},
	} {
		got, err := Parse(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v %v, want %+v", text, got, err, want)
		}
		if again, err := Parse(got.String()); err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%q prints as %q", text, got)
		}
	}
	for text, want := range map[string]string{
		"": "no amount", "5": "no amount", "usd": "no amount", "5 eur": "not a unit", "5 usd/week": "not a period", "5 usd/": "not a period",
		"0 usd": "not above 0", "-5 usd": "is no amount", "1.5 requests": "not a whole number", "1e9 usd": "not a unit",
		"NaN usd": "is no amount",
		"Inf usd": "is no amount", "999999999999M tokens": "too much", "5 usd/day a,b": "no model's name", "5 usd/day [a": "no model's name",
		"0x10 usd": "not a unit", "1_000 usd": "not a unit", "5kk usd": "is no amount",
		"5 usd a day": "a period is written usd/day", "5 usd per Month": "a period is written usd/day",
		"2M tokens day opus*": "a period is written tokens/day",
	} {
		if b, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v %v, want %q", text, b, err, want)
		}
	}
}

func TestUsed(t *testing.T) {
	s := Spent{Usage: Usage{Requests: 1, Input: 2, Output: 4, CacheRead: 8, CacheWrite: 16}, USD: 0.25}
	for unit, want := range map[Unit]float64{USD: 0.25, Requests: 1, Input: 18, Output: 4, Tokens: 30} {
		if got := (Budget{Amount: 1, Unit: unit}).Used(s); got != want {
			t.Errorf("%s: %g, want %g", unit, got, want)
		}
	}
	if !s.Less(s).Zero() || s.Zero() || s.Add(s).Requests != 2 {
		t.Error("sums are wrong")
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"20 usd/day":                    "today's budget of 20 US dollars",
		"500 requests":                  "this run's budget of 500 answers",
		"1k output/project-month opus*": "the project's budget of this month, 1000 output tokens for opus*",
	} {
		b, err := Parse(text)
		if err != nil || b.Words() != want {
			t.Errorf("%q: %q %v", text, b.Words(), err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("2M tokens/project-day claude-opus-*")
	f.Fuzz(func(t *testing.T, text string) {
		b, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(b.String()); err != nil || !reflect.DeepEqual(again, b) || b.Amount <= 0 {
			t.Errorf("%q is %+v, which prints as %q", text, b, b)
		}
	})
}
