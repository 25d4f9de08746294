package lsp

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// Places are those of the whole text's UTF-16, however long its lines are and in whichever order somebody asks.
func TestPlacesInLongLines(t *testing.T) {
	src := strings.Repeat("aä世\U0001F600", 3000) + "\n" + strings.Repeat("\U0001F600x", 900) + "\r\nend"
	text := &text{Document: jsonc.Text("f", []byte(src))}
	starts := []int{}
	for at := range src {
		starts = append(starts, at)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		at := starts[random.IntN(len(starts))]
		line := strings.Count(src[:at], "\n")
		before := strings.TrimSuffix(src[strings.LastIndex(src[:at], "\n")+1:at], "\r")
		want := position{line, len(utf16.Encode([]rune(before)))}
		if got := text.place(at); got != want {
			t.Fatalf("%d: got %v, want %v", at, got, want)
		}
	}
	if most := len(src)/perMark + 1; len(text.marks) > most {
		t.Errorf("%d marks", len(text.marks))
	}
}
