package credproxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"unicode/utf8"
)

// Bounds of a request's structure. The longest conversations hold some 10,000
// values. An open object takes 16 bytes for each of its names, so that reading
// the worst body takes another 8 MB.
const (
	maxDepth  = 500
	maxValues = 500_000
)

// checkText reads body as one JSON text (RFC 8259) in the only way there is:
// names that stand twice, bytes that are no UTF-8 and text after the end are
// refused, so that the upstream cannot read something else in it. It builds no
// values: the agent chooses the text, and a tree of it takes many times its
// size.
func checkText(body []byte) error {
	if !utf8.Valid(body) {
		return errors.New("the request is no UTF-8")
	}
	if !json.Valid(body) {
		return errors.New("the request is no JSON text, or more than one")
	}
	c := &checker{cursor: cursor{text: body}, left: maxValues, seed: maphash.MakeSeed()}
	return c.value(0)
}

// checker walks through all values of a JSON text.
type checker struct {
	cursor
	left  int // values that the text may still hold
	seed  maphash.Seed
	names []nameSeen // of the open objects, the innermost last
}

// nameSeen stands for a name of an open object. Equal names have equal hashes;
// that different ones do, under a secret seed, does not happen.
type nameSeen struct {
	hash uint64
	at   int // where the name begins
}

func (c *checker) value(depth int) error {
	if c.left--; c.left < 0 || depth > maxDepth {
		return fmt.Errorf("the request is nested deeper than %d levels or holds more than %d values", maxDepth, maxValues)
	}
	switch c.kind() {
	case '{':
		return c.object(depth)
	case '[':
		return c.elements(func(int) error { return c.value(depth + 1) })
	}
	c.skip()
	return nil
}

// object does what members does, and makes no text of a name.
func (c *checker) object(depth int) error {
	first := len(c.names)
	for c.at++; c.kind() != '}'; {
		if c.text[c.at] == ',' {
			c.at++
			continue
		}
		from := c.at
		c.skipString()
		c.names = append(c.names, nameSeen{maphash.Bytes(c.seed, unquoted(c.text[from:c.at])), from})
		c.kind()
		c.at++ // the colon
		if err := c.value(depth + 1); err != nil {
			return err
		}
	}
	c.at++
	return c.close(first)
}

// close forgets the names of the innermost object, which begin at first, and
// refuses two that are equal.
func (c *checker) close(first int) error {
	names := c.names[first:]
	c.names = c.names[:first]
	slices.SortFunc(names, func(a, b nameSeen) int {
		if a.hash < b.hash {
			return -1
		} else if a.hash > b.hash {
			return 1
		}
		return 0
	})
	for i := 1; i < len(names); i++ {
		if names[i].hash == names[i-1].hash {
			twice := cursor{text: c.text, at: names[i].at}
			return fmt.Errorf("the request names %s twice", short(twice.str(), 60))
		}
	}
	return nil
}

// unquoted is the text of a JSON string. It copies only where there are escapes.
func unquoted(quoted []byte) []byte {
	inner := quoted[1 : len(quoted)-1]
	if !slices.Contains(inner, '\\') {
		return inner
	}
	var s string
	_ = json.Unmarshal(quoted, &s) // the text is valid
	return []byte(s)
}

// cursor walks through a text that checkText has accepted. Its methods read the
// value that begins at the cursor, after white space, and leave it behind.
type cursor struct {
	text []byte
	at   int
}

// kind is the first byte of the value: one of { [ " t f n - or a digit.
func (c *cursor) kind() byte {
	for {
		switch b := c.text[c.at]; b {
		case ' ', '\t', '\n', '\r':
			c.at++
		default:
			return b
		}
	}
}

// str returns a string.
func (c *cursor) str() string {
	c.kind()
	from := c.at
	c.skipString()
	return string(unquoted(c.text[from:c.at]))
}

func (c *cursor) skipString() {
	for c.at++; c.text[c.at] != '"'; c.at++ {
		if c.text[c.at] == '\\' {
			c.at++
		}
	}
	c.at++
}

// skip passes over a value of any kind.
func (c *cursor) skip() {
	depth := 0
	for {
		switch c.kind() {
		case '"':
			c.skipString()
		case '{', '[':
			depth++
			c.at++
		case '}', ']':
			depth--
			c.at++
		case ',', ':':
			c.at++
		default: // a number or a word
			for c.at < len(c.text) && !isDelimiter(c.text[c.at]) {
				c.at++
			}
		}
		if depth == 0 {
			return
		}
	}
}

func isDelimiter(b byte) bool {
	switch b {
	case ' ', '\t', '\n', '\r', ',', ':', ']', '}':
		return true
	}
	return false
}

// members calls read for each member of an object, with the cursor at its
// value, which read must leave behind. It ends at the first error.
func (c *cursor) members(read func(name string) error) error {
	c.kind()
	c.at++
	for c.kind() != '}' {
		if c.text[c.at] == ',' {
			c.at++
			continue
		}
		name := c.str()
		c.kind()
		c.at++ // the colon
		if err := read(name); err != nil {
			return err
		}
	}
	c.at++
	return nil
}

// elements is members for a list.
func (c *cursor) elements(read func(index int) error) error {
	c.kind()
	c.at++
	for i := 0; c.kind() != ']'; {
		if c.text[c.at] == ',' {
			c.at++
			continue
		}
		if err := read(i); err != nil {
			return err
		}
		i++
	}
	c.at++
	return nil
}

// member returns the string at a member of the object at the cursor, which
// stays where it is; "" when there is none or it is no string.
func (c cursor) member(wanted string) (found string) {
	_ = c.members(func(name string) error {
		if name == wanted && c.kind() == '"' {
			found = c.str()
			return nil
		}
		c.skip()
		return nil
	})
	return found
}
