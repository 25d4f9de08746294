package devcontainer

import (
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/shell"
)

// aptInstall returns the packages of an apt-get install.
func aptInstall(cmd *shell.Command) (packages []shell.Word, ok bool) {
	words := cmd.Operands()
	n := slices.IndexFunc(words, func(w shell.Word) bool { return w.Text == "install" || w.Text == "dist-upgrade" || w.Text == "upgrade" })
	if !cmd.Is("apt-get", "apt", "aptitude") || n < 0 {
		return nil, false
	}
	return words[n+1:], true
}

func aptUpdate(cmd *shell.Command) bool {
	return cmd.Is("apt-get", "apt", "aptitude") && slices.ContainsFunc(cmd.Args(), func(w shell.Word) bool { return w.Text == "update" })
}

// packages looks at how a step uses the package manager.
func (c *pass) packages() {
	for _, s := range c.neededStages() {
		var alone *shell.Command // an update in a step that installs nothing
		answers := false         // apt is configured not to ask
		for _, i := range s.Instructions {
			if i.Name != "RUN" {
				continue
			}
			answers = answers || strings.Contains(i.Source(), "Assume-Yes") || strings.Contains(i.Source(), "assume-yes")
			alone = c.packageStep(i, alone, answers)
		}
	}
}

func (c *pass) neededStages() []*dockerfile.Stage {
	if c.build == nil {
		return nil
	}
	return c.build.needed
}

func (c *pass) packageStep(i *dockerfile.Instruction, alone *shell.Command, answers bool) *shell.Command {
	var update, install *shell.Command
	cleans := strings.Contains(i.Source(), "/var/lib/apt/lists") // removed, or a cache mount
	for _, cmd := range i.Commands {
		if aptUpdate(cmd) && update == nil {
			update = cmd
		}
		packages, ok := aptInstall(cmd)
		if !ok || cmd.Wrapped != "" && cmd.Wrapped == "sudo" && len(packages) == 0 {
			continue
		}
		if install == nil {
			install = cmd
		}
		_, yes := cmd.Flag("-y", "--yes", "--assume-yes", "-q=2", "--force-yes")
		if !yes && !quiet(cmd) && !answers && !piped(cmd) && !strings.Contains(i.Source(), "APT_GET") {
			c.atCommand(cmd, "SBX724", cmd.Name()+" asks before it installs", "add -y")
		}
		if len(packages) > 0 && !slices.ContainsFunc(cmd.Args(), func(w shell.Word) bool {
			return w.Text == "--no-install-recommends" || strings.Contains(w.Text, "Install-Recommends")
		}) {
			c.atCommand(cmd, "SBX722", "apt installs recommended packages, too", "add --no-install-recommends")
		}
	}
	switch {
	case install == nil && update != nil:
		return update
	case install != nil && update == nil && alone != nil:
		c.atCommand(alone, "SBX710", "the lists that this step fetches are used by a later one, and the cache keeps them apart", "write update && install in one RUN")
		return nil
	}
	if update != nil && install != nil && !cleans {
		c.atCommand(update, "SBX723", "the package lists stay in the image", "end the step with rm -rf /var/lib/apt/lists/*")
	}
	return alone
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

// piped reports whether something answers the questions: yes | apt-get …
func piped(cmd *shell.Command) bool { return len(cmd.From) > 0 || cmd.Input != "" }
