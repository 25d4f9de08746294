package secrets

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// MaxEnv bounds a file of variables, in bytes; ReadEnv refuses a longer one.
const MaxEnv = 1 << 20

// Variable reads NAME=VALUE, or NAME for the caller's own value, as docker run's --env
// does. found is false for a NAME that the caller does not have.
func Variable(text string, lookup func(string) (string, bool)) (variable string, found bool, err error) {
	name, value, given := strings.Cut(text, "=")
	switch {
	case !variableName.MatchString(name):
		return "", false, errors.New("it is no NAME or NAME=VALUE: a name has letters, digits and _, and does not begin with a digit")
	case strings.ContainsRune(value, 0):
		return "", false, fmt.Errorf("the value of %s holds a NUL character", name)
	case given:
		return text, true, nil
	}
	value, found = lookup(name)
	return name + "=" + value, found, nil
}

// ReadEnv reads a file of variables as docker run's --env-file does: NAME=VALUE or NAME a
// line, # begins a line that is a comment, and a value is what stands there, quotes
// included. Its errors name the line and no value. missing are the names that the caller
// does not have.
func ReadEnv(text []byte, lookup func(string) (string, bool)) (variables, missing []string, err error) {
	if len(text) > MaxEnv {
		return nil, nil, fmt.Errorf("it is larger than %d KiB, which a file of variables may have at most", MaxEnv>>10)
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(text) {
		return nil, nil, errors.New("it is not UTF-8")
	}
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimLeft(strings.TrimSuffix(line, "\r"), " \t")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		variable, found, err := Variable(line, lookup)
		if err != nil {
			return nil, nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if !found {
			name, _, _ := strings.Cut(variable, "=")
			missing = append(missing, name)
			continue
		}
		variables = append(variables, variable)
	}
	return variables, missing, nil
}
