package diag

import (
	"math/bits"
	"slices"
	"strings"
)

var separators = strings.NewReplacer("_", "", "-", "")

// Suggest returns the known name that word was most likely meant to be, or "".
// Letter case, hyphens and underscores count for nothing; beyond that one
// third of the letters may be wrong, or all in another order.
func Suggest(word string, known []string) string {
	best, bestCost := "", len(word)/3+1
	word = fold(word)
	has := bytesOf(word)
	for _, name := range known {
		if len(name)-len(word) <= -bestCost {
			continue // so many letters are missing, and folding takes some more
		}
		if b := bytesOf(name); bits.OnesCount64(b&^has) >= bestCost || bits.OnesCount64(has&^b) >= bestCost {
			continue // so many letters are only in one of them, and each is a mistake
		}
		k := fold(name)
		if d := len(k) - len(word); d >= bestCost || -d >= bestCost {
			continue // so many letters are missing or too many
		}
		if cost := editDistance(word, k, bestCost); cost < bestCost {
			best, bestCost = name, cost
		}
	}
	if best != "" || len(word) <= 3 {
		return best
	}
	letters := ""
	for _, name := range known {
		if len(name) < len(word) {
			continue
		}
		k := fold(name)
		if len(k) != len(word) {
			continue
		}
		if letters == "" {
			letters = lettersOf(word)
		}
		if lettersOf(k) == letters {
			return name
		}
	}
	return ""
}

// bytesOf is the set of the bytes of a folded word, by their last six bits: two bytes may count as one.
func bytesOf(s string) (set uint64) {
	for i := range len(s) {
		switch b := s[i]; {
		case b == '_' || b == '-':
		case b >= 'A' && b <= 'Z':
			set |= 1 << ((b + 'a' - 'A') & 63)
		default:
			set |= 1 << (b & 63)
		}
	}
	return set
}

func fold(s string) string {
	if strings.ContainsAny(s, "_-") {
		s = separators.Replace(s)
	}
	return strings.ToLower(s)
}

// lettersOf are the bytes of s in order.
func lettersOf(s string) string {
	letters := []byte(s)
	slices.Sort(letters)
	return string(letters)
}

// editDistance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b (optimal string alignment). From most on it does not
// count: the result is then most or more.
func editDistance(a, b string, most int) int {
	var short [3][64]int // names need nothing of the heap
	row := func(i int) []int { return append(short[i][:0], make([]int, len(b)+1)...) }
	before, prev, cur := row(0), row(1), row(2)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		// A later row follows from the last two.
		if least := min(slices.Min(prev), slices.Min(cur)); least >= most {
			return least
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
