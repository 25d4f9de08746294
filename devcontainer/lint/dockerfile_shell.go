package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// environmentFile are scripts that are read for the variables they set.
var environmentFile = lazyregexp.New(`(rc|profile|activate|environment|/env|env\.sh|setvars\.sh|nvm\.sh)$`)

// lostEffects reports a RUN that ends with what ends with it: the folder, the variables
// and the services of its shell.
func lostEffects(v *rule.View) (out []rule.Finding) {
	for _, i := range v.Build.Instructions() {
		c, ok := i.Command.(*instructions.RunCommand)
		if !ok || !c.PrependShell || i.Unread || len(i.Commands) == 0 {
			continue
		}
		at := slices.IndexFunc(i.Commands, func(c *shell.Command) bool { return c.Wrapped == "" && c.End >= end(i) })
		if at < 0 {
			continue // something closes a group around the last one
		}
		last := i.Commands[at]
		if lost, instead := lostBy(last); lost != "" {
			out = append(out, v.AtDockerfile(last.Start, last.End, lost, instead))
		}
	}
	return slices.Concat(out, emptyParameters(v), unheardFailures(v), hiddenByMount(v), hooksWithoutEffect(v),
		hookMeanings(v, exportedLast, onTheHost))
}

// hooksWithoutEffect reports hooks that only change their shell, which ends with them: its folder, its variables and its names.
func hooksWithoutEffect(v *rule.View) (out []rule.Finding) {
	eachHookText(v, func(_ string, n *jsonc.Node) {
		if n.Kind != jsonc.String {
			return
		}
		message, hint := "", ""
		for _, cmd := range v.CommandsOf(n, n.Text) {
			if asks := len(cmd.Files) == 0 && cmd.OnFailure == shell.Unheard && isPrinter(cmd.Words[0].Text); asks { // in $(…)
				continue
			}
			if message, hint = lostByHook(cmd, strings.TrimSpace(n.Text)); message == "" {
				return // it does something
			}
		}
		if message != "" {
			out = append(out, v.AtValue(n, message, hint))
		}
	})
	return out
}

// lostByHook says what is gone at the end of a hook that is only this command; "" when it may do more.
func lostByHook(cmd *shell.Command, text string) (lost, instead string) {
	infront := fmt.Sprintf("write it in front of the command that needs it: %s && …", text)
	switch name := cmd.Words[0].Text; {
	case cmd.Wrapped != "" || len(cmd.Files) > 0 || cmd.Input != "":
	case (name == "cd" || name == "pushd") && len(cmd.Words) == 2:
		return "each hook has a shell of its own, and the next one starts in the workspace's folder again", infront
	case name == "export" && len(cmd.Assigns) > 0 && len(cmd.Words) == 1:
		return fmt.Sprintf("each hook has a shell of its own, and %s is gone when it ends", cmd.Assigns[0].Name),
			fmt.Sprintf("set %s in remoteEnv, for terminals and all hooks", cmd.Assigns[0].Name)
	case name == "nvm" && len(cmd.Words) > 1 && cmd.Words[1].Text == "use":
		return "each hook has a shell of its own, and the next one has the version that was there before",
			"write nvm alias default VERSION, which every new shell takes"
	case (name == "source" || name == ".") && len(cmd.Words) == 2 && strings.HasSuffix(cmd.Words[1].Text, "/nvm.sh"):
		return "each hook has a shell of its own, and no other one has the nvm that this reads", infront
	case name == "alias" && len(cmd.Words) > 1:
		return "each hook has a shell of its own, and the alias is gone when it ends", "write it into ~/.bashrc"
	case (name == "source" || name == ".") && len(cmd.Words) == 2 && strings.HasSuffix(cmd.Words[1].Text, "/bin/activate"):
		return "each hook has a shell of its own, and no other one has the environment that this activates", infront
	}
	return "", ""
}

// end returns the offset behind an instruction's last byte that is no white space or ;.
func end(i *dockerfile.Instruction) int {
	return i.Start + len(strings.TrimRight(i.Source(), "; \t\r\n"))
}

// lostBy says what is gone at the end of a step that ends with the command; "" when nothing is.
func lostBy(cmd *shell.Command) (lost, instead string) {
	operands := cmd.Operands()
	switch cmd.Words[0].Text {
	case "cd", "pushd":
		if len(operands) == 1 && strings.Trim(operands[0].Text, "./-") != "" { // and not back
			return "the next step starts in WORKDIR again, not here", "write WORKDIR " + operands[0].Text
		}
	case "su":
		if len(operands) == 1 && len(cmd.Args()) == 1 && cmd.Input == "" && len(cmd.From) == 0 {
			return "su starts a shell that ends at once, and the next step runs as before", "write USER " + operands[0].Text
		}
	case "export":
		if len(cmd.Assigns) > 0 && len(cmd.Words) == 1 {
			return fmt.Sprintf("%s is gone when this step ends", cmd.Assigns[0].Name), fmt.Sprintf("write ENV %s=…", cmd.Assigns[0].Name)
		}
	case "alias":
		if len(operands) > 0 {
			return "the alias is gone when this step ends", "write it into the shell's start file, such as /etc/bash.bashrc"
		}
	case "source", ".":
		if len(operands) == 1 && environmentFile.MatchString(operands[0].Text) {
			return fmt.Sprintf("the variables that %s sets are gone when this step ends", operands[0].Text),
				"do it in the step that needs it, or write ENV"
		}
	case "systemctl":
		if len(operands) == 2 && slices.Contains([]string{"start", "restart"}, operands[0].Text) {
			return "no systemd runs while an image is built", "start it in postStartCommand by its own program, or in the image's entrypoint"
		}
	case "service":
		if len(operands) == 2 && slices.Contains([]string{"start", "restart"}, operands[1].Text) {
			return fmt.Sprintf("the service %s ends with this step", operands[0].Text), "start it in postStartCommand, or in the image's entrypoint"
		}
	}
	return "", ""
}

// missingSudo reports sudo in an image that has none.
func missingSudo(v *rule.View) (out []rule.Finding) {
	brings := map[*dockerfile.Stage]bool{}
	for _, s := range neededStages(v) {
		brings[s] = brings[s.Parent] || mayBringSudo(s)
		base := s.Base()
		image, _ := baseimage.Of(base.Image)
		lacks, sure := image.LacksSudo()
		if !lacks || !base.Known || brings[s] {
			continue
		}
		for _, i := range s.Instructions {
			for _, cmd := range i.Commands {
				// With || and ; the step goes on.
				if w, ok := sudoWord(i, cmd); i.Name == "RUN" && ok && !strings.Contains(i.Source(), "||") && !strings.Contains(i.Source(), ";") {
					f := v.AtDockerfile(w, w+len("sudo"), fmt.Sprintf("%s has no sudo, and no step installs it", base.Image),
						"leave it out, and write USER root above where that is needed")
					if !sure {
						f.Severity = diag.SeverityWarning
					}
					out = append(out, f)
				}
			}
		}
	}
	return slices.Concat(out, sudoAsks(v), hookMissingSudo(v))
}

var sudoNamed = lazyregexp.New(`\bsudo(ers)?\b`)

// mayBringSudo reports whether some step of the stage may install sudo, or does something
// that is not known: a step that names it otherwise than as the program that it runs, a
// script of the project, files from elsewhere.
func mayBringSudo(s *dockerfile.Stage) bool {
	for _, i := range s.Instructions {
		copied, _ := i.Command.(*instructions.CopyCommand)
		switch {
		case i.Name == "ADD" || copied != nil && copied.From != "":
			return true
		case i.Name != "RUN" && !sudoNamed.MatchString(i.Source()):
			continue
		case i.Name != "RUN" || i.Unread || len(i.Documents) > 0:
			return true
		}
		runs := 0
		for _, cmd := range i.Commands {
			if _, ok := sudoWord(i, cmd); ok {
				runs++
			}
			if strings.Contains(cmd.Words[0].Text, "/") || cmd.Is(shell.Shells...) || cmd.Is("xargs", "python3", "python", "curl", "wget", "make") {
				return true
			}
		}
		if len(sudoNamed.FindAllString(i.Source(), -1)) > runs {
			return true
		}
	}
	return false
}

// sudoWord returns the offset of the sudo that runs a command.
func sudoWord(i *dockerfile.Instruction, cmd *shell.Command) (int, bool) {
	from := cmd.Words[0].Start
	if cmd.Words[0].Text != "sudo" || from < i.Start || !strings.HasPrefix(i.Source()[min(from-i.Start, len(i.Source())):], "sudo") {
		return 0, false
	}
	return from, true
}

// taking are programs that end well when they get nothing. SBX705 is about shells.
var taking = []string{"tee", "cat", "sed", "awk", "sort", "head", "tail", "dd", "xargs"}

// unseenFailures notes a pipe from the network into a program that is content with nothing:
// without pipefail the step succeeds when the download fails.
func unseenFailures(v *rule.View) (out []rule.Finding) {
	for _, s := range neededStages(v) {
		for _, i := range s.Instructions {
			c, ok := i.Command.(*instructions.RunCommand)
			if !ok || !c.PrependShell || strings.Contains(i.Source(), "pipefail") ||
				slices.ContainsFunc(i.Shell, func(w string) bool { return strings.Contains(w, "pipefail") }) {
				continue
			}
			for _, cmd := range i.Commands {
				if !cmd.Is(taking...) || cmd.Wrapped != "" && cmd.Wrapped != "sudo" {
					continue
				}
				for _, from := range cmd.From {
					if from.Is(shell.Downloaders...) {
						out = append(out, v.AtCommand(from,
							fmt.Sprintf("when %s fails, %s succeeds with nothing, and so does the step", from.Name(), cmd.Name()),
							`write SHELL ["/bin/bash", "-o", "pipefail", "-c"] above, or save the file first`))
						break
					}
				}
			}
		}
	}
	return out
}

// sparseLogs reports a user with a number so high that the log of logins, which has a
// place for each number, makes the layer gigabytes large.
func sparseLogs(v *rule.View) (out []rule.Finding) {
	each(v.Build.Instructions(), func(_ *dockerfile.Instruction, cmd *shell.Command) {
		if !cmd.Is("useradd") {
			return
		}
		w, ok := cmd.Value("-u", "--uid")
		if n, err := strconv.Atoi(w.Text); !ok || err != nil || n < 1_000_000 {
			return
		}
		if _, off := cmd.Flag("-l", "--no-log-init", "--system", "-r"); !off {
			out = append(out, v.AtWord(w, "useradd writes a very large /var/log/lastlog for so high a number", "add --no-log-init"))
		}
	})
	return out
}

// archive matches files that ADD unpacks.
var archive = lazyregexp.New(`(?i)\.(tar|tar\.\w+|tgz|txz|tbz2?|tzst|gz|xz|bz2|zst)$`)

// addedFiles notes ADD of plain files, which COPY does without surprises.
func addedFiles(v *rule.View) (out []rule.Finding) {
	for _, i := range v.Build.Instructions() {
		c, ok := i.Command.(*instructions.AddCommand)
		if !ok || c.Unpack != nil || c.Checksum != "" || c.KeepGitDir != nil && *c.KeepGitDir {
			continue
		}
		plainFile := func(written string) bool {
			name := i.Expand(written)
			return !strings.ContainsAny(name, "$*?[") && !strings.Contains(name, "://") && !dockerfile.GitURL.MatchString(name) &&
				!archive.MatchString(name)
		}
		if len(c.SourcePaths) > 0 && !slices.ContainsFunc(c.SourcePaths, func(s string) bool { return !plainFile(s) }) {
			out = append(out, v.AtDockerfile(i.Start, min(i.Start+len(i.Name), i.HeadEnd),
				"ADD unpacks archives and fetches addresses; this is neither", "write COPY"))
		}
	}
	return out
}

// windowsImage matches images whose steps cmd or PowerShell runs.
var windowsImage = lazyregexp.New(`(?i)windows|nanoserver|servercore|powershell`)

// brokenSteps reports steps whose text no shell reads. An image that is not known may have set a shell of another kind.
func brokenSteps(v *rule.View) (out []rule.Finding) {
	for _, s := range neededStages(v) {
		image := s.Base().Image
		if windowsImage.MatchString(image) {
			continue
		}
		for _, i := range s.Instructions {
			if i.Name != "RUN" || i.Broken == nil {
				continue
			}
			f := v.AtDockerfile(i.Broken.Start, i.Broken.End, "no shell reads this step: "+i.Broken.Message,
				"a command goes on in the next line behind a backslash at the very end")
			if known, _ := baseimage.Of(image); !known.Official() {
				f.Severity = diag.SeverityWarning
			}
			out = append(out, f)
		}
	}
	return append(out, bashSteps(v)...)
}
