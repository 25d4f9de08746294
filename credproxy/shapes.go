package credproxy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// shape decides on the value at the cursor and leaves it behind. A member that no shape
// names is refused: a new member of the API may have the provider fetch, run or
// keep something, and has not been looked at yet.
type shape func(c *cursor) error

// misfit says where a request departs from its shape, and how.
type misfit struct {
	path string // such as messages.3.content.0.source
	why  string
}

func (m *misfit) Error() string {
	if m.path == "" {
		return m.why
	}
	return m.path + ": " + m.why
}

func refuse(format string, args ...any) error { return &misfit{why: fmt.Sprintf(format, args...)} }

// under adds a step to the path of a misfit.
func under(step string, err error) error {
	var m *misfit
	if !errors.As(err, &m) {
		return err
	}
	if m.path != "" {
		step += "." + m.path
	}
	return &misfit{step, m.why}
}

// unknown is worded so that Claude Code, which knows the API's own words for
// it, leaves out what it can do without.
func unknown(name string) error {
	return under(short(name, 60), refuse("Extra inputs are not permitted: the sandbox refuses members of a request that it does not know"))
}

func hosted(what string) error {
	return refuse("%s would have the provider reach other servers for the agent, which the sandbox refuses", what)
}

// anything is the agent's own data: the input of a tool call, a schema.
func anything(c *cursor) error { c.skip(); return nil }

// scalar is a string, number, true, false or null.
func scalar(c *cursor) error {
	if k := c.kind(); k == '{' || k == '[' {
		return refuse("a plain value is wanted")
	}
	c.skip()
	return nil
}

func text(c *cursor) error {
	if k := c.kind(); k != '"' && k != 'n' {
		return refuse("a string is wanted")
	}
	c.skip()
	return nil
}

// oneOf is one of some strings.
func oneOf(values ...string) shape {
	return func(c *cursor) error {
		if c.kind() != '"' {
			return refuse("one of %s is wanted", strings.Join(values, ", "))
		}
		if got := c.str(); !slices.Contains(values, got) {
			return refuse("the sandbox refuses %s; it takes %s", short(got, 60), strings.Join(values, ", "))
		}
		return nil
	}
}

// optional lets null stand for what is not there.
func optional(s shape) shape {
	return func(c *cursor) error {
		if c.kind() == 'n' {
			c.skip()
			return nil
		}
		return s(c)
	}
}

func list(of shape) shape {
	return func(c *cursor) error {
		if c.kind() != '[' {
			return refuse("a list is wanted")
		}
		return c.elements(func(i int) error { return under(strconv.Itoa(i), of(c)) })
	}
}

// textOr is a string, or a list of blocks.
func textOr(blocks shape) shape {
	blocks = list(blocks)
	return func(c *cursor) error {
		if c.kind() == '"' {
			c.skip()
			return nil
		}
		return blocks(c)
	}
}

// flat is an object or a list of objects that hold plain values only.
func flat(c *cursor) error {
	switch c.kind() {
	case '{':
		return c.members(func(name string) error { return under(short(name, 60), scalar(c)) })
	case '[':
		return c.elements(func(i int) error { return under(strconv.Itoa(i), flat(c)) })
	}
	return scalar(c)
}

// members are the members of an object by their exact names. Another case of a
// listed name is a name that is not listed.
type members map[string]shape

func object(m members) shape {
	return func(c *cursor) error {
		if c.kind() != '{' {
			return refuse("an object is wanted")
		}
		return c.members(func(name string) error {
			s, listed := m[name]
			if !listed {
				return unknown(name)
			}
			return under(name, s(c))
		})
	}
}

// typed is an object whose member "type" says which shape it has. A type that
// is not listed is refused by its name.
func typed(what string, shapes map[string]shape) shape {
	return func(c *cursor) error {
		if c.kind() != '{' {
			return refuse("an object is wanted")
		}
		kind := c.member("type")
		s, listed := shapes[kind]
		if !listed {
			return hosted(fmt.Sprintf("%s of type %q", what, short(kind, 60)))
		}
		return s(c)
	}
}
