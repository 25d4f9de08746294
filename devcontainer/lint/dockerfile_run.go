package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

var (
	interpreters = append([]string{"python", "python2", "python3", "perl", "ruby", "node", "php", "deno", "pwsh", "source", "."},
		shell.Shells...)
	checkers = []string{"sha256sum", "sha512sum", "sha384sum", "sha1sum", "shasum", "md5sum", "b2sum", "gpg", "gpgv", "gpg2",
		"cosign", "minisign", "signify", "openssl", "apt-key", "slsa-verifier", "rpm", "sq", "sqv", "b3sum"}
)

// vendors are addresses whose owners' own instructions are to run what they send (November
// 2026): a name that one organisation holds, and whatever lies below.
var vendors = lazyregexp.New(`^https://(sh\.rustup\.rs|static\.rust-lang\.org|(deb|rpm)\.nodesource\.com|get\.docker\.com|` +
	`install\.python-poetry\.org|astral\.sh|bun\.sh|deno\.land|get\.pnpm\.io|getcomposer\.org|claude\.ai|starship\.rs|get\.sdkman\.io|` +
	`get\.volta\.sh|fnm\.vercel\.app|pyenv\.run|get\.helm\.sh|dot\.net|get\.k3s\.io|sdk\.cloud\.google\.com|aka\.ms|` +
	`raw\.githubusercontent\.com/(nvm-sh/nvm|ohmyzsh/ohmyzsh|Homebrew/install|dapr/cli|helm/helm|asdf-vm/asdf|` +
	`microsoft/vscode-dev-containers|rbenv/rbenv-installer|deluan/zsh-in-docker)|` +
	`github\.com/(ohmyzsh/ohmyzsh|deluan/zsh-in-docker))(/|$)`)

// fromVendor reports whether all that a command fetches comes from vendors, checked by TLS.
func fromVendor(fetcher *shell.Command) bool {
	some := false
	for _, w := range fetcher.Args() {
		switch text := strings.Trim(w.Text, `"'`); {
		case text == "-k" || text == "--insecure" || text == "--no-check-certificate":
			return false
		case strings.Contains(text, "://"):
			if some = true; !vendors.MatchString(text) {
				return false
			}
		}
	}
	return some
}

// savedThenRun finds programs that commands save to a file and then run.
func savedThenRun(commands []*shell.Command) (fetcher, runner *shell.Command) {
	saved := map[string]*shell.Command{}
	for _, cmd := range commands {
		if cmd.Is(checkers...) {
			return nil, nil
		}
		if cmd.Is(shell.Downloaders...) {
			for _, name := range savedAs(cmd) {
				saved[path.Clean(name)] = cmd
			}
			continue
		}
		program := cmd.Words[0].Text
		if cmd.Is(interpreters...) {
			operands := cmd.Operands()
			if len(operands) == 0 {
				continue
			}
			program = operands[0].Text
		} else if !strings.Contains(program, "/") {
			continue
		}
		if from := saved[path.Clean(program)]; from != nil {
			return from, cmd
		}
	}
	return nil, nil
}

// savedAs names the files that a command saves what it fetches to.
func savedAs(cmd *shell.Command) (names []string) {
	flags := []string{"-o", "--output"}
	if cmd.Is("wget") {
		flags = []string{"-O", "--output-document"}
	}
	if w, ok := cmd.Value(flags...); ok {
		names = append(names, w.Text)
	}
	for _, f := range cmd.Files {
		names = append(names, f.Text)
	}
	if _, ok := cmd.Flag("-O", "--remote-name"); ok || cmd.Is("wget") && names == nil {
		for _, w := range cmd.Operands() {
			names = append(names, path.Base(w.Text))
		}
	}
	return names
}

// ranDownload reports whether a command runs what another has just fetched:
// curl … | sh, sh <(curl …), sh -c "$(curl …)", python -c "$(curl …)".
func ranDownload(cmd *shell.Command) (fetcher *shell.Command, ok bool) {
	if !cmd.Is(interpreters...) && !cmd.Is("eval") {
		return nil, false
	}
	isFetch := func(c *shell.Command) bool { return c.Is(shell.Downloaders...) }
	from := cmd.Sources()
	if readsItsProgram(cmd) {
		if i := slices.IndexFunc(from, isFetch); i >= 0 {
			return from[i], true
		}
	}
	for n, w := range cmd.Args() {
		script := n > 0 && (cmd.Args()[n-1].Text == "-c" || cmd.Args()[n-1].Text == "-e" ||
			strings.HasPrefix(cmd.Args()[n-1].Text, "-") && strings.HasSuffix(cmd.Args()[n-1].Text, "c"))
		if len(w.Subs) == 0 || !script && !strings.HasPrefix(w.Text, "<(") && !cmd.Is("eval", "source", ".") {
			continue
		}
		for _, sub := range w.Subs {
			for _, c := range append([]*shell.Command{sub}, sub.Sources()...) {
				if isFetch(c) {
					return c, true
				}
			}
		}
	}
	return nil, false
}

// programFromInput are the words by which an interpreter takes its program from its input.
var programFromInput = []string{"-", "/dev/stdin", "/proc/self/fd/0", "-s", "-is", "--"}

// readsItsProgram reports whether an interpreter takes its program from its
// input: no file and no -c, or a name that stands for the input.
func readsItsProgram(cmd *shell.Command) bool {
	args := cmd.Args()
	for n, w := range args {
		switch t := w.Text; {
		case slices.Contains(programFromInput, t):
			return true
		case t == "-c" || t == "-e" || t == "-m" || t == "-r" || t == "-p":
			return false
		case t == "-o" || t == "-O" || t == "+o":
			continue
		case strings.HasPrefix(t, "-") || strings.HasPrefix(t, "+"):
			continue
		case n > 0 && (args[n-1].Text == "-o" || args[n-1].Text == "-O"):
			continue
		default:
			return false
		}
	}
	return true
}

// downloadRun reports programs that are run as they come from the network.
func downloadRun(v *rule.View) (out []rule.Finding) {
	done := map[*shell.Command]bool{}
	each(v.Build.Instructions(), func(i *dockerfile.Instruction, cmd *shell.Command) {
		fetcher, ok := ranDownload(cmd)
		if !ok || done[fetcher] {
			return
		}
		done[fetcher] = true
		out = append(out, ranUnseen(v, i, fetcher, cmd))
	})
	for _, i := range v.Build.Instructions() {
		if fetcher, cmd := savedThenRun(i.Commands); fetcher != nil && !done[fetcher] {
			out = append(out, ranUnseen(v, i, fetcher, cmd))
		}
	}
	return out
}

func ranUnseen(v *rule.View, i *dockerfile.Instruction, fetcher, cmd *shell.Command) rule.Finding {
	first := fetcher.Words[0]
	f := v.AtDockerfile(first.Start, max(first.End, min(cmd.Words[0].End, i.End)), unseenMessage(fetcher, cmd),
		"save it, compare it with a checksum that the Dockerfile names, then run it; or install a package")
	f.Severity = unseenSeverity(fetcher)
	return f
}

func unseenMessage(fetcher, cmd *shell.Command) string {
	if cmd.Is(interpreters...) || cmd.Is("eval") {
		return fmt.Sprintf("%s runs what %s fetches, and nothing compares it with a checksum", cmd.Name(), fetcher.Name())
	}
	return fmt.Sprintf("%s is run as %s fetches it, and nothing compares it with a checksum", cmd.Name(), fetcher.Name())
}

// unseenSeverity makes a note of what a vendor tells everybody to do.
func unseenSeverity(fetcher *shell.Command) diag.Severity {
	if fromVendor(fetcher) {
		return diag.SeverityNote
	}
	return ""
}

// checked reports whether a step compares anything with a checksum or a
// signature.
func checked(i *dockerfile.Instruction) bool {
	return slices.ContainsFunc(i.Commands, func(cmd *shell.Command) bool { return cmd.Is(checkers...) })
}

// unverified notes programs and archives that are downloaded and used without
// a look at them.
func unverified(v *rule.View) (out []rule.Finding) {
	done := map[*dockerfile.Instruction]bool{}
	each(v.Build.Instructions(), func(i *dockerfile.Instruction, cmd *shell.Command) {
		if done[i] || !cmd.Is(shell.Downloaders...) || checked(i) || slices.ContainsFunc(i.Commands, func(x *shell.Command) bool {
			_, ok := ranDownload(x)
			return ok
		}) {
			return
		}
		if fetcher, _ := savedThenRun(i.Commands); fetcher != nil {
			return
		}
		if slices.ContainsFunc(cmd.Args(), func(w shell.Word) bool { return dockerfile.ArchiveOrProgram.MatchString(w.Text) }) ||
			slices.ContainsFunc(i.Commands, func(x *shell.Command) bool {
				return x.Is("tar", "unzip", "dpkg") && slices.Contains(x.Sources(), cmd)
			}) {
			done[i] = true
			out = append(out, v.AtCommand(cmd, "the download is used without a checksum or signature",
				"compare it: echo \"SHA256  FILE\" | sha256sum -c"))
		}
	})
	return out
}

// insecureStep reports steps that get the host's rights or network.
func insecureStep(v *rule.View) (out []rule.Finding) {
	for _, i := range v.Build.Instructions() {
		run, ok := i.Command.(*instructions.RunCommand)
		if !ok {
			continue
		}
		for flag, bad := range map[string]bool{
			"--security=insecure": instructions.GetSecurity(run) == instructions.SecurityInsecure,
			"--network=host":      instructions.GetNetwork(run) == instructions.NetworkHost,
		} {
			if bad {
				start, end := i.Find(flag)
				out = append(out, v.AtDockerfile(start, end, flag+" opens the host to this step",
					"remove it; the engine refuses it without an entitlement anyway"))
			}
		}
	}
	return out
}

// each calls visit for every command that the instructions run while the image
// is built.
func each(list []*dockerfile.Instruction, visit func(*dockerfile.Instruction, *shell.Command)) {
	for _, i := range list {
		if i.Name != "RUN" {
			continue
		}
		for _, cmd := range i.Commands {
			visit(i, cmd)
		}
	}
}
