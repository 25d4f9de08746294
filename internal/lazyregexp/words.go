package lazyregexp

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// word is a text that matches hold.
type word struct {
	text string // in small letters when fold is true
	fold bool   // in any case
}

// words are those of an expression.
type words struct {
	list    []word // of which every match holds one; none when that is not known
	fold    bool   // one of them may be in any case
	matches bool   // each of them is a match
}

func wordsOf(re *syntax.Regexp) (of words) {
	of.list = exactly(re)
	if of.matches = shortest(of.list) > 0; !of.matches {
		of.list = needed(re)
	}
	of.fold = slices.ContainsFunc(of.list, func(w word) bool { return w.fold })
	return of
}

// in reports whether a text holds one of the words, as far as that is known.
func (w words) in(s string) (held, known bool) {
	folded := s
	switch {
	case len(w.list) == 0, w.fold && !isASCII(s): // other letters are the same in another case
		return false, false
	case w.fold:
		folded = strings.ToLower(s)
	}
	for _, word := range w.list {
		text := s
		if word.fold {
			text = folded
		}
		if strings.Contains(text, word.text) {
			return true, true
		}
	}
	return false, true
}

// maxWords bounds the words that are looked for: with more, the expression is as fast.
const maxWords = 24

// needed returns words of which every match of an expression holds at least one; none when that is not known.
func needed(re *syntax.Regexp) []word {
	switch re.Op {
	case syntax.OpLiteral:
		return literal(string(re.Rune), re.Flags&syntax.FoldCase != 0)
	case syntax.OpCharClass:
		return letters(re.Rune, 3)
	case syntax.OpCapture, syntax.OpPlus:
		return needed(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return needed(re.Sub[0])
		}
	case syntax.OpConcat:
		var best, row []word // row are the texts of what stands in a row and is known exactly
		for n, sub := range re.Sub {
			if row = joined(row, exactly(sub)); row == nil {
				row = exactly(sub)
			}
			for _, words := range [][]word{needed(sub), row} {
				if shortest(words) > shortest(best) {
					best = words
				}
			}
			if n > 0 {
				if words := behind(re.Sub[n-1], sub); shortest(words) > shortest(best) {
					best = words
				}
			}
		}
		return best
	case syntax.OpAlternate:
		var all []word
		for _, sub := range re.Sub {
			words := needed(sub)
			if all = append(all, words...); len(words) == 0 || len(all) > maxWords {
				return nil
			}
		}
		return all
	}
	return nil
}

// behind returns words for a choice that follows a text, as package syntax writes one whose texts begin alike.
func behind(prefix, choice *syntax.Regexp) (all []word) {
	for choice.Op == syntax.OpCapture {
		choice = choice.Sub[0]
	}
	if prefix.Op != syntax.OpLiteral || choice.Op != syntax.OpAlternate {
		return nil
	}
	for _, sub := range choice.Sub {
		words := needed(sub)
		if sub.Op == syntax.OpConcat {
			sub = sub.Sub[0]
		}
		joined := needed(prefix)
		if sub.Op == syntax.OpLiteral && (prefix.Flags|sub.Flags)&syntax.FoldCase == 0 {
			joined = literal(string(prefix.Rune)+string(sub.Rune), false)
		}
		if shortest(joined) > shortest(words) {
			words = joined
		}
		if all = append(all, words...); len(words) == 0 || len(all) > maxWords {
			return nil
		}
	}
	return all
}

// literal is a text as a word. An expression also takes a byte that is no UTF-8 for utf8.RuneError, and
// for some letters of ASCII one beyond it, so that a folded word is of ASCII alone.
func literal(text string, fold bool) []word {
	if strings.ContainsRune(text, utf8.RuneError) || fold && !isASCII(text) {
		return nil
	}
	if fold {
		text = strings.ToLower(text)
	}
	return []word{{text, fold}}
}

// exactly returns all texts that an expression matches, one of which may be empty; none when that is not known.
func exactly(re *syntax.Regexp) []word {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return []word{{}}
	case syntax.OpLiteral:
		return literal(string(re.Rune), re.Flags&syntax.FoldCase != 0)
	case syntax.OpCharClass:
		return letters(re.Rune, 8)
	case syntax.OpCapture:
		return exactly(re.Sub[0])
	case syntax.OpQuest:
		if words := exactly(re.Sub[0]); words != nil {
			return append(words, word{})
		}
	case syntax.OpConcat:
		all := []word{{}}
		for _, sub := range re.Sub {
			all = joined(all, exactly(sub))
		}
		return all
	case syntax.OpAlternate:
		var all []word
		for _, sub := range re.Sub {
			words := exactly(sub)
			if all = append(all, words...); len(words) == 0 || len(all) > maxWords {
				return nil
			}
		}
		return all
	}
	return nil
}

// joined returns each of some texts with each of others behind it; none when they differ in case, or are too many.
func joined(first, second []word) (all []word) {
	if len(first)*len(second) > maxWords {
		return nil
	}
	for _, a := range first {
		for _, b := range second {
			if a.text != "" && b.text != "" && a.fold != b.fold {
				return nil
			}
			all = append(all, word{a.text + b.text, a.fold || b.fold})
		}
	}
	return all
}

// letters are those of a class that has at most so many; bounds are its ranges.
func letters(bounds []rune, most int) (out []word) {
	for n := 0; n < len(bounds); n += 2 {
		for r := bounds[n]; r <= bounds[n+1]; r++ {
			one := literal(string(r), false)
			if out = append(out, one...); len(one) == 0 || len(out) > most {
				return nil
			}
		}
	}
	return out
}

// shortest is the length of the shortest word, 0 for none.
func shortest(words []word) (least int) {
	for n, w := range words {
		if n == 0 || len(w.text) < least {
			least = len(w.text)
		}
	}
	return least
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}
