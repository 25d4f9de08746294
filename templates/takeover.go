package templates

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// hooks are the lifecycle commands that run in the container.
var hooks = []string{"onCreateCommand", "updateContentCommand", "postCreateCommand", "postStartCommand", "postAttachCommand"}

// firewallHook matches a command that does nothing but run a script of that name,
// which Anthropic's reference dev container gave it: "sudo
// /usr/local/bin/init-firewall.sh".
var firewallHook = regexp.MustCompile(`^(sudo( +-[a-zA-Z]+)* +)?((/usr)?(/bin/)?(ba)?sh +)?[\w./${}-]*\binit-firewall(\.sh)?$`)

// dropFirewallHook takes out the hooks that raise a firewall and nothing else,
// and the wait for one of them: under the Feature's no-new-privileges sudo fails,
// and the Feature has raised its own firewall before any hook runs.
func (e *extender) dropFirewallHook() {
	for _, hook := range hooks {
		if e.err != nil {
			return
		}
		doc := e.doc()
		command := doc.Root.Member(hook)
		switch {
		case command == nil:
		case raisesFirewall(command):
			e.removeHook(doc, hook, command)
		case command.Kind == jsonc.Object:
			at := slices.IndexFunc(command.Members, func(m jsonc.Member) bool { return raisesFirewall(m.Value) })
			switch {
			case at >= 0 && len(command.Members) == 1:
				e.removeHook(doc, hook, command.Members[at].Value)
			case at >= 0:
				e.dropped(hook, command.Members[at].Value)
				e.apply(doc.RemoveMember(command, at))
			}
		}
	}
}

func (e *extender) removeHook(doc *jsonc.Document, hook string, command *jsonc.Node) {
	e.dropped(hook, command)
	e.apply(doc.RemoveMember(doc.Root, memberIndex(doc.Root, hook)))
	doc = e.doc()
	if waits, _ := doc.Root.Member("waitFor").Str(); e.err == nil && waits == hook {
		e.apply(doc.RemoveMember(doc.Root, memberIndex(doc.Root, "waitFor")))
	}
}

func (e *extender) dropped(hook string, command *jsonc.Node) {
	e.changes = append(e.changes, fmt.Sprintf("%s no longer runs %q: the Feature raises the firewall before any command runs", hook,
		commandText(command)))
}

// raisesFirewall reports a command, as a text or as a list of words, that only
// runs the firewall's script.
func raisesFirewall(n *jsonc.Node) bool { return firewallHook.MatchString(commandText(n)) }

func commandText(n *jsonc.Node) string {
	if n.Kind != jsonc.Array {
		return strings.TrimSpace(n.Text)
	}
	var words []string
	for _, e := range n.Elements {
		words = append(words, e.Text)
	}
	return strings.Join(words, " ")
}

// startAsRoot makes root the user of the container's first process, who raises
// the firewall. Sessions, and so the agent, stay with the user they had.
func (e *extender) startAsRoot(user string) {
	name, _, _ := strings.Cut(user, ":")
	if e.err != nil || name == "" || name == "root" || name == "0" {
		return
	}
	doc := e.doc()
	if Composed(e.src) { // the service says it, and is not ours to edit
		e.member("", "remoteUser", jsonc.Quote(user))
		return
	}
	if n := doc.Root.Member("containerUser"); n != nil {
		e.apply(jsonc.Replace(n, `"root"`))
	} else {
		e.apply(doc.AddMember(doc.Root, "containerUser", `"root"`))
	}
	e.member("", "remoteUser", jsonc.Quote(user))
	e.changes = append(e.changes, "containerUser is root, who raises the firewall and then waits; you and the agent work as "+
		"remoteUser, as before")
}

func memberIndex(n *jsonc.Node, name string) int {
	return slices.IndexFunc(n.Members, func(m jsonc.Member) bool { return m.Name == name })
}
