package proposal

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/action/patch"
)

// conversion is what the attributes of a file have git do between a checkout, which the agent
// saw, and a commit: ends of lines, ident and working-tree-encoding. The attributes are those
// of the checkout in which no agent worked.
type conversion struct {
	text     bool        // git converts ends of lines whatever the commit has
	encoding string      // working-tree-encoding; "" = none
	filter   string      // a program that converts, such as lfs; "" = none
	without  [][2]string // configuration with which git does not run it
}

// conversions finds them, by path.
func (r Repository) conversions(ctx context.Context, files []patch.File) (map[string]conversion, error) {
	all := map[string]conversion{}
	if len(files) == 0 {
		return all, nil
	}
	var paths strings.Builder
	for i := range files {
		paths.WriteString(files[i].Path + "\x00")
	}
	out, err := r.git(ctx, call{
		args:  []string{"check-attr", "-z", "--stdin", "text", "working-tree-encoding", "filter"},
		stdin: strings.NewReader(paths.String()),
	})
	if err != nil {
		return nil, err
	}
	for field := range slices.Chunk(strings.Split(strings.TrimSuffix(out, "\x00"), "\x00"), 3) {
		if len(field) != 3 {
			return nil, fmt.Errorf("git check-attr printed %.100q", field)
		}
		name, value := field[0], field[2]
		c := all[name]
		isValue := value != "unspecified" && value != "unset" && value != "set"
		switch {
		case field[1] == "text":
			c.text = value == "set"
		case field[1] == "working-tree-encoding" && isValue:
			c.encoding = value
		case field[1] == "filter" && isValue:
			c.filter = value
			for _, key := range []string{"clean", "smudge", "process"} {
				c.without = append(c.without, [2]string{"filter." + value + "." + key, ""})
			}
			c.without = append(c.without, [2]string{"filter." + value + ".required", "false"})
		}
		all[name] = c
	}
	return all, nil
}

// applies reports whether git converts a file when it is committed, whose former content is
// old. With text=auto git leaves one alone that has CRLF in the commit.
func (c conversion) applies(old string) bool { return c.text || !strings.Contains(old, "\r\n") }

// checkedOut is the content of a file as git checks it out, without filters; "" for a new one.
func (r Repository) checkedOut(ctx context.Context, name string, was entry, c conversion) (string, error) {
	if was.hash == "" {
		return "", nil
	}
	return r.git(ctx, call{args: []string{"cat-file", "--filters", "--path=" + name, was.hash}, config: c.without})
}

// hint says why a patch may not fit, and what helps.
func (c conversion) hint() string {
	switch c.filter {
	case "":
		return ""
	case "lfs":
		return "; its attribute is filter=lfs, and with lfs: true the agent sees a file that no commit has: leave that out of the " +
			"checkout of its job, or leave this file to a person"
	}
	return fmt.Sprintf("; its attribute is filter=%.100s, a program that may have given the agent another content, and this step runs "+
		"none: leave this file to a person", c.filter)
}

// unfiltered says why content cannot be committed as it is, because a program makes the form
// that commits have; "" = it can.
func (c conversion) unfiltered(isNew bool, content []byte) string {
	switch isPointer := len(content) == 0 || bytes.HasPrefix(content, []byte("version https://git-lfs.github.com/spec/")); {
	case c.filter == "lfs" && !isPointer:
		return "its attribute is filter=lfs, and the commit would have all of it in place of a pointer: leave this file to a person"
	case c.filter != "" && c.filter != "lfs" && isNew:
		return fmt.Sprintf("its attribute is filter=%.100s, a program that makes what commits have of such a file, and this step runs "+
			"none: leave this file to a person", c.filter)
	}
	return ""
}
