package lint

import (
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// before are programs that make, fetch or leave files and folders: behind them nothing is
// known of what a path leads to.
var before = []string{"cd", "pushd", "git", "cp", "mv", "curl", "wget", "ln", "make", "touch", "tee", "source", ".", "tar", "unzip",
	"npm", "yarn", "pnpm", "python", "python3", "node", "go", "cargo", "bash", "sh", "install", "sed", "dos2unix", "rsync", "printf",
	"echo", "cat"}

// makesNoFile reports whether a command makes none that another command of a hook asks for.
func makesNoFile(cmd *shell.Command) bool {
	words := cmd.Operands()
	installs := len(words) == 0 || slices.Contains([]string{"install", "ci", "i", "config", "enable"}, words[0].Text)
	return writesOutside(cmd.Files) && (cmd.Is("npm", "yarn", "pnpm", "pip", "pip3", "git", "corepack", "composer", "poetry",
		"bundle", "uv") && installs || makesOutside(cmd) ||
		cmd.Is("sudo", "apt-get", "apt", "apk", "echo", "chown", "chmod", "export", "set", "true", "printf", "useradd", "[", "test"))
}

// outside matches places where no project is opened.
var outside = lazyregexp.New(`^(~|\$HOME|\$\{HOME\}|/root|/tmp|/etc|/usr|/opt)/|^/dev/null$`)

func writesOutside(files []shell.Word) bool {
	return !slices.ContainsFunc(files, func(w shell.Word) bool {
		return !outside.MatchString(w.Text) || strings.Contains(w.Text, "/bin") // where shells look for programs
	})
}

// makesOutside reports whether a command makes files and folders in such places alone.
func makesOutside(cmd *shell.Command) bool {
	made := cmd.Operands()
	switch {
	case len(made) == 0:
		return false
	case cmd.Is("mkdir", "touch", "tee", "rm"):
	case cmd.Is("cp", "ln", "install"), cmd.Is("git") && made[0].Text == "clone":
		made = made[len(made)-1:]
	case cmd.Is("curl", "wget", "tar", "unzip"):
		w, ok := cmd.Value(intoOptions[cmd.Name()]...)
		if made = []shell.Word{w}; !ok {
			return false
		}
	default:
		return false
	}
	return writesOutside(made)
}

// intoOptions name what a program makes.
var intoOptions = map[string][]string{"curl": {"-o", "--output"}, "wget": {"-O", "--output-document"}, "tar": {"-C", "--directory"},
	"unzip": {"-d"}}

// makesNoScript reports whether a command makes none of the files that hooks call, not even by what a package's own hooks do.
func makesNoScript(v *rule.View, folder string, cmd *shell.Command) bool {
	if !makesNoFile(cmd) || devcontainer.LeavesTree(folder) {
		return false
	}
	file := "package.json"
	if cmd.Is("composer") {
		file = "composer.json"
	} else if !cmd.Is("npm", "yarn", "pnpm") {
		return true
	}
	return rule.Once(v, "runs nothing of its own: "+folder+"/"+file, func(v *rule.View) bool {
		src, err := v.Tree.Read(path.Join(folder, file))
		return err == nil && !ownHooks.Match(src)
	})
}

// ownHooks matches what a package runs while it is installed.
var ownHooks = lazyregexp.New(`"((pre|post)?install|prepare|prepublish|post-[a-z-]+)"\s*:`)

// scriptMakesNoFile reports whether a script of the project has only such commands.
func scriptMakesNoFile(v *rule.View, full string) bool {
	if devcontainer.LeavesTree(full) {
		return false
	}
	return rule.Once(v, "makes no file: "+full, func(v *rule.View) bool {
		src, err := v.Tree.Read(full)
		if err != nil {
			return false
		}
		commands, err := shell.Parse(string(src), nil)
		return err == nil && !slices.ContainsFunc(commands, func(cmd *shell.Command) bool { return !makesNoFile(cmd) })
	})
}
