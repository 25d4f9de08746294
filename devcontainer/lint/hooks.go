package lint

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// eachHookText calls visit for every command of the configuration's own lifecycle
// properties: a text for a shell, or an array; and, in front of it, for the scripts that it calls.
func eachHookText(v *rule.View, visit func(property string, n *jsonc.Node)) {
	scripts := rule.Once(v, "scripts of hooks", scriptsOfHooks)
	eachHook(v, func(property string, n *jsonc.Node) {
		for _, script := range scripts[n] {
			visit(property, script)
		}
		visit(property, n)
	})
}

// eachHook is eachHookText without the scripts.
func eachHook(v *rule.View, visit func(property string, n *jsonc.Node)) {
	for _, name := range lifecycle {
		switch n := v.Root.Member(name); {
		case n == nil:
		case n.Kind == jsonc.Object:
			for _, m := range n.Members {
				visit(name, m.Value)
			}
		default:
			visit(name, n)
		}
	}
}

// maxScript bounds a script that is read as a part of the hook that calls it, and maxScripts their number.
const (
	maxScript  = 64 << 10
	maxScripts = 20
)

// scriptsOfHooks returns the scripts of the project that hooks call before they change files or folders, each once, by the hook.
func scriptsOfHooks(v *rule.View) map[*jsonc.Node][]*jsonc.Node {
	out := map[*jsonc.Node][]*jsonc.Node{}
	if v.Kind() != devcontainer.ConfigFile || v.Tree == nil {
		return out
	}
	seen := map[string]bool{}
	eachHook(v, func(property string, n *jsonc.Node) {
		folder, known := v.Home, true
		if property != "initializeCommand" {
			folder, known = workspaceOnHost(v)
		}
		v.EachCommand(n, func(_ *jsonc.Node, cmd *shell.Command) {
			name, _ := scriptOf(cmd)
			full := path.Join(folder, name)
			plain := cmd.OnFailure != shell.Open && cmd.User == "" && cmd.Wrapped == ""
			call := full + " " + joinedWords(cmd)
			ours := name != "" && !seen[call] && !devcontainer.LeavesTree(full)
			if known && plain && ours && len(seen) < maxScripts {
				seen[call] = true
				if script := scriptNode(v, full, argumentsOf(cmd)); script != nil {
					out[n] = append(out[n], script)
				}
			}
			if recipe := recipeNode(v, folder, cmd, seen); recipe != nil && known && plain {
				out[n] = append(out[n], recipe)
				return
			}
			known = known && (name != "" || makesNoFile(cmd))
		})
	})
	return out
}

// recipeOf matches a rule of a Makefile with its recipe.
var recipeOf = lazyregexp.New(`(?m)^([A-Za-z][\w-]*)[ \t]*:[^=\n]*\n((?:\t[^\n]*(?:\n|$))+)`)

// recipeNode reads the recipe of the target that a command of make names; nil when that is not known. make fills in what begins with
// a dollar sign, and runs each line in a shell of its own.
func recipeNode(v *rule.View, folder string, cmd *shell.Command, seen map[string]bool) *jsonc.Node {
	words := cmd.Args()
	if !cmd.Is("make") || len(words) != 1 || !words[0].Literal || devcontainer.LeavesTree(folder) || len(seen) >= maxScripts {
		return nil
	}
	full := path.Join(folder, "Makefile")
	if seen[full+":"+words[0].Text] {
		return nil
	}
	seen[full+":"+words[0].Text] = true
	doc := v.Readable(relativeTo(v, full))
	if doc == nil || len(doc.Src) > maxScript {
		return nil
	}
	for _, at := range recipeOf.FindAllSubmatchIndex(doc.Src, -1) {
		recipe := string(doc.Src[at[4]:at[5]])
		if string(doc.Src[at[2]:at[3]]) != words[0].Text || strings.ContainsAny(recipe, `$\`) || strings.Contains(recipe, "cd ") {
			continue
		}
		text := bytes.Repeat([]byte(" "), at[5]) // so that places are those of the file
		copy(text, "set -e\n")
		for n := at[4]; n < at[5]; n++ {
			begins := n == at[4] || doc.Src[n-1] == '\n' || doc.Src[n-1] == '\t'
			if c := doc.Src[n]; c != '\t' && !(begins && (c == '@' || c == '-')) {
				text[n] = c
			}
		}
		commands, err := shell.Parse(string(text), nil)
		if err != nil || len(commands) < 2 || at[4] < len("set -e\n") {
			return nil
		}
		return v.AddScript(doc, string(text), commands)
	}
	return nil
}

// argumentsOf looks up the arguments that a command gives to its script.
func argumentsOf(cmd *shell.Command) shell.Lookup {
	words := cmd.Args()
	if cmd.Is(shell.Shells...) { // behind the script
		script := cmd.Operands()[0]
		words = words[1+slices.IndexFunc(words, func(w shell.Word) bool { return w.Start == script.Start }):]
	}
	return func(name string) (value string, known bool) {
		n, err := strconv.Atoi(name)
		switch {
		case err != nil || n < 1 || slices.ContainsFunc(words[:min(n, len(words))], func(w shell.Word) bool { return !w.Literal }):
			return "", false
		case n > len(words):
			return "", true
		}
		return words[n-1].Text, true
	}
}

// scriptNode reads a script of a shell; nil when it is none. Commands behind one that may end it are left out.
func scriptNode(v *rule.View, full string, arguments shell.Lookup) *jsonc.Node {
	doc := v.Readable(relativeTo(v, full))
	if doc == nil || len(doc.Src) > maxScript || bytes.ContainsAny(doc.Src, "\r\x00") {
		return nil
	}
	if program := dockerfile.Interpreter(doc.Src); program != "bash" && program != "sh" && (program != "" || path.Ext(full) != ".sh") {
		return nil
	}
	commands, err := shell.Parse(string(doc.Src), arguments)
	if err != nil {
		return v.AddScript(doc, string(doc.Src), nil)
	}
	if ends := slices.IndexFunc(commands, func(c *shell.Command) bool { return c.Is("exit", "return", "exec") }); ends >= 0 {
		commands = commands[:ends]
	}
	return v.AddScript(doc, string(doc.Src), commands)
}

// hookSyntax reports commands that no shell reads.
func hookSyntax(v *rule.View) (out []rule.Finding) {
	eachHookText(v, func(property string, n *jsonc.Node) {
		if n.Kind != jsonc.String || len(n.Text) > 64<<10 {
			return
		}
		if v.IsScript(n) {
			if offset, why, refused := shell.Refused(n.Text, false); refused {
				n.Start = min(offset, len(n.Text))
				n.End = lineEnd([]byte(n.Text), n.Start)
				out = append(out, v.AtValue(n, fmt.Sprintf("the shell refuses the script: %s", why), "try it with: bash -n"))
			}
			return
		}
		// Bash accepts all that sh does; an error of both is one of every shell.
		_, why, refused := shell.Refused(rights.Variable.ReplaceAllString(n.Text, "x"), false)
		if !refused {
			out = append(out, bashInHook(v, property, n)...)
			return
		}
		out = append(out, v.AtValue(n, fmt.Sprintf("the shell refuses the command: %s", why), "try it with: sh -n -c '…'"))
	})
	return append(out, hookMeanings(v, bashInScript)...)
}

// at puts a finding without a place at a value.
func at(v *rule.View, n *jsonc.Node, f rule.Finding) rule.Finding {
	if f.Doc == nil {
		f.Place = v.AtValue(n, "", "").Place
	}
	f.Message, f.Hint = diag.Short(f.Message), diag.Short(f.Hint)
	return f
}
