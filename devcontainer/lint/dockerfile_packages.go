package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// aptInstall returns the packages of an apt-get install.
func aptInstall(cmd *shell.Command) (packages []shell.Word, ok bool) {
	if !cmd.Is("apt-get", "apt", "aptitude") {
		return nil, false
	}
	words := cmd.Operands()
	n := slices.IndexFunc(words, func(w shell.Word) bool { return w.Text == "install" || w.Text == "dist-upgrade" || w.Text == "upgrade" })
	if n < 0 || words[0].Text == "update" {
		return nil, false
	}
	return words[n+1:], true
}

func aptUpdate(cmd *shell.Command) bool {
	return cmd.Is("apt-get", "apt", "aptitude") && slices.ContainsFunc(cmd.Args(), func(w shell.Word) bool { return w.Text == "update" })
}

func neededStages(v *rule.View) []*dockerfile.Stage {
	if v.Build == nil {
		return nil
	}
	return v.Build.Needed
}

// aptStep is what a step does with apt.
type aptStep struct {
	*dockerfile.Instruction
	update   *shell.Command   // the first that fetches the lists; nil for none
	installs []*shell.Command // those that install
	stale    *shell.Command   // the update of an earlier step, whose lists this one uses
	answers  bool             // apt is configured not to ask
}

// aptSteps returns the steps that run apt.
func aptSteps(v *rule.View) (out []aptStep) {
	for _, s := range neededStages(v) {
		var alone *shell.Command // an update in a step that installs nothing
		answers := false
		for _, i := range s.Instructions {
			if i.Name != "RUN" {
				continue
			}
			answers = answers || strings.Contains(i.Source(), "Assume-Yes") || strings.Contains(i.Source(), "assume-yes")
			step := aptStep{Instruction: i, answers: answers}
			for _, cmd := range i.Commands {
				if aptUpdate(cmd) && step.update == nil {
					step.update = cmd
				}
				if packages, ok := aptInstall(cmd); ok && (cmd.Wrapped != "sudo" || len(packages) > 0) {
					step.installs = append(step.installs, cmd)
				}
			}
			switch {
			case len(step.installs) == 0 && step.update != nil:
				alone = step.update
			case len(step.installs) > 0 && step.update == nil && alone != nil:
				step.stale, alone = alone, nil
			}
			out = append(out, step)
		}
	}
	return out
}

// staleLists reports lists that one step fetches and a later one uses.
func staleLists(v *rule.View) (out []rule.Finding) {
	for _, s := range rule.Once(v, "steps with apt", aptSteps) {
		if s.stale != nil {
			out = append(out, v.AtCommand(s.stale,
				"a later step installs packages by these lists, and the build cache may keep them until they are out of date",
				"fetch and install in one step: RUN apt-get update && apt-get install …"))
		}
	}
	return slices.Concat(out, missingLists(v), hookMeanings(v, noLists))
}

// missingLists reports an install in an official image, which has no package lists, before anything fetches them.
func missingLists(v *rule.View) []rule.Finding {
	if v.Build == nil || v.Build.Final == nil || !v.Build.Final.Base().Known {
		return nil
	}
	image, ok := baseimage.Of(v.Build.Final.Base().Image)
	if !ok || !image.Official() || image.Family == baseimage.RedHat {
		return nil
	}
	for _, i := range v.Build.History() {
		copied, _ := i.Command.(*instructions.CopyCommand)
		switch {
		case copied != nil && copied.From == "":
			continue
		case i.Name == "ADD" || copied != nil || i.Unread || len(i.Documents) > 0 || strings.Contains(i.Source(), "--mount"):
			return nil // which may bring lists
		case i.Name != "RUN":
			continue
		}
		for _, cmd := range i.Commands {
			packages, ok := aptInstall(cmd)
			local := slices.ContainsFunc(packages, func(w shell.Word) bool { return strings.ContainsAny(w.Text, "/$") })
			if ok && len(packages) > 0 && !local && cmd.Is("apt-get", "apt") && !strings.Contains(i.Source(), "||") {
				f := v.AtCommand(cmd, "the image has no package lists yet, so the packages are not found", "put apt-get update && in front")
				if image.Asked() {
					f.Severity = diag.SeverityError
				}
				return []rule.Finding{f}
			}
			if !slices.Contains(plainPrograms, cmd.Name()) || strings.Contains(cmd.Words[0].Text, "/") || aptUpdate(cmd) {
				return removedLists(v)
			}
		}
	}
	return nil
}

// removedLists reports an install behind a step that removed the lists, in the same stage, with nothing that fetches them again.
func removedLists(v *rule.View) (out []rule.Finding) {
	for _, s := range neededStages(v) {
		removed := false
		for _, i := range s.Instructions {
			if i.Name != "RUN" && i.Name != "COPY" {
				continue
			}
			if i.Unread || len(i.Documents) > 0 || i.Name == "COPY" || strings.Contains(i.Source(), "--mount") {
				removed = removed && i.Name == "COPY" && !strings.Contains(i.Source(), "--from")
				continue
			}
			for _, cmd := range i.Commands {
				packages, installs := aptInstall(cmd)
				local := slices.ContainsFunc(packages, func(w shell.Word) bool { return strings.ContainsAny(w.Text, "/$") })
				removes := cmd.Is("rm") && cmd.OnFailure == shell.Ends && slices.ContainsFunc(cmd.Args(),
					func(w shell.Word) bool { return w.Text == "/var/lib/apt/lists/*" || w.Text == "/var/lib/apt/lists" })
				switch {
				case removes:
					removed = true
				case removed && installs && len(packages) > 0 && !local && cmd.OnFailure == shell.Ends:
					out = append(out, v.AtCommand(cmd, "a step above removed the package lists, so the packages are not found",
						"put apt-get update && in front"))
					removed = false
				case !cmd.Is(quietPrograms...) && !installs:
					removed = false
				}
			}
		}
	}
	return out
}

// plainPrograms are programs that fetch no package lists.
var plainPrograms = []string{"echo", "mkdir", "chmod", "chown", "rm", "cp", "mv", "ln", "touch", "useradd", "groupadd", "usermod",
	"set", "cd", "export", "printf", "cat", "sed", "test", "[", "true", "tee"}

// recommendedPackages notes installs that bring more than they name.
func recommendedPackages(v *rule.View) (out []rule.Finding) {
	for _, s := range rule.Once(v, "steps with apt", aptSteps) {
		for _, cmd := range s.installs {
			packages, _ := aptInstall(cmd)
			limited := slices.ContainsFunc(cmd.Args(), func(w shell.Word) bool {
				return w.Text == "--no-install-recommends" || strings.Contains(w.Text, "Install-Recommends")
			})
			if len(packages) > 0 && !limited {
				out = append(out, v.AtCommand(cmd, "apt installs recommended packages, too", "add --no-install-recommends"))
			}
		}
	}
	return out
}

// isKept reports whether the files of a stage are in an image that somebody keeps: the container's, or any of a Dockerfile alone
// that no other stage copies from.
func isKept(v *rule.View, s *dockerfile.Stage) bool {
	return v.Build.Final == nil || slices.Contains(v.Build.Final.Chain(), s)
}

// keptLists notes lists that stay in the image.
func keptLists(v *rule.View) (out []rule.Finding) {
	for _, s := range rule.Once(v, "steps with apt", aptSteps) {
		if s.update == nil || len(s.installs) == 0 || !isKept(v, s.Stage) {
			continue
		}
		const lists = "/var/lib/apt/lists"
		// Removed, by a script in a variable as well, or a cache mount.
		cleans := strings.Contains(s.Source(), lists) || slices.ContainsFunc(s.Commands, func(cmd *shell.Command) bool {
			return cmd.Is("rm", "find") && slices.ContainsFunc(cmd.Args(), func(w shell.Word) bool { return strings.HasPrefix(w.Text, lists) })
		})
		if !cleans {
			out = append(out, v.AtCommand(s.update, "the package lists stay in the image", "end the step with rm -rf /var/lib/apt/lists/*"))
		}
	}
	eachRPMInstall(v, func(i *dockerfile.Instruction, cmd *shell.Command, last bool) {
		if last && !cleansRPM.MatchString(i.Source()) && isKept(v, i.Stage) {
			out = append(out, v.AtCommand(cmd, "the package lists stay in the image", fmt.Sprintf("end the step with %s clean all", cmd.Name())))
		}
	})
	return out
}

// askingInstalls reports installs that wait for an answer.
func askingInstalls(v *rule.View) (out []rule.Finding) {
	for _, s := range rule.Once(v, "steps with apt", aptSteps) {
		for _, cmd := range s.installs {
			_, yes := cmd.Flag("-y", "--yes", "--assume-yes", "-q=2", "--force-yes")
			if !yes && !quiet(cmd) && !s.answers && !piped(cmd) && !strings.Contains(s.Source(), "APT_GET") {
				out = append(out, v.AtCommand(cmd, cmd.Name()+" asks before it installs further packages, and ends without an answer", "add -y"))
			}
		}
	}
	each(v.Build.Instructions(), func(_ *dockerfile.Instruction, cmd *shell.Command) {
		if !cmd.Is("apt-get", "apt") {
			return
		}
		words := cmd.Operands()
		removes := len(words) > 1 && (words[0].Text == "purge" || words[0].Text == "remove")
		_, yes := cmd.Flag("-y", "--yes", "--assume-yes", "-q=2", "--force-yes")
		asks := removes && !yes && !quiet(cmd) && !piped(cmd) && cmd.OnFailure != shell.Open
		if asks && !strings.Contains(v.DockerfileText(), "ssume-") { // a setting for all
			out = append(out, v.AtCommand(cmd, cmd.Name()+" asks before it removes", "add -y"))
		}
	})
	out = append(out, askingHooks(v)...)
	eachRPMInstall(v, func(i *dockerfile.Instruction, cmd *shell.Command, _ bool) {
		if !rpmAnswers(i, cmd) {
			out = append(out, v.AtCommand(cmd, cmd.Name()+" asks before it installs further packages, and ends without an answer", "add -y"))
		}
	})
	return out
}

// quiet reports whether apt is told twice to be quiet, which implies --yes;
// apt-get(8).
func quiet(cmd *shell.Command) bool {
	level := 0
	for _, w := range cmd.Args() {
		switch {
		case w.Text == "-q=2":
			return true
		case w.Text == "--quiet":
			level++
		case strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && !strings.Contains(w.Text, "="):
			level += strings.Count(w.Text, "q")
		}
	}
	return level >= 2
}

// rpmInstall reports whether a command installs with a package manager of the Red Hat or
// SUSE families.
func rpmInstall(cmd *shell.Command) bool {
	if !cmd.Is("yum", "dnf", "dnf5", "microdnf", "tdnf", "zypper") {
		return false
	}
	verbs := []string{"install", "in", "groupinstall", "localinstall", "reinstall", "update", "upgrade", "up", "dist-upgrade", "dup"}
	words := cmd.Operands()
	return len(words) > 0 && slices.Contains(verbs, words[0].Text)
}

// rpmAnswers reports whether the manager does not ask: told here, or by its configuration.
func rpmAnswers(i *dockerfile.Instruction, cmd *shell.Command) bool {
	if _, yes := cmd.Flag("-y", "--assumeyes", "--yes", "--no-confirm", "--noconfirm", "-n", "--non-interactive", "--assumeno",
		"--downloadonly"); yes || piped(cmd) {
		return true
	}
	return cmd.Is("microdnf", "tdnf") || strings.Contains(i.Source(), "assumeyes") || strings.Contains(i.Source(), "YES")
}

// eachRPMInstall calls visit for every such install, and whether the files of its step's
// cache stay in the image.
func eachRPMInstall(v *rule.View, visit func(i *dockerfile.Instruction, cmd *shell.Command, last bool)) {
	for _, s := range neededStages(v) {
		if !slices.ContainsFunc(s.Instructions, installsRPM) {
			continue
		}
		answers := false
		for _, i := range s.Instructions {
			answers = answers || strings.Contains(i.Source(), "assumeyes") || strings.Contains(i.Source(), "keepcache")
			if i.Name != "RUN" || answers {
				continue
			}
			var installs []*shell.Command
			for _, cmd := range i.Commands {
				if rpmInstall(cmd) {
					installs = append(installs, cmd)
				}
			}
			for n, cmd := range installs {
				visit(i, cmd, n == len(installs)-1)
			}
		}
	}
}

func installsRPM(i *dockerfile.Instruction) bool {
	return i.Name == "RUN" && slices.ContainsFunc(i.Commands, rpmInstall)
}

// cleansRPM matches steps that leave no cache: they remove it, or mount one.
var cleansRPM = lazyregexp.New(`clean|/var/cache|--mount=type=cache`)

// piped reports whether something answers the questions: yes | apt-get …
func piped(cmd *shell.Command) bool { return len(cmd.From) > 0 || cmd.Input != "" }
