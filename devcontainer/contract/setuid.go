package contract

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// setuidPrograms run a command as another user by means of their setuid bit.
// no-new-privileges takes that away: they fail for everybody but root.
var setuidPrograms = []string{"sudo", "sudoedit", "su", "doas", "pkexec", "newgrp", "sg"}

// setuidWord finds those and their helpers in text that is not parsed. It may
// find too much: then fix adds no option, and that does no harm.
var setuidWord = lazyregexp.New(`(?m)^[^#\n]*\b(sudo\w*|su|doas|pkexec|runuser|newgrp|sg|newuidmap|newgidmap|fusermount3?)\b`)

// setuidUse is a place where the container's start needs a setuid program, or
// where that cannot be told.
type setuidUse struct {
	sure    bool        // a command that is surely run; otherwise only fix holds back
	program string      // "sudo"
	how     string      // "postStartCommand runs sudo"
	node    *jsonc.Node // in the configuration; nil when it is elsewhere
	root    bool        // it runs as root, for whom the option changes nothing
	raises  bool        // the command raises a firewall
}

// setuidUses returns where lifecycle commands, the ENTRYPOINT and local Features
// need a setuid program, also in the scripts of the project that they run.
// initializeCommand runs on the host and does not count.
func setuidUses(c *rule.View) []setuidUse {
	s := &setuidSearch{View: c, seen: map[string]bool{}}
	root := hooksRunAsRoot(c)
	for _, r := range c.Of(rights.Hook) {
		s.hook(r.Node, sourceOf(r), root, r.Notation == rights.Property)
	}
	s.entrypoint()
	s.features()
	return s.found
}

// sourceOf names what is run, and what brings it.
func sourceOf(r rights.Right) string {
	switch r.Notation {
	case rights.Feature:
		return fmt.Sprintf("%s of the Feature %s", r.Key, r.From.Name)
	case rights.Label:
		return fmt.Sprintf("%s of the label %s", r.Key, rights.MetadataLabel)
	case rights.Compose:
		return "the service's " + r.Key
	case rights.Option:
		return "--" + r.Key
	}
	return r.Key
}

// hooksRunAsRoot reports whether lifecycle commands surely run as root.
func hooksRunAsRoot(c *rule.View) bool {
	if user, known := c.SessionUser(); known {
		return rule.IsRoot(user)
	}
	return startsAsRoot(c)
}

// maxFollowed bounds the scripts that the search reads; others count as programs that nothing here shows.
const maxFollowed = 50

// runsIt ends a setuidUse's how when a script stands between.
const runsIt = ", which"

type setuidSearch struct {
	*rule.View
	seen  map[string]bool // scripts that were read
	found []setuidUse
}

// hook looks at one lifecycle command, in any of its forms. own says that it
// stands in the configuration, where findings have a place.
func (s *setuidSearch) hook(n *jsonc.Node, name string, root, own bool) {
	if n == nil {
		return
	}
	place := func(at *jsonc.Node) *jsonc.Node {
		if own {
			return at
		}
		return nil
	}
	before := len(s.found)
	s.EachCommand(n, func(at *jsonc.Node, cmd *shell.Command) {
		s.command(cmd, setuidUse{how: name, node: place(at), root: root})
	})
	n.Walk(func(at *jsonc.Node) {
		if len(s.found) == before && at.Kind == jsonc.String && setuidWord.MatchString(at.Text) {
			s.found = append(s.found, setuidUse{how: name, node: place(at), root: root})
		}
	})
}

// entrypoint looks at the first process, whether or not a shell replaces it, at the
// command, which a script often starts, and at what Features and labels start first.
func (s *setuidSearch) entrypoint() {
	user, known := s.StartUser()
	root := !known || rule.IsRoot(user.Value)
	entrypoint, command := s.Start()
	if entrypoint.Words != nil {
		entrypoint.Words = slices.Concat(entrypoint.Words, command.Words)
	}
	s.words(entrypoint, root)
	s.words(command, root)
	for _, r := range s.Of(rights.Entrypoint) {
		if r.Notation == rights.Feature || r.Notation == rights.Label {
			s.words(r, root)
		}
	}
}

// features looks at the programs of local Features. A
// Feature from elsewhere cannot be read; the firewall's own is known.
func (s *setuidSearch) features() {
	for _, m := range s.Root.Member("features").Fields() {
		switch {
		case s.LocalFeature(m.Name) != nil:
			s.text(path.Join(s.Dir, m.Name, "install.sh"), "install.sh of the Feature "+m.Name)
		case !s.RaisesFirewall(m.Name):
			s.found = append(s.found, setuidUse{how: "the Feature " + m.Name})
		}
	}
}

// words looks at a command that is given as words, with the container's variables.
func (s *setuidSearch) words(r rights.Right, root bool) {
	if len(r.Words) == 0 {
		return
	}
	commands, err := shell.Parse(rule.QuotedLine(r.Words), func(name string) (value string, known bool) {
		for _, env := range s.Of(rights.Env) {
			if env.Name == name && !env.Next && env.Host == "" {
				value, known = env.Value, true
			}
		}
		return value, known
	})
	if err != nil {
		s.found = append(s.found, setuidUse{how: sourceOf(r)})
	}
	for _, cmd := range commands {
		s.command(cmd, setuidUse{how: sourceOf(r), root: root})
	}
}

// command judges one command. Those behind sudo are root's already.
func (s *setuidSearch) command(cmd *shell.Command, at setuidUse) {
	program := cmd.Words[0].Text
	switch {
	case rule.IsRoot(cmd.User):
	case cmd.Is(setuidPrograms...):
		at.sure, at.program, at.raises = true, cmd.Name(), raising.MatchString(joinWords(cmd))
		s.found = append(s.found, at)
	case cmd.Is("runuser", "newuidmap", "newgidmap", "fusermount", "fusermount3"), strings.HasPrefix(program, "$"):
		s.found = append(s.found, at) // runuser needs root itself; a variable may hold sudo
	case cmd.Is(shell.Shells...) && len(cmd.Operands()) == 0 && len(cmd.From) > 0:
		s.found = append(s.found, at) // it runs text that comes through a pipe
	case cmd.Is("make", "just", "task"):
		for _, name := range []string{"Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", "Taskfile.yml", "Taskfile.yaml"} {
			s.text(path.Join(s.Home, name), at.how)
		}
	case cmd.Is("npm", "yarn", "pnpm", "bun", "npx"):
		s.text(path.Join(s.Home, "package.json"), at.how)
	default:
		s.script(cmd, at)
	}
}

// script follows a command into the script of the project that it runs.
func (s *setuidSearch) script(cmd *shell.Command, at setuidUse) {
	word := cmd.Words[0].Text
	if cmd.Is(shell.Shells...) || cmd.Is("source", ".") {
		operands := cmd.Operands()
		if len(operands) == 0 || cmd.Is(shell.Shells...) && hasScript(cmd) {
			return
		}
		word = operands[0].Text
	}
	name, ok := projectScript(s.View, word)
	switch {
	case !ok && strings.Contains(word, "/") && !systemProgram.MatchString(word):
		s.found = append(s.found, at) // a program that nothing here shows
		return
	case !ok || s.seen[name]:
		return
	case len(s.seen) == maxFollowed:
		s.found = append(s.found, at)
		return
	}
	s.seen[name] = true
	src, err := s.Tree.Read(name)
	if err != nil || len(src) > jsonc.MaxSize {
		s.found = append(s.found, at)
		return
	}
	at.how = strings.TrimSuffix(at.how, runsIt) + " runs " + path.Base(name) + runsIt
	before := len(s.found)
	commands, err := shell.Parse(string(src), nil)
	for _, inner := range commands {
		s.command(inner, at)
	}
	if err != nil || len(s.found) == before && setuidWord.Match(src) {
		s.found = append(s.found, at)
	}
}

// hasScript reports whether a shell gets its text with -c, which the parser has
// taken apart already.
func hasScript(cmd *shell.Command) bool {
	_, ok := cmd.Flag("-c")
	return ok
}

// text looks for the words in a file that is not shell text.
func (s *setuidSearch) text(name, how string) {
	if s.Tree == nil || s.Tree.Kind(name) != devcontainer.File {
		return
	}
	if src, err := s.Tree.Read(name); err != nil || setuidWord.Match(src) {
		s.found = append(s.found, setuidUse{how: how})
	}
}

var (
	systemProgram = lazyregexp.New(`^/(usr/)?s?bin/[^/]+$`)
	// workspacePrefix is how scripts name the project's folder.
	workspacePrefix = lazyregexp.New(`^(\$\{containerWorkspaceFolder\}|\$\{?PWD\}?|\$\(pwd\)|/workspaces?/[^/]+|/workspaces?|\.)/`)
)

// projectScript finds the file of the project that a word of a command names:
// from the workspace, from the configuration's folder, or copied into the image
// under the same name.
func projectScript(c *rule.View, word string) (name string, ok bool) {
	if c.Tree == nil || word == "" || word[0] == '-' {
		return "", false
	}
	folder, _ := c.Root.Member("workspaceFolder").Str()
	inside, found := strings.CutPrefix(word, strings.TrimRight(folder, "/")+"/")
	if !found || folder == "" {
		inside = workspacePrefix.ReplaceAllString(word, "")
	}
	candidates := []string{path.Join(c.Home, inside), path.Join(c.Dir, inside)}
	if strings.Contains(word, "/") || strings.HasSuffix(word, ".sh") {
		base := path.Base(word)
		candidates = append(candidates, path.Join(c.Dir, base), path.Join(c.Context(), base), path.Join(c.Home, "scripts", base))
	}
	for _, candidate := range candidates {
		if !devcontainer.LeavesTree(candidate) && c.Tree.Kind(candidate) == devcontainer.File {
			return candidate, true
		}
	}
	return "", false
}

// privilegesStay reports whether no-new-privileges is on, by the configuration
// or by a Feature that can be read.
func privilegesStay(c *rule.View) bool {
	if noNewPrivileges(c) {
		return true
	}
	if _, ok := c.FirewallFeature(); ok {
		return !strings.Contains(string(c.Config.Src), "no-new-privileges") // which says that it is off
	}
	return slices.ContainsFunc(c.Of(rights.SecurityOpt), func(r rights.Right) bool {
		return r.Notation == rights.Feature && rights.IsLocal(r.From.Name) &&
			slices.Contains([]string{"no-new-privileges", "no-new-privileges:true", "no-new-privileges=true"}, r.Value)
	})
}

// setuidRefused reports commands that need a setuid program in a container that
// lets none work.
func setuidRefused(v *rule.View) (out []rule.Finding) {
	if !privilegesStay(v) {
		return
	}
	said := map[*jsonc.Node]bool{}
	for _, use := range setuidUses(v) {
		if !use.sure || use.root || said[use.node] {
			continue
		}
		said[use.node] = true
		message := fmt.Sprintf("%s runs %s, and no-new-privileges refuses that", use.how, use.program)
		if use.raises {
			message += ": the firewall is never raised, and the container goes on without one"
		}
		out = append(out, v.AtMissing(use.node, message, "do it as root in the Dockerfile or in the image's ENTRYPOINT; without the option, "+
			"setuid programs give the agent the container's capabilities"))
	}
	return out
}

// scopedSudo returns the commands that sudo runs for the agent, when the
// Dockerfile says so and leaves nothing else to sudo.
func scopedSudo(c *rule.View) (commands []string, ok bool) {
	base := ""
	if c.Build != nil && c.Build.Final != nil {
		base = c.Build.Final.Base().Image
	}
	if base == "" || rule.ForDevContainers.MatchString(base) || c.HasFeatures() {
		return nil, false
	}
	for _, i := range c.Build.History() {
		text := i.Source()
		if sudoGroup.MatchString(text) || i.Name != "RUN" && rule.SudoersPath.MatchString(text) {
			return nil, false
		}
		if !rule.SudoersPath.MatchString(text) {
			continue
		}
		rules := sudoersRule.FindAllStringSubmatch(text, -1)
		if len(rules) == 0 && strings.Contains(text, "NOPASSWD") {
			return nil, false
		}
		for _, rule := range rules {
			for command := range strings.SplitSeq(rule[1], ",") {
				command = strings.TrimSpace(command)
				if !strings.HasPrefix(command, "/") || strings.ContainsAny(command, "*$") {
					return nil, false
				}
				commands = append(commands, command)
			}
		}
	}
	return commands, len(commands) > 0
}

var (
	sudoersRule = lazyregexp.New(`NOPASSWD\s*:\s*([^\n"'>\\]+)`)
	sudoGroup   = lazyregexp.New(`\b(usermod|useradd|adduser|gpasswd)\b[^\n]*\b(sudo|wheel|admin)\b`)
)

// setuidOpen is the finding that the agent can use setuid programs. A firewall
// that a lifecycle command raises only works with one.
func setuidOpen(v *rule.View) rule.Finding {
	const why = "a setuid program gives the agent the container's capabilities, NET_ADMIN among them"
	message, severity := why, diag.SeverityError
	if commands, ok := scopedSudo(v); ok {
		severity = diag.SeverityWarning
		message = fmt.Sprintf("sudo runs only %s for the agent; a flaw in that, or in another setuid program, gives it NET_ADMIN",
			strings.Join(commands, ", "))
	} else if sudo.MatchString(v.DockerfileText()) {
		message = "sudo gives the agent the container's capabilities, NET_ADMIN among them"
	}
	uses := setuidUses(v)
	_, hooked := firewallHook(v)
	hint := `add "securityOpt": ["no-new-privileges"]`
	switch {
	case hooked:
		hint = "no-new-privileges alone would keep the hook from raising the firewall; " +
			"raise it in the image's ENTRYPOINT first, as sbx-devc init does"
	case len(uses) > 0 && uses[0].sure:
		hint = fmt.Sprintf(`%s needs %s; do that as root in the Dockerfile or the ENTRYPOINT, then add "securityOpt": ["no-new-privileges"]`,
			strings.TrimSuffix(uses[0].how, runsIt), uses[0].program)
	case len(uses) > 0:
		hint = fmt.Sprintf(`add "securityOpt": ["no-new-privileges"] if %s works without sudo`, strings.TrimSuffix(uses[0].how, runsIt))
	}
	f := v.AtMissing(v.Root.Member("securityOpt"), message, hint)
	f.Severity = severity
	switchedOff := strings.Contains(string(v.Config.Src), "no-new-privileges")
	if !switchedOff && !hooked && len(uses) == 0 {
		f.Edits = v.Listing("securityOpt", "no-new-privileges")
	}
	return f
}

// NewPrivileges advises an agent's container that is no sandbox of ours, whose
// own contract asks for it (SBX805).
func NewPrivileges(v *rule.View) []rule.Finding {
	if v.Root.Member("dockerComposeFile") != nil || noNewPrivileges(v) || v.Sandboxed() || !v.Agent() {
		return nil
	}
	hint := `add "securityOpt": ["no-new-privileges"]`
	if uses := setuidUses(v); len(uses) > 0 && uses[0].sure {
		hint = fmt.Sprintf("%s needs %s; do that in the Dockerfile, then %s", strings.TrimSuffix(uses[0].how, runsIt), uses[0].program, hint)
	}
	const message = "an agent runs here, and nothing keeps setuid programs from making it root"
	return []rule.Finding{v.AtMissing(v.Root.Member("securityOpt"), message, hint)}
}
