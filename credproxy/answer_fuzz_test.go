package credproxy

import (
	"math"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/credproxy/spending"
)

// meters are the readers of what answers used, by whose answers they read.
var meters = map[string]func(*meter, bool) reader{
	"the model API": func(m *meter, stream bool) reader {
		return newAnswerReader(m, request{model: "claude-opus-5-5", size: 100}, stream)
	},
	"a provider": func(m *meter, stream bool) reader {
		provider := &Provider{Name: "p", Base: &url.URL{}, Prices: map[string]Price{"small": {Input: 1, Output: 2}}}
		return newChatReader(m, request{model: "p:small", named: "small", size: 100, choices: 1, provider: provider}, stream)
	},
}

// readIn has an answer read in pieces of so many bytes.
func readIn(newReader func(*meter, bool) reader, text string, size int, stream bool) (Answer, spending.Spent) {
	m := &meter{}
	r := newReader(m, stream)
	for rest := text; rest != ""; {
		n := min(size, len(rest))
		r.Write([]byte(rest[:n]))
		rest = rest[n:]
	}
	return r.close(), m.total()
}

// No answer makes a reader fail, is read in another way when it is cut into pieces, or
// takes from what was counted: it counts as a request, and nothing in it is below zero.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{
		events, strings.ReplaceAll(events, "1000000", "9223372036854775807"), strings.ReplaceAll(events, "1000000", "-1"),
		`{"type":"message","usage":{"input_tokens":3}}`,
		"data: {\"model\":\"small\",\"usage\":{\"prompt_tokens\":9223372036854775807,\"completion_tokens\":9223372036854775807}}\n\n" +
			"data: [DONE]\n\n", "data: {}\r",
	} {
		f.Add(text, uint8(7), true)
		f.Add(text, uint8(1), false)
	}
	f.Fuzz(func(t *testing.T, text string, size uint8, stream bool) {
		for name, newReader := range meters {
			whole, spent := readIn(newReader, text, len(text), stream)
			pieces, same := readIn(newReader, text, int(size)+1, stream)
			if !reflect.DeepEqual(whole, pieces) || spent != same {
				t.Errorf("%s: %+v %+v in pieces, %+v %+v in one", name, pieces, same, whole, spent)
			}
			if spent.Requests != 1 || math.IsNaN(spent.USD) || math.IsInf(spent.USD, 0) || spent.USD < 0 {
				t.Errorf("%s: %+v", name, spent)
			}
			twice := spent.Add(spent)
			for _, unit := range []spending.Unit{spending.USD, spending.Requests, spending.Tokens, spending.Input, spending.Output} {
				if b := (spending.Budget{Amount: 1, Unit: unit}); b.Used(twice) < b.Used(spent) || b.Used(spent) < 0 {
					t.Errorf("%s: %g of a budget of %s, and %g after the same once more", name, b.Used(spent), unit, b.Used(twice))
				}
			}
		}
		var kept [2]strings.Builder
		for i, size := range []int{max(len(text), 1), int(size) + 1} {
			filter := &usageFilter{to: &kept[i]}
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				if _, err := filter.Write([]byte(rest[:n])); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			_ = filter.flush()
		}
		if kept[0].String() != kept[1].String() || !isSubsequence(kept[0].String(), text) {
			t.Errorf("%q becomes %q, and %q in pieces", text, kept[0].String(), kept[1].String())
		}
	})
}

// isSubsequence reports whether all of part is in whole, in this order.
func isSubsequence(part, whole string) bool {
	for i := 0; i < len(part); i++ {
		at := strings.IndexByte(whole, part[i])
		if at < 0 {
			return false
		}
		whole = whole[at+1:]
	}
	return true
}
