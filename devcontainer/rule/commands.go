package rule

import (
	"errors"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// EachCommand calls visit for every command of a lifecycle property: a text for
// a shell, an array that is one command, or an object of those.
func (c *View) EachCommand(n *jsonc.Node, visit func(*jsonc.Node, *shell.Command)) {
	if n == nil {
		return
	}
	switch n.Kind {
	case jsonc.String:
		script := c.scripts[n]
		for _, cmd := range c.CommandsOf(n, n.Text) {
			if script != nil {
				n.Start, n.End = cmd.Words[0].Start, max(cmd.Words[0].End, min(cmd.End, lineEnd(n.Text, cmd.Words[0].Start)))
			}
			visit(n, cmd)
		}
	case jsonc.Array:
		var words []string
		for _, e := range rights.Texts(n) {
			words = append(words, e.Text)
		}
		for _, cmd := range c.CommandsOf(n, QuotedLine(words)) {
			visit(n, cmd)
		}
	case jsonc.Object:
		for _, m := range n.Members {
			c.EachCommand(m.Value, visit)
		}
	}
}

func lineEnd(text string, at int) int {
	if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(text)
}

// AddScript returns a node that stands for a file that a lifecycle command runs, or a part of it: text is as long, and while EachCommand
// visits the given commands of it, the node's place is that of the one at hand.
func (v *View) AddScript(doc *jsonc.Document, text string, commands []*shell.Command) *jsonc.Node {
	n := &jsonc.Node{Kind: jsonc.String, Text: text, End: lineEnd(text, 0)}
	v.scripts[n], v.Commands[n] = doc, parsed{commands: commands}
	return n
}

// IsScript reports whether a node stands for a file.
func (v *View) IsScript(n *jsonc.Node) bool { return v.scripts[n] != nil }

// EachHookCommand calls visit for every command of the lifecycle commands that run
// inside, whoever brings them: the configuration, a Feature, a label. The place of the
// right is that of the command's text.
func (c *View) EachHookCommand(visit func(hook rights.Right, cmd *shell.Command)) {
	for _, r := range c.Of(rights.Hook) {
		c.EachCommand(r.Node, func(n *jsonc.Node, cmd *shell.Command) {
			at := r
			at.Place = r.At(n)
			visit(at, cmd)
		})
	}
}

// EachHookText calls visit for every text of the same commands.
func (c *View) EachHookText(visit func(text string)) {
	for _, r := range c.Of(rights.Hook) {
		r.Node.Walk(func(n *jsonc.Node) {
			if n.Kind == jsonc.String {
				visit(n.Text)
			}
		})
	}
}

// parsed is the shell text of a value; cut says that it was too much.
type parsed struct {
	commands []*shell.Command
	Cut      bool
}

// CommandsOf reads shell text that n holds.
func (v *View) CommandsOf(n *jsonc.Node, text string) []*shell.Command {
	p, ok := v.Commands[n]
	if !ok {
		commands, err := shell.Parse(text, nil)
		p = parsed{commands, errors.Is(err, shell.ErrTooMuch)}
		v.Commands[n] = p
	}
	return p.commands
}

// QuotedLine writes words as shell text.
func QuotedLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}
