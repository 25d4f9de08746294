package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// unreplaced matches a word with a variable that only a shell would replace.
var unreplaced = lazyregexp.New(`^([\w./:=-]*)\$(\{[A-Za-z_]\w*\}|[A-Za-z_]\w*)`)

// variableInArray reports, without its place, a variable in an array, which no shell reads. A program that is a shell, or one that
// replaces variables itself, gets it as it should.
func variableInArray(i *dockerfile.Instruction, words []string) rule.Finding {
	if !slices.ContainsFunc(words, func(w string) bool { return strings.IndexByte(w, '$') >= 0 }) ||
		slices.ContainsFunc(words, runsText.MatchString) {
		return rule.Finding{}
	}
	if entry := i.Stage.Last("ENTRYPOINT"); entry != nil && i.Name == "CMD" {
		c, _ := entry.Command.(*instructions.EntrypointCommand)
		if c == nil || len(c.CmdLine) == 0 || c.PrependShell || slices.ContainsFunc(c.CmdLine, runsText.MatchString) ||
			strings.HasSuffix(c.CmdLine[0], ".sh") {
			return rule.Finding{}
		}
	}
	for n, word := range words {
		m := unreplaced.FindStringSubmatch(word)
		if m == nil {
			continue
		}
		f := rule.Finding{Message: fmt.Sprintf("the program gets %q as it is written: no shell reads an array", word),
			Hint: fmt.Sprintf(`write %s without the brackets, or ["sh", "-c", "exec …"]`, i.Name)}
		if n == 0 {
			f.Message = fmt.Sprintf("this starts a program called %q: no shell reads an array", word)
		}
		return f
	}
	return rule.Finding{}
}

// runsText matches words by which a program takes the text of a program, or replaces variables itself.
var runsText = lazyregexp.New(`^-[a-z]*[ceEr]$|^(/usr)?(/bin/)?(eval|envsubst|awk|sed|perl|jq|cmd|powershell|pwsh)(\.exe)?$|` +
	`^--eval|^/[CcSs]$`)

// emptyParameters reports $@ and $1 where the shell of a step, or the builder itself, replaces them while a file is written: there
// they have no value.
func emptyParameters(v *rule.View) (out []rule.Finding) {
	for _, i := range v.Build.Instructions() {
		if !strings.Contains(i.Source(), "$") {
			continue
		}
		if c, ok := i.Command.(*instructions.CopyCommand); ok {
			for n, held := range c.SourceContents {
				if !held.Expand || n >= len(i.Documents) {
					continue
				}
				d := i.Documents[n]
				if m := parameter.FindStringIndex(d.Text); m != nil {
					at := d.Start + m[0] + strings.Index(d.Text[m[0]:m[1]], "$")
					out = append(out, v.AtDockerfile(at, d.Start+m[1],
						fmt.Sprintf("the builder replaces %s by nothing while it writes the file", d.Text[at-d.Start:m[1]]),
						"put the first word of the here-document into quotes: <<'EOF'"))
				}
			}
			continue
		}
		if i.Name != "RUN" || len(i.Documents) > 0 || i.Unread {
			continue
		}
		for _, cmd := range i.Commands {
			if !cmd.Is("echo", "printf") || len(cmd.Files) == 0 || cmd.Wrapped != "" {
				continue
			}
			for _, w := range cmd.Args() {
				if w.Literal || w.Start < i.Start || w.End > i.End {
					continue
				}
				raw := i.Source()[w.Start-i.Start : w.End-i.Start]
				m := parameter.FindStringIndex(raw)
				if m == nil || raw[0] == '\'' || strings.HasPrefix(raw, "$'") {
					continue
				}
				at := w.Start + m[0] + strings.Index(raw[m[0]:m[1]], "$")
				out = append(out, v.AtDockerfile(at, w.Start+m[1], fmt.Sprintf("this shell replaces %s by nothing while it writes the file",
					raw[at-w.Start:m[1]]), `write a backslash in front: \$@; or put the text into single quotes`))
				break
			}
		}
	}
	return out
}

// parameter matches $@, $* and $1 without a backslash in front.
var parameter = lazyregexp.New(`(^|[^\\$'])\$(@|\*|[1-9]\b|\{[@*1-9]\})`)

// unheardFailures reports here-documents whose commands go on when one fails, where that is an installation: only the last one counts.
func unheardFailures(v *rule.View) (out []rule.Finding) {
	for _, i := range v.Build.Instructions() {
		c, ok := i.Command.(*instructions.RunCommand)
		if !ok || len(i.Documents) != 1 || len(i.Commands) < 2 || !wholeStep.MatchString(i.Source()) {
			continue
		}
		text := i.Documents[0].Text
		strict := slices.ContainsFunc(i.Shell, func(w string) bool { return strings.HasPrefix(w, "-") && strings.Contains(w, "e") })
		if strict || i.Unread || !c.PrependShell || strings.HasPrefix(text, "#!") || setsErrexit.MatchString(text) {
			continue
		}
		last := i.Commands[len(i.Commands)-1]
		for _, cmd := range i.Commands {
			_, installs := installed(cmd)
			counts := installs || aptUpdate(cmd) || cmd.Is("pip", "pip3", "npm", "yarn", "pnpm", "git", "curl", "wget", "make", "cmake", "go",
				"cargo", "tar", "unzip", "useradd", "groupadd")
			own := cmd.Wrapped == "" || cmd.Wrapped == "sudo"
			if cmd == last || !counts || !own || cmd.OnFailure != shell.Unheard {
				continue
			}
			out = append(out, v.AtCommand(cmd, fmt.Sprintf("when %s fails, the step goes on: a here-document ends as its last command does",
				cmd.Name()), "begin it with set -e"))
			return out // the others of the file are as this one
		}
	}
	return out
}

var (
	// wholeStep matches a RUN that is a here-document for the shell alone.
	wholeStep = lazyregexp.New(`(?i)^RUN\s+(--\S+\s+)*<<-?\s*["']?\w+["']?\s*\n`)
	// setsErrexit matches the option among others: set -euxo pipefail.
	setsErrexit = lazyregexp.New(`(?m)^\s*set\s+-\w*e|errexit`)
)

// endsItself matches command lines of servers that do something else and end.
var endsItself = lazyregexp.New(`--(version|help|generate|init|check|config-test)|\s-[dtvV]\b|\b(labextension|nbextension|build|` +
	`extension|path|clean|enable|disable|install|uninstall|list|kernelspec|contrib|serverextension|password|timeout)\b`)

// serverImages matches images whose docker-entrypoint.sh starts a server.
var serverImages = lazyregexp.New(`^(postgres|mysql|mariadb|mongo|redis)(:|$)`)

// endlessStep is about programs that a build waits for.
func endlessStep(c *atStep) refusal {
	line := joinedWords(c.Command)
	behind := strings.TrimLeft(c.step.Source()[min(max(c.End-c.step.Start, 0), len(c.step.Source())):], " \t")
	background := strings.HasPrefix(behind, "&") && !strings.HasPrefix(behind, "&&") || strings.Contains(c.step.Source(), "timeout ")
	starts := c.Is("npm", "yarn", "pnpm") && slices.Contains([]string{"start", "run start", "run dev", "dev", "run serve"},
		strings.TrimPrefix(line, c.Name()+" "))
	entry := c.Is("docker-entrypoint.sh") && serverImages.MatchString(c.name) && len(c.Args()) > 0
	endless := starts || entry || servers.MatchString(line)
	if background || !endless || endsItself.MatchString(line) {
		return refusal{}
	}
	return refusal{message: fmt.Sprintf("%s does not end, and the build waits for it", line), warn: true,
		hint: "start it in the container: in postStartCommand, or as CMD"}
}

// hiddenByMount reports what a step installs in the folder over which the workspace is mounted.
func hiddenByMount(v *rule.View) (out []rule.Finding) {
	if v.Bare || v.Build == nil || v.Build.Final == nil || v.Root == nil {
		return nil
	}
	targets := map[string]bool{}
	if mount := v.Root.Member("workspaceMount"); mount != nil && !v.ByCompose() {
		targets[path.Clean(rights.ParseMount(mount.TextOr("")).Target)] = true
	}
	all := slices.Concat(v.Mounts(), v.ServiceMounts())
	for _, r := range v.ServiceMounts() {
		if r.Mount.Type == "bind" {
			targets[path.Clean(r.Mount.Target)] = true
		}
	}
	if len(targets) == 0 {
		return nil
	}
	text := v.DockerfileText()
	folder, kept := "/", map[[3]string]bool{}
	for _, i := range v.Build.Final.History() {
		folder = workdirAfter(folder, i)
		if i.Name != "RUN" || !targets[folder] || folder == "/" {
			continue
		}
		for _, cmd := range i.Commands {
			made := madeHere(cmd)
			what := [3]string{folder, made, cmd.Name()}
			if made == "" || cmd.Folder != "." || cmd.OnFailure == shell.Open || kept[what] {
				continue
			}
			kept[what] = saidAgain(v, cmd.Name()) || slices.ContainsFunc(all, func(r rights.Right) bool {
				return within(path.Clean(r.Mount.Target), path.Join(folder, made))
			})
			named := rule.Once(v, "times that the Dockerfile names "+made, func(*rule.View) int { return strings.Count(text, made) })
			if kept[what] || named > strings.Count(i.Source(), made) {
				continue
			}
			return []rule.Finding{v.AtCommand(cmd, fmt.Sprintf("the workspace is mounted over %s, and hides the %s that this step makes there",
				folder, made), fmt.Sprintf("do it in postCreateCommand, or mount a volume at %s", path.Join(folder, made)))}
		}
	}
	return nil
}

// madeHere is the folder that an installation makes where it runs, "" for none.
func madeHere(cmd *shell.Command) string {
	words := cmd.Operands()
	verb := ""
	if len(words) > 0 {
		verb = words[0].Text
	}
	elsewhere := hasFlag(cmd, inAnother...) || hasFlag(cmd, "-g", "--global")
	switch {
	case elsewhere:
	case cmd.Is("npm", "pnpm", "yarn") && len(words) < 2 && slices.Contains([]string{"ci", "install", "i"}, verb),
		cmd.Is("yarn") && verb == "":
		return "node_modules"
	case cmd.Is("composer") && verb == "install":
		return "vendor"
	case cmd.Is("uv") && verb == "sync":
		return ".venv"
	case cmd.Is("mix") && verb == "deps.get":
		return "deps"
	}
	return ""
}

// saidAgain reports whether a hook, or what the container starts with, may do the same once more.
func saidAgain(v *rule.View, program string) (again bool) {
	eachHookText(v, func(_ string, n *jsonc.Node) {
		for _, w := range append(rights.Texts(n), n) {
			again = again || strings.Contains(w.Text, program) || strings.Contains(w.Text, ".sh") || strings.Contains(w.Text, "make ")
		}
	})
	for _, r := range v.Of(rights.Command, rights.Entrypoint) {
		line := strings.Join(r.Words, " ")
		again = again || !r.Next && (strings.Contains(line, program) || strings.Contains(line, ".sh"))
	}
	return again || v.Build.Final.Env["UV_PROJECT_ENVIRONMENT"] != "" || v.Build.Final.Env["NODE_PATH"] != ""
}

// sudoAsks reports sudo of a user who has no password, where nothing lets the user do without one.
func sudoAsks(v *rule.View) (out []rule.Finding) {
	for _, s := range neededStages(v) {
		image, _ := baseimage.Of(s.Base().Image)
		if !image.Official() || image.Family == "" || !s.Base().Known {
			continue
		}
		for _, i := range s.Instructions {
			if i.Name != "RUN" || i.User == "" || rule.IsRoot(i.User) || strings.Contains(i.User, "$") || i.Unread {
				continue
			}
			at := slices.IndexFunc(i.Commands, func(cmd *shell.Command) bool {
				_, ok := sudoWord(i, cmd)
				return ok && cmd.OnFailure == shell.Ends && !hasFlag(cmd, "-n")
			})
			if at < 0 {
				continue
			}
			if !slices.ContainsFunc(s.History(), bringsSudo) || slices.ContainsFunc(s.History(), mayLetSudo) {
				break // of the stage, so that it holds for the other steps
			}
			f := v.AtWord(i.Commands[at].Words[0], fmt.Sprintf("sudo asks %s for a password, and nobody answers", i.User),
				fmt.Sprintf("write USER root above, or let the user: echo '%s ALL=(ALL) NOPASSWD:ALL' > /etc/sudoers.d/%[1]s", i.User))
			if !image.Asked() {
				f.Severity = diag.SeverityWarning
			}
			out = append(out, f)
			break
		}
	}
	return out
}

func bringsSudo(i *dockerfile.Instruction) bool {
	return slices.ContainsFunc(i.Commands, func(cmd *shell.Command) bool {
		packages, installs := installed(cmd)
		return installs && slices.ContainsFunc(packages, func(w shell.Word) bool { return w.Text == "sudo" })
	})
}

// mayLetSudo reports whether a step may let somebody use sudo without a password, or give one a password.
func mayLetSudo(i *dockerfile.Instruction) bool {
	src := i.Source()
	for _, text := range []string{"NOPASSWD", "sudoers", "chpasswd", "passwd", "visudo", "pam.d", "--from", "--mount"} {
		if strings.Contains(src, text) {
			return true
		}
	}
	return i.Unread || i.Name == "ADD" || i.Name == "COPY" && strings.Contains(src, "/etc") ||
		slices.ContainsFunc(i.Commands, func(cmd *shell.Command) bool {
			return i.Name == "RUN" && (strings.Contains(cmd.Words[0].Text, "/") || cmd.Is(shell.Shells...))
		})
}
