package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// hookPart looks at one command of a hook; the message of its finding is "" when nothing is wrong.
type hookPart func(h *hookReading, cmd *shell.Command) rule.Finding

// hookReading is what is known while the commands of the hooks are read one by one.
type hookReading struct {
	v        *rule.View
	property string
	node     *jsonc.Node
	user     string // of the sessions; "" = not known
	image    baseimage.Image
	asItIs   bool // the container is the image, and nothing besides
	lists    bool // apt may know packages
	pip      bool // the system's pip was installed
	env      bool // an environment of Python may be there
	homemade map[string]string
}

// hookMeanings reports commands of hooks that mean something else than their author thought: one finding for each command.
func hookMeanings(v *rule.View, parts ...hookPart) (out []rule.Finding) {
	if v.Kind() != devcontainer.ConfigFile {
		return nil
	}
	var h *hookReading
	eachHookText(v, func(property string, n *jsonc.Node) {
		if h == nil { // most files have no hooks
			h = &hookReading{v: v, asItIs: asItIs(v), homemade: map[string]string{}, user: hookUser(v)}
			h.image, _ = baseimage.Of(v.BaseImage())
		}
		h.property, h.node = property, n
		clear(h.homemade)
		said := false
		v.EachCommand(n, func(_ *jsonc.Node, cmd *shell.Command) {
			for _, part := range parts {
				f := part(h, cmd)
				if f.Message == "" || said || cmd.OnFailure == shell.Open {
					continue
				}
				said = !v.IsScript(n)
				if cmd.OnFailure == shell.Unheard {
					f.Severity = diag.SeverityWarning
				}
				out = append(out, at(v, n, f))
			}
		})
	})
	return out
}

// hookUser is the user who runs the hooks inside; "" when that is not known.
func hookUser(v *rule.View) string { return rule.Once(v, "user of the hooks", findHookUser) }

func findHookUser(v *rule.View) string {
	user, known := v.SessionUser()
	image, ok := baseimage.Of(v.BaseImage())
	unnamed := v.NamedUser() == nil && len(v.Of(rights.User, rights.Session)) == 0
	if ok && unnamed && image.Session != "" {
		return image.Session
	}
	if !known {
		return ""
	}
	return user
}

func (h *hookReading) inside() bool { return h.property != "initializeCommand" }

// restLost reports bash -c with its script in several words: the shell runs the first one alone.
func restLost(h *hookReading, cmd *shell.Command) rule.Finding {
	args := cmd.Args()
	at := slices.IndexFunc(args, func(w shell.Word) bool {
		return w.Text == "-c" || w.Text == "-lc" || w.Text == "-ic" || w.Text == "-ec"
	})
	if !cmd.Is(shell.Shells...) || at < 0 || len(args) < at+3 {
		return rule.Finding{}
	}
	script, next := args[at+1], args[at+2]
	bare := script.Literal && !strings.ContainsAny(script.Text, " $;&|\n") && next.Text != "--"
	if !bare || strings.HasPrefix(next.Text, cmd.Name()) {
		return rule.Finding{}
	}
	return rule.Finding{Severity: diag.SeverityWarning,
		Message: fmt.Sprintf("%s -c runs only %s: the words behind it are no part of the command", cmd.Name(), script.Text),
		Hint:    fmt.Sprintf("put the whole command into quotes: %s -c '%s %s …'", cmd.Name(), script.Text, next.Text)}
}

// ofTheSystem matches files that root alone may write.
var ofTheSystem = lazyregexp.New(`^/(etc|usr/(local/)?(s?bin|lib)|s?bin|lib|root)/`)

// writtenByUser reports files of the system that somebody else than root writes: a redirection is not sudo's.
func writtenByUser(h *hookReading, cmd *shell.Command) rule.Finding {
	if h.user == "" || rule.IsRoot(h.user) || !h.inside() || len(cmd.Files) == 0 {
		return rule.Finding{}
	}
	file := cmd.Files[len(cmd.Files)-1].Text
	asRoot := cmd.Wrapped == "sh" || cmd.Wrapped == "bash" || cmd.User != "" && cmd.Wrapped != "sudo"
	if !ofTheSystem.MatchString(file) || asRoot {
		return rule.Finding{}
	}
	f := rule.Finding{Message: fmt.Sprintf("%s opens %s, which is root's: sudo is not about > and >>", h.user, file),
		Hint: fmt.Sprintf("write … | sudo tee %s > /dev/null", file)}
	if !h.asItIs { // something may give it away
		f.Severity = diag.SeverityWarning
	}
	return f
}

// noLists reports packages that apt does not know yet: the image's lists are empty.
func noLists(h *hookReading, cmd *shell.Command) rule.Finding {
	packages, installs := aptInstall(cmd)
	emptied := h.image.Family == baseimage.Debian && h.asItIs && (h.image.Official() || h.image.ForDevContainers())
	byName := installs && len(packages) > 0 &&
		!slices.ContainsFunc(packages, func(w shell.Word) bool { return strings.ContainsAny(w.Text, "/$") })
	missing := byName && emptied && !h.lists && h.inside()
	if aptUpdate(cmd) || cmd.Is(shell.Shells...) || strings.Contains(cmd.Words[0].Text, "/") || cmd.Is("source", ".", "make") {
		h.lists = true
	}
	if !missing || cmd.Words[0].Text == "sudo" {
		return rule.Finding{}
	}
	h.lists = true // it is said
	f := rule.Finding{Message: "the image has no package lists yet, so the packages are not found", Hint: "put apt-get update && in front"}
	if h.image.Official() && h.image.Asked() {
		f.Severity = diag.SeverityError
	}
	return f
}

// managedPip reports the system's pip, which installs nothing into the system.
func managedPip(h *hookReading, cmd *shell.Command) rule.Finding {
	packages, installs := aptInstall(cmd)
	for _, w := range packages {
		h.pip = h.pip || installs && (w.Text == "python3-pip" || w.Text == "python3-full")
	}
	line := joinedWords(cmd)
	h.env = h.env || strings.Contains(line, "venv") || strings.Contains(line, "activate") || strings.Contains(line, "EXTERNALLY") ||
		strings.Contains(strings.ToLower(strings.ReplaceAll(h.node.Text, "_", "-")), "break-system-packages")
	managed := h.image.Managed() && h.image.Lacks("pip3") && h.asItIs && h.inside()
	if !managed || !h.pip || h.env || !pipInstalls(cmd) {
		return rule.Finding{}
	}
	h.env = true
	f := rule.Finding{Message: fmt.Sprintf("pip of %s installs nothing into the system (externally-managed-environment)", h.v.BaseImage()),
		Hint: "make an environment: python3 -m venv .venv && .venv/bin/pip install …; or add --break-system-packages"}
	if !h.image.Asked() {
		f.Severity = diag.SeverityWarning
	}
	return f
}

// noSystemd reports systemctl where the tool starts a shell as the container's first process.
func noSystemd(h *hookReading, cmd *shell.Command) rule.Finding {
	words := cmd.Operands()
	asks := cmd.Is("systemctl") && len(words) > 0 && slices.Contains([]string{"start", "restart", "enable", "reload"}, words[0].Text)
	starts := slices.ContainsFunc(h.v.RunArgs, func(a rights.Arg) bool { return a.Flag == "systemd" || a.Flag == "entrypoint" })
	own := h.v.Root.Member("overrideCommand").Is(false) || h.v.ByCompose()
	if !asks || starts || own || !h.inside() {
		return rule.Finding{}
	}
	return rule.Finding{Severity: diag.SeverityWarning, Message: "no systemd runs in the container, so systemctl fails",
		Hint: "start the program itself, or with: sudo service NAME start"}
}

// onTheHost reports package managers of a container's system in initializeCommand.
func onTheHost(h *hookReading, cmd *shell.Command) rule.Finding {
	_, installs := installed(cmd)
	if h.inside() || !installs && !aptUpdate(cmd) || cmd.Words[0].Text == "sudo" {
		return rule.Finding{}
	}
	return rule.Finding{Severity: diag.SeverityWarning,
		Message: fmt.Sprintf("initializeCommand runs on the host: %s installs nothing in the container", cmd.Name()),
		Hint:    "do it in onCreateCommand or in a Dockerfile"}
}

// notYetInPath reports a program that the same hook has put into the home, where this shell does not look.
func notYetInPath(h *hookReading, cmd *shell.Command) rule.Finding {
	if h.node.Kind != jsonc.String || !h.inside() {
		return rule.Finding{}
	}
	if cmd.Is(shell.Downloaders...) {
		line := joinedWords(cmd)
		for _, of := range installers {
			inPath := of.folder == ".local/bin" && !h.image.Official() // Microsoft's images have it there
			if !strings.Contains(line, of.address) || inPath || path.IsAbs(of.folder) {
				continue
			}
			for program := range strings.FieldsSeq(of.programs) {
				h.homemade[program] = "$HOME/" + of.folder
			}
		}
	}
	folder := h.homemade[cmd.Words[0].Text]
	text := h.node.Text
	found := strings.Contains(text, "PATH") || strings.Contains(text, "source ") || strings.Contains(text, ". ") || setsPath(h.v)
	if folder == "" || found || !h.image.Lacks(cmd.Words[0].Text) {
		return rule.Finding{}
	}
	return rule.Finding{Severity: diag.SeverityWarning,
		Message: fmt.Sprintf("%s is in %s now, where this shell does not look for programs", cmd.Words[0].Text, folder),
		Hint:    fmt.Sprintf(`put export PATH="%s:$PATH" && in front`, folder)}
}

// otherSide reports a folder of the project as the other side calls it: the host's inside, or the container's on the host.
func otherSide(h *hookReading, cmd *shell.Command) rule.Finding {
	const host, container = "${localWorkspaceFolder}", "${containerWorkspaceFolder}"
	side, instead, where := host, container, "the container"
	if !h.inside() {
		side, instead, where = container, host, "the host"
	}
	if !strings.Contains(h.node.Text, side) || cmd.Is("docker", "podman", "echo", "printf", "export", "git", "sed") {
		return rule.Finding{}
	}
	same := strings.Contains(h.v.Root.Member("workspaceFolder").TextOr(""), host) ||
		slices.ContainsFunc(h.v.Mounts(), func(r rights.Right) bool { return strings.Contains(r.Mount.Target, host) })
	begins := slices.ContainsFunc(cmd.Words, func(w shell.Word) bool { return strings.HasPrefix(w.Text, side) })
	if same || !begins || h.v.ByCompose() {
		return rule.Finding{}
	}
	return rule.Finding{Severity: diag.SeverityWarning, Hint: "write " + instead,
		Message: fmt.Sprintf("%s has no folder %s: the project has another path there", where, side)}
}

// notMountedThere reports a folder for the project that a container of an image alone does not have.
func notMountedThere(h *hookReading, cmd *shell.Command) rule.Finding {
	elsewhere := h.v.Root.Member("workspaceFolder") != nil || h.v.Root.Member("workspaceMount") != nil
	if !h.asItIs || elsewhere || !h.inside() || !strings.Contains(h.node.Text, "/workspace") {
		return rule.Finding{}
	}
	asked := cmd.Is("cd", "source", ".") || cmd.Is(shell.Shells...) || strings.Contains(cmd.Words[0].Text, "/")
	for _, w := range cmd.Words {
		if asked && (w.Text == "/workspace" || strings.HasPrefix(w.Text, "/workspace/")) {
			return rule.Finding{Message: "the container has no /workspace: the project is mounted at /workspaces/NAME",
				Hint: "leave the path out, since hooks start there; or write ${containerWorkspaceFolder}"}
		}
	}
	return rule.Finding{}
}

// exportedLast reports a hook that ends with export: nothing gets the variable.
func exportedLast(h *hookReading, cmd *shell.Command) rule.Finding {
	last := h.node.Kind == jsonc.String && cmd.End >= len(strings.TrimRight(h.node.Text, "; \n"))
	if !last || cmd.Words[0].Text != "export" || len(cmd.Assigns) == 0 || cmd.Start == 0 {
		return rule.Finding{}
	}
	return rule.Finding{Severity: diag.SeverityWarning,
		Message: fmt.Sprintf("each hook has a shell of its own, and %s is gone when it ends", cmd.Assigns[0].Name),
		Hint:    fmt.Sprintf("set %s in remoteEnv, for terminals and all hooks", cmd.Assigns[0].Name)}
}

// makers bring what the users of the same line need.
var makers, users = lazyregexp.New(`^(npm (install|ci|i)|yarn( install)?|pnpm (install|i)|bun install|pip3? install -r|poetry install|` +
	`bundle install|composer install|uv sync)( |$)`),
	lazyregexp.New(`^(npm (run|test|start)|npx |yarn (run|build|test|dev)|pnpm (run|build|test|exec)|bun run|python3? manage\.py|poetry run|` +
		`bundle exec|php artisan|uv run|pytest|bin/rails)`)

// runTogether reports commands of an object of which one needs what another one installs: they run at the same time.
func runTogether(v *rule.View) (out []rule.Finding) {
	for _, name := range lifecycle {
		n := v.Root.Member(name)
		var made string
		for _, m := range n.Fields() {
			if text := m.Value.TextOr(""); makers.MatchString(text) {
				made, _, _ = strings.Cut(text, " ")
			}
		}
		for _, m := range n.Fields() {
			text := m.Value.TextOr("")
			if made == "" || !users.MatchString(text) || !sameTools(made, text) {
				continue
			}
			out = append(out, v.AtName(m, "the commands of an object run at the same time: what this one needs is not installed yet",
				"write them as one text with &&, or put one into an earlier hook"))
		}
	}
	return out
}

// sameTools reports whether a command uses what a package manager installs.
func sameTools(manager, command string) bool {
	node := []string{"npm", "npx", "yarn", "pnpm", "bun"}
	first, _, _ := strings.Cut(command, " ")
	switch manager {
	case "npm", "yarn", "pnpm", "bun":
		return slices.Contains(node, first)
	case "bundle":
		return first == "bundle" || first == "bin/rails"
	case "composer":
		return first == "php"
	}
	return strings.HasPrefix(path.Base(first), "py") || first == "poetry" || first == "uv"
}
