package compose

import (
	"fmt"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/budget"
)

// variables are what $NAME stands for.
type variables struct {
	lookup func(string) (string, bool)
	// strict makes a name that is not set empty, as Compose does; otherwise it
	// stays as it is written, so that a reader of the result sees it.
	strict bool
	depth  int // how many variables' defaults this stands in
	work   *budget.Budget
	// refused gets why Compose refuses a value; nil = not asked.
	refused *string
}

// maxNested bounds how deep defaults may hold others: the end of each is looked
// for again. Deeper ones stay as they are written.
const maxNested = 100

// value returns what a variable stands for, while the budget holds that.
func (v variables) value(name string) (string, bool) {
	value, ok := v.lookup(name)
	if ok && !v.work.Spend(len(value)) {
		return "", false
	}
	return value, ok
}

// unset is what a variable without value and default becomes.
func (v variables) unset(whole string) string {
	if v.strict {
		return ""
	}
	return whole
}

// interpolate fills in $NAME, ${NAME}, ${NAME:-default}, ${NAME-default},
// ${NAME:+value} and ${NAME:?message}; "$$" is a dollar sign.
func interpolate(s string, env variables) string {
	if !strings.Contains(s, "$") || !env.work.Spend(len(s)) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '$' || i+1 == len(s) {
			b.WriteByte(s[i])
			i++
			continue
		}
		switch next := s[i+1]; {
		case next == '$':
			b.WriteByte('$')
			i += 2
		case next == '{':
			end := matching(s, i+2)
			if end < 0 {
				b.WriteString(s[i:])
				return b.String()
			}
			b.WriteString(expand(s[i:end+1], s[i+2:end], env))
			i = end + 1
		case isName(next, true):
			end := i + 1
			for end < len(s) && isName(s[end], false) {
				end++
			}
			value, ok := env.value(s[i+1 : end])
			if !ok {
				value = env.unset(s[i:end])
			}
			b.WriteString(value)
			i = end
		default:
			b.WriteByte('$')
			i++
		}
	}
	return b.String()
}

func isName(c byte, first bool) bool {
	letter, digit := 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9'
	return letter || c == '_' || digit && !first
}

// matching finds the brace that closes the one before at.
func matching(s string, at int) int {
	depth := 1
	for ; at < len(s); at++ {
		switch {
		case s[at] == '}':
			if depth--; depth == 0 {
				return at
			}
		case s[at] == '$' && at+1 < len(s) && s[at+1] == '{':
			depth++
			at++
		}
	}
	return -1
}

// expand resolves one ${…}; inner is what stands in the braces.
func expand(whole, inner string, env variables) string {
	end := 0
	for end < len(inner) && isName(inner[end], end == 0) {
		end++
	}
	name, rest := inner[:end], inner[end:]
	if env.depth++; name == "" || env.depth > maxNested {
		return whole
	}
	value, ok := env.value(name)
	operator := strings.TrimPrefix(rest, ":")
	if strings.HasPrefix(rest, ":") && value == "" {
		ok = false // a colon treats empty as missing
	}
	switch {
	case rest == "":
		if ok {
			return value
		}
		return env.unset(whole)
	case strings.HasPrefix(operator, "-"):
		if ok {
			return value
		}
		return interpolate(operator[1:], env)
	case strings.HasPrefix(operator, "+"):
		if ok {
			return interpolate(operator[1:], env)
		}
		return ""
	case strings.HasPrefix(operator, "?") && ok:
		return value
	case strings.HasPrefix(operator, "?") && env.strict && env.refused != nil:
		*env.refused = fmt.Sprintf("the variable %s has no value: %s", name, operator[1:])
	}
	return whole
}
