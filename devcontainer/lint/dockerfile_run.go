package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
)

var (
	interpreters = append([]string{"python", "python2", "python3", "perl", "ruby", "node", "php", "deno", "pwsh", "source", "."},
		shell.Shells...)
	checkers = []string{"sha256sum", "sha512sum", "sha384sum", "sha1sum", "shasum", "md5sum", "b2sum", "gpg", "gpgv", "gpg2",
		"cosign", "minisign", "signify", "openssl", "apt-key", "slsa-verifier", "rpm", "sq", "sqv", "b3sum"}
)

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

// readsItsProgram reports whether an interpreter takes its program from its
// input: no file and no -c, or a name that stands for the input.
func readsItsProgram(cmd *shell.Command) bool {
	args := cmd.Args()
	for n, w := range args {
		switch t := w.Text; {
		case t == "-" || t == "/dev/stdin" || t == "/proc/self/fd/0" || t == "-s" || t == "-is" || t == "--":
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
		first := fetcher.Words[0]
		out = append(out, v.AtDockerfile(first.Start, max(first.End, min(cmd.Words[0].End, i.End)),
			fmt.Sprintf("what %s fetches is run by %s unseen", fetcher.Name(), cmd.Name()),
			"save it, compare it with a checksum that the Dockerfile names, then run it; or install a package"))
	})
	return out
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
