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

// installer is a script of a vendor that puts programs into a folder which is not in PATH: a line of a shell's start file adds it,
// which no step reads.
type installer struct {
	address  string // a part of it
	programs string
	folder   string
	choice   []string // variables and options that choose another place
}

// installers are known by their own instructions (November 2026).
var installers = []installer{
	{"sh.rustup.rs", "cargo rustc rustup", ".cargo/bin", []string{"CARGO_HOME"}},
	{"astral.sh/uv", "uv uvx", ".local/bin", []string{"UV_INSTALL_DIR", "UV_UNMANAGED_INSTALL", "XDG_BIN_HOME"}},
	{"install.python-poetry.org", "poetry", ".local/bin", []string{"POETRY_HOME"}},
	{"bun.sh/install", "bun bunx", ".bun/bin", []string{"BUN_INSTALL"}},
	{"deno.land/", "deno", ".deno/bin", []string{"DENO_INSTALL"}},
	{"get.volta.sh", "volta", ".volta/bin", []string{"VOLTA_HOME"}},
	{"pyenv.run", "pyenv", ".pyenv/bin", []string{"PYENV_ROOT"}},
	{"claude.ai/install.sh", "claude", ".local/bin", nil},
	{"get.pnpm.io/install.sh", "pnpm", ".local/share/pnpm", []string{"PNPM_HOME"}},
	{"nvm-sh/nvm", "node npm npx", ".nvm/versions", []string{"NVM_SYMLINK_CURRENT"}},
	{"go.dev/dl/", "go gofmt", "/go/bin", nil},
	{"golang.org/dl/", "go gofmt", "/go/bin", nil},
	{"dl.google.com/go/", "go gofmt", "/go/bin", nil},
}

// bare matches Microsoft's images that have none of these programs.
var bare = lazyregexp.New(`/devcontainers/base:`)

// otherPaths matches steps that say themselves where programs are.
var otherPaths = lazyregexp.New(`\bPATH\b|(^|[\s;&|(])(\.|source)\s|\bsh -l|-[il]+c\b|--login|alternatives|\beval\b`)

// placedElsewhere reports programs that a step calls by their name and that a step above put into a folder outside of PATH.
func placedElsewhere(v *rule.View) (out []rule.Finding) {
	for _, s := range neededStages(v) {
		if !slices.ContainsFunc(s.History(), mayPlace) {
			continue
		}
		base := s.Base()
		image, _ := baseimage.Of(base.Image)
		known := image.Family != "" || strings.HasPrefix(base.Image, "mcr.microsoft.com/dotnet/sdk:")
		placed, named := map[string]installer{}, map[string]bool{} // named are the choices that stand so far
		for _, i := range s.History() {
			for _, of := range installers {
				for _, name := range of.choice {
					named[name] = named[name] || strings.Contains(i.Source(), name)
				}
			}
			switch c := i.Command.(type) {
			case *instructions.EnvCommand:
				for _, kv := range c.Env {
					if kv.Key == "PATH" || kv.Key == "BASH_ENV" || kv.Key == "ENV" {
						clear(placed)
						known = false // what is added later may be in this PATH
					}
				}
			case *instructions.CopyCommand:
				if c.From != "" {
					clear(placed)
				}
			case *instructions.RunCommand:
				if len(placed) == 0 && !mayPlace(i) || onlyStartFiles(i) { // which no step reads
					continue
				}
				if !known || otherPaths.MatchString(i.Source()) || i.Unread || slices.ContainsFunc(i.Shell, readsFiles.MatchString) ||
					slices.ContainsFunc(i.Commands, func(cmd *shell.Command) bool { return cmd.Is("ln", "cp", "mv", "install") }) {
					clear(placed)
					continue
				}
				out = append(out, placedIn(v, i, i.Stage == s, base, image, placed, named)...)
			}
		}
	}
	return out
}

// onlyStartFiles reports whether a step writes into the start files of shells, and does nothing else.
func onlyStartFiles(i *dockerfile.Instruction) bool {
	return len(i.Commands) > 0 && !slices.ContainsFunc(i.Commands, func(cmd *shell.Command) bool {
		return !cmd.Is("echo", "printf") || len(cmd.Files) != 1 || !startFiles.MatchString(cmd.Files[0].Text)
	})
}

// mayPlace reports whether a step has a command that puts programs into such a folder.
func mayPlace(i *dockerfile.Instruction) bool {
	return i.Name == "RUN" && slices.ContainsFunc(i.Commands, func(cmd *shell.Command) bool {
		installs := cmd.Is("dotnet") && slices.ContainsFunc(cmd.Args(), func(w shell.Word) bool { return w.Text == "tool" })
		return installs || cmd.Is(shell.Downloaders...) && slices.ContainsFunc(installers, func(of installer) bool { return of.gives(cmd) })
	})
}

// gives reports whether a command fetches the script.
func (of installer) gives(cmd *shell.Command) bool {
	return slices.ContainsFunc(cmd.Args(), func(w shell.Word) bool { return strings.Contains(w.Text, of.address) })
}

// placedIn looks at one step, and takes note of what it puts where.
func placedIn(v *rule.View, i *dockerfile.Instruction, own bool, base *dockerfile.Stage, image baseimage.Image,
	placed map[string]installer, named map[string]bool) (out []rule.Finding) {
	for _, cmd := range i.Commands {
		if of, ok := placed[cmd.Words[0].Text]; ok && own && cmd.OnFailure == shell.Ends {
			f := v.AtCommand(cmd, fmt.Sprintf("%s is in a folder %s, which is not in PATH", cmd.Name(), of.folder),
				"write ENV PATH=… with that folder above; a shell's start file is not read here")
			if !image.Official() || !image.Asked() {
				f.Severity = diag.SeverityWarning
			}
			out = append(out, f)
			clear(placed)
		}
		if tool := cmd.Operands(); cmd.Is("dotnet") && len(tool) > 2 && tool[0].Text == "tool" && hasFlag(cmd, "-g", "--global") {
			placed[tool[2].Text] = installer{folder: ".dotnet/tools"}
		}
		if !cmd.Is(shell.Downloaders...) {
			continue
		}
		for _, of := range installers {
			chosen := slices.ContainsFunc(of.choice, func(name string) bool { return named[name] })
			if !of.gives(cmd) || chosen {
				continue
			}
			for program := range strings.FieldsSeq(of.programs) {
				ofHome := image.Official() && program != "node" && !strings.HasPrefix(base.Image, "rust")
				if image.Lacks(program) || bare.MatchString(base.Image) || ofHome && strings.HasPrefix(of.folder, ".") {
					placed[program] = of
				}
			}
		}
	}
	return out
}

// pathsOfRoot reports a PATH with a folder below /root, which only root may enter, where somebody else works in the container.
func pathsOfRoot(v *rule.View) (out []rule.Finding) {
	if v.Build == nil || v.Build.Final == nil || v.Bare {
		return nil
	}
	user, known := v.SessionUser()
	if image, ok := baseimage.Of(v.BaseImage()); ok && v.NamedUser() == nil && image.Session != "" && (!known || rule.IsRoot(user)) {
		user, known = image.Session, true
	}
	history := v.Build.Final.History()
	if !known || user == "" || rule.IsRoot(user) || slices.ContainsFunc(history, func(i *dockerfile.Instruction) bool {
		return strings.Contains(i.Source(), "chmod") && strings.Contains(i.Source(), "/root") || i.Unread
	}) {
		return nil
	}
	for _, i := range history {
		c, ok := i.Command.(*instructions.EnvCommand)
		if !ok {
			continue
		}
		for _, kv := range c.Env {
			at := strings.Index(kv.Value, "/root/")
			if kv.Key != "PATH" || at < 0 {
				continue
			}
			folder, _, _ := strings.Cut(strings.Trim(kv.Value[at:], `"'`), ":")
			start, end := i.Find(folder)
			out = append(out, v.AtDockerfile(start, end, fmt.Sprintf("only root may enter /root: %s does not find the programs of %s", user, folder),
				"install them as that user, or into a folder for all, such as /usr/local"))
		}
	}
	return out
}
