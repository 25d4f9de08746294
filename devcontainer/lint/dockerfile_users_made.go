package lint

import (
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

var userName = lazyregexp.New(`^[a-z_][\w-]*$`)

// usersMade are the names of the users that steps make.
func usersMade(history []*dockerfile.Instruction) (names []string) {
	for _, i := range history {
		for _, cmd := range i.Commands {
			if cmd.Is("useradd", "adduser") {
				if name := i.Expand(cmd.Words[len(cmd.Words)-1].Text); numberless(name) && userName.MatchString(name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// featuresMake reports whether a Feature of the configuration may make a user. Two official ones do: common-utils makes the
// user that it is told, or the session's, and nix makes its own (their install.sh, July 2026).
func featuresMake(v *rule.View, user string) bool {
	all := v.Root.Member("features")
	if all != nil && all.Kind != jsonc.Object {
		return true // they are not known
	}
	for _, m := range all.Fields() {
		name := officialFeature(m.Name)
		told := m.Value.Member("username").TextOr("automatic")
		asTold := told == user || told == "automatic" || told == "auto" || strings.Contains(told, "$")
		if name == "" || name == "nix" || name == "common-utils" && asTold {
			return true
		}
	}
	return false
}

// mentioned reports whether some step could create the user: it names it, or
// its effect is not known.
func mentioned(history []*dockerfile.Instruction, name string) bool {
	folder := "/"
	for _, i := range history {
		switch i.Name {
		case "WORKDIR":
			folder = workdirAfter(folder, i)
		case "RUN":
			if i.Unread || names(i.Source(), name) || strings.Contains(i.Source(), "$") && names(i.Expand(i.Source()), name) {
				return true
			}
			for _, cmd := range i.Commands {
				if computesUser(cmd) || packageMakes(cmd, name) {
					return true
				}
				// A script of the project can do anything.
				p := cmd.Words[0].Text
				system := strings.HasPrefix(p, "/bin/") || strings.HasPrefix(p, "/usr/bin/") || strings.HasPrefix(p, "/usr/sbin/")
				_, piped := ranDownload(cmd) // from others than vendors it may make any user, which a warning is about
				script := strings.Contains(p, "/") && !system || cmd.Is(shell.Shells...) && !piped && len(cmd.Operands()) > 0
				if script && !runsInstaller(i, cmd) || piped && ofDevContainers(i) {
					return true
				}
			}
		case "COPY", "ADD":
			var to string
			switch c := i.Command.(type) {
			case *instructions.CopyCommand:
				to = c.DestPath
			case *instructions.AddCommand: // an archive of a whole system
				to = c.DestPath
			}
			if slices.Contains([]string{"/", "/etc"}, placeFrom(folder, i, to)) || strings.Contains(i.Source(), "/etc/passwd") {
				return true
			}
		}
	}
	return false
}

// overRoot reports whether a command puts files into the root folder or /etc.
func overRoot(cmd *shell.Command) bool {
	return cmd.Is("cp", "mv", "rsync", "tar", "unzip", "install") && slices.ContainsFunc(cmd.Args(), func(w shell.Word) bool {
		_, value, named := strings.Cut(w.Text, "=")
		return slices.Contains([]string{"/", "/.", "/etc", "/etc/"}, w.Text) || named && value == "/"
	})
}

// computesUser reports whether a command makes users of names that the Dockerfile does not spell out.
func computesUser(cmd *shell.Command) bool {
	if cmd.Is("newusers") || slices.ContainsFunc(cmd.Files, func(w shell.Word) bool { return w.Text == "/etc/passwd" }) ||
		slices.ContainsFunc(cmd.Args(), func(w shell.Word) bool { return strings.Contains(w.Text, "/etc/passwd") }) && cmd.Is("tee", "sed") {
		return true
	}
	if !cmd.Is("useradd", "adduser", "usermod") {
		return false
	}
	kind, _, _, plain := making(cmd)
	computed := slices.ContainsFunc(cmd.Args(), func(w shell.Word) bool { return !w.Literal })
	return cmd.Wrapped == "xargs" || computed && (kind == "" || !plain)
}

// packageMakes reports whether a command installs packages that may bring the user of a service: postgresql has
// postgres. Some are called otherwise than their package.
func packageMakes(cmd *shell.Command, name string) bool {
	packages, ok := installed(cmd)
	return ok && (slices.Contains([]string{"postgres", "mysql", "git", "sshd"}, name) || strings.HasPrefix(strings.ToLower(name), "debian-") ||
		strings.HasPrefix(name, "_") || slices.ContainsFunc(packages, func(w shell.Word) bool { return strings.HasPrefix(w.Text, name) }))
}

// makesNoUser are programs of which none makes a user that its words do not name; a package manager's packages may.
var makesNoUser = slices.Concat(plainPrograms, strings.Fields(`
	apt apt-get aptitude apk dnf microdnf yum curl wget tar unzip gzip pip pip3 npm yarn pnpm corepack go cargo git gem bundle
	composer sleep exit find grep head tail sort cut tr ls which command sudo env install adduser addgroup groupmod chpasswd
	passwd chsh gpg apt-key add-apt-repository locale-gen update-locale update-ca-certificates update-alternatives ldconfig uname
	arch date sha256sum id whoami : false ssh-keygen`))

// runsInstaller reports whether a command runs what its step fetched from one of vendors: none of those makes users.
func runsInstaller(step *dockerfile.Instruction, cmd *shell.Command) bool {
	fetcher, ok := ranDownload(cmd)
	if !ok {
		var runner *shell.Command
		fetcher, runner = savedThenRun(step.Commands)
		ok = runner == cmd
	}
	return ok && fromVendor(fetcher) && !ofDevContainers(step)
}

// ofDevContainers reports whether a step fetches something of the images or Features of dev containers, which make the users they are told.
func ofDevContainers(step *dockerfile.Instruction) bool {
	return strings.Contains(step.Source(), "dev-containers") || strings.Contains(step.Source(), "devcontainers")
}

// mayMakeAnyUser reports whether a step runs a program that may make users of any name.
func mayMakeAnyUser(i *dockerfile.Instruction) bool {
	return i.Name == "RUN" && slices.ContainsFunc(i.Commands, func(cmd *shell.Command) bool {
		return !cmd.Is(makesNoUser...) && !runsInstaller(i, cmd) || overRoot(cmd)
	})
}

// names reports whether a text has a name that no letter or digit continues: developer is no develop.
func names(text, name string) bool {
	for {
		_, rest, found := strings.Cut(text, name)
		if !found || rest == "" || !isNameByte(rest[0]) {
			return found
		}
		text = rest
	}
}

func isNameByte(c byte) bool {
	letter, digit := 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9'
	return letter || digit || c == '_'
}
