package devcontainer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/shell"
)

var (
	downloaders  = []string{"curl", "wget", "aria2c", "http", "fetch", "lwp-download"}
	interpreters = append([]string{"python", "python2", "python3", "perl", "ruby", "node", "php", "deno", "pwsh", "source", "."}, shell.Shells...)
	checkers     = []string{"sha256sum", "sha512sum", "sha384sum", "sha1sum", "shasum", "md5sum", "b2sum", "gpg", "gpgv", "gpg2", "cosign", "minisign", "signify", "openssl", "apt-key", "slsa-verifier", "rpm", "sq", "sqv", "b3sum"}
)

// ranDownload reports whether a command runs what another has just fetched:
// curl … | sh, sh <(curl …), sh -c "$(curl …)", python -c "$(curl …)".
func ranDownload(cmd *shell.Command) (fetcher *shell.Command, ok bool) {
	if !cmd.Is(interpreters...) && !cmd.Is("eval") {
		return nil, false
	}
	isFetch := func(c *shell.Command) bool { return c.Is(downloaders...) }
	from := cmd.Sources()
	if readsItsProgram(cmd) {
		if i := slices.IndexFunc(from, isFetch); i >= 0 {
			return from[i], true
		}
	}
	for n, w := range cmd.Args() {
		script := n > 0 && (cmd.Args()[n-1].Text == "-c" || cmd.Args()[n-1].Text == "-e" || strings.HasPrefix(cmd.Args()[n-1].Text, "-") && strings.HasSuffix(cmd.Args()[n-1].Text, "c"))
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
func (c *pass) downloadRun() {
	done := map[*shell.Command]bool{}
	each(c.build.instructions(), func(i *dockerfile.Instruction, cmd *shell.Command) {
		fetcher, ok := ranDownload(cmd)
		if !ok || done[fetcher] {
			return
		}
		done[fetcher] = true
		c.inBuild(fetcher.Words[0].Start, max(fetcher.Words[0].End, min(cmd.Words[0].End, i.End)), "SBX705",
			fmt.Sprintf("what %s fetches is run by %s unseen", fetcher.Name(), cmd.Name()),
			"save it, compare it with a checksum that the Dockerfile names, then run it; or install a package")
	})
}

// checked reports whether a step compares anything with a checksum or a
// signature.
func checked(i *dockerfile.Instruction) bool {
	return slices.ContainsFunc(i.Commands, func(cmd *shell.Command) bool { return cmd.Is(checkers...) })
}

var archiveOrProgram = regexp.MustCompile(`(?i)(\.(tar(\.\w+)?|tgz|txz|zip|deb|rpm|apk|gz|xz|bz2|sh|run|whl|jar|py|AppImage)|/bin/[^/]+)$`)

// unverified notes programs and archives that are downloaded and used without
// a look at them.
func (c *pass) unverified() {
	done := map[*dockerfile.Instruction]bool{}
	each(c.build.instructions(), func(i *dockerfile.Instruction, cmd *shell.Command) {
		if done[i] || !cmd.Is(downloaders...) || checked(i) || slices.ContainsFunc(i.Commands, func(x *shell.Command) bool { _, ok := ranDownload(x); return ok }) {
			return
		}
		if slices.ContainsFunc(cmd.Args(), func(w shell.Word) bool { return archiveOrProgram.MatchString(w.Text) }) ||
			slices.ContainsFunc(i.Commands, func(x *shell.Command) bool { return x.Is("tar", "unzip", "dpkg") && slices.Contains(x.Sources(), cmd) }) {
			done[i] = true
			c.atCommand(cmd, "SBX716", "the download is used without a checksum or signature", "compare it: echo \"SHA256  FILE\" | sha256sum -c")
		}
	})
}

// tlsOff reports switched-off checks of certificates.
func (c *pass) tlsOff() {
	const hint = "install the authority's certificate instead"
	each(c.build.instructions(), func(_ *dockerfile.Instruction, cmd *shell.Command) {
		if w, what, ok := insecure(cmd); ok {
			c.atWord(w, "SBX720", what, hint)
		}
		for _, a := range cmd.Assigns {
			if insecureVariable(a.Name, a.Text) {
				c.atWord(a.Word, "SBX720", a.Name+" switches the check of certificates off", hint)
			}
		}
	})
	for _, i := range c.build.instructions() {
		if e, ok := i.Command.(*instructions.EnvCommand); ok {
			for _, kv := range e.Env {
				if insecureVariable(kv.Key, i.Expand(kv.Value)) {
					start, end := i.Find(kv.Key)
					c.inBuild(start, end, "SBX720", kv.Key+" switches the check of certificates off", hint)
				}
			}
		}
	}
}

func insecureVariable(name, value string) bool {
	value = strings.ToLower(strings.Trim(value, `"'`))
	switch strings.ToUpper(name) {
	case "NODE_TLS_REJECT_UNAUTHORIZED", "PYTHONHTTPSVERIFY":
		return value == "0"
	case "GIT_SSL_NO_VERIFY":
		return value != "" && value != "0" && value != "false"
	case "NPM_CONFIG_STRICT_SSL":
		return value == "false"
	case "PIP_TRUSTED_HOST", "GOINSECURE", "UV_INSECURE_HOST":
		return value != ""
	case "CURL_INSECURE":
		return value == "1"
	}
	return false
}

// insecure finds the word that switches the check off.
func insecure(cmd *shell.Command) (shell.Word, string, bool) {
	find := func(ok func(string) bool) (shell.Word, bool) {
		args := cmd.Args()
		if n := slices.IndexFunc(args, func(w shell.Word) bool { return ok(w.Text) }); n >= 0 {
			return args[n], true
		}
		return shell.Word{}, false
	}
	flag := func(names ...string) (shell.Word, bool) {
		return find(func(s string) bool {
			return slices.ContainsFunc(names, func(n string) bool { return s == n || strings.HasPrefix(s, n+"=") })
		})
	}
	var w shell.Word
	ok := false
	switch cmd.Name() {
	case "curl":
		w, ok = curlInsecure(cmd)
	case "wget":
		w, ok = flag("--no-check-certificate")
	case "npm", "yarn", "pnpm":
		var value shell.Word
		if w, ok = find(func(s string) bool { return strings.Contains(s, "strict-ssl") }); ok {
			value, ok = find(func(s string) bool { return s == "false" || strings.HasSuffix(s, "=false") || s == "--no-strict-ssl" })
			w.End = max(w.End, value.End)
		}
	case "git":
		var value shell.Word
		if w, ok = find(func(s string) bool { return strings.Contains(strings.ToLower(s), "sslverify") }); ok {
			value, ok = find(func(s string) bool { return s == "false" || strings.HasSuffix(s, "=false") || s == "0" })
			w.End = max(w.End, value.End)
		}
	case "pip", "pip3", "uv", "pipx", "python", "python3":
		w, ok = flag("--trusted-host", "--allow-insecure-host")
	case "apt-get", "apt":
		w, ok = flag("--allow-unauthenticated", "--force-yes", "--allow-insecure-repositories", "--no-allow-insecure-repositories=false")
	case "apk":
		w, ok = flag("--allow-untrusted")
	case "yum", "dnf", "microdnf":
		w, ok = flag("--nogpgcheck")
	case "zypper":
		w, ok = flag("--no-gpg-checks")
	case "gem":
		w, ok = find(func(s string) bool { return strings.Contains(s, "ssl_verify_mode") && strings.Contains(s, "0") })
	}
	if ok {
		return w, cmd.Name() + " is told not to check whom it talks to or what it gets", true
	}
	return w, "", false
}

// curlInsecure finds -k in its own word or in a group. Letters of a group
// behind one that takes a value belong to the value ("-okey").
func curlInsecure(cmd *shell.Command) (shell.Word, bool) {
	const valued = "AbcCdDeEFhHKmoPQrtTuUwxXyYz"
	skip := false
	for _, w := range cmd.Args() {
		if skip {
			skip = false
			continue
		}
		if w.Text == "--insecure" || w.Text == "--proxy-insecure" {
			return w, true
		}
		if len(w.Text) < 2 || w.Text[0] != '-' || w.Text[1] == '-' {
			continue
		}
		for n, letter := range w.Text[1:] {
			if letter == 'k' {
				return w, true
			}
			if strings.ContainsRune(valued, letter) {
				skip = n+2 == len(w.Text)
				break
			}
		}
	}
	return shell.Word{}, false
}

// insecureStep reports steps that get the host's rights or network.
func (c *pass) insecureStep() {
	for _, i := range c.build.instructions() {
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
				c.inBuild(start, end, "SBX718", flag+" opens the host to this step", "remove it; the engine refuses it without an entitlement anyway")
			}
		}
	}
}

var (
	octal    = regexp.MustCompile(`^[0-7]{3,4}$`)
	symbolic = regexp.MustCompile(`^[ugoa]*([+=][rwxXst]+)(,[ugoa]*[-+=][rwxXst]*)*$`)
)

// modes reports setuid programs and what everybody may write to.
func (c *pass) modes() {
	judge := func(mode string, at func(rule, message, hint string)) {
		switch {
		case setsUID(mode):
			at("SBX707", mode+" makes it run with its owner's rights, whoever starts it", "leave the bit out; do as root in the Dockerfile what needs root")
		case worldWritable(mode):
			at("SBX717", mode+" lets every user change it", "give it to the one user that needs it: chown, or chmod u+rwX")
		}
	}
	each(c.build.history(), func(_ *dockerfile.Instruction, cmd *shell.Command) {
		var w shell.Word
		ok, directory := false, false
		switch {
		case cmd.Is("chmod"):
			words := cmd.Operands()
			if ok = len(words) > 1; ok {
				w = words[0]
				directory = !slices.ContainsFunc(words[1:], func(t shell.Word) bool {
					return !strings.HasPrefix(t.Text, "/tmp") && !strings.HasPrefix(t.Text, "/var/tmp")
				})
			}
		case cmd.Is("install", "mkdir"):
			w, ok = cmd.Value("-m", "--mode")
			directory = cmd.Is("mkdir")
		}
		if ok && !directory {
			judge(w.Text, func(rule, message, hint string) { c.atWord(w, rule, message, hint) })
		}
	})
	for _, i := range c.build.history() {
		mode := ""
		switch cmd := i.Command.(type) {
		case *instructions.CopyCommand:
			mode = cmd.Chmod
		case *instructions.AddCommand:
			mode = cmd.Chmod
		}
		if mode != "" {
			judge(mode, func(rule, message, hint string) {
				start, end := i.Find("--chmod=" + mode)
				c.inBuild(start, end, rule, message, hint)
			})
		}
	}
}

func setsUID(mode string) bool {
	if octal.MatchString(mode) {
		return len(mode) == 4 && (mode[0]-'0')&4 != 0
	}
	who, what, ok := strings.Cut(mode, "+")
	return ok && symbolic.MatchString(mode) && strings.Contains(what, "s") && (who == "" || strings.ContainsAny(who, "ua"))
}

// worldWritable leaves out folders like /tmp, whose sticky bit keeps their
// files apart.
func worldWritable(mode string) bool {
	if octal.MatchString(mode) {
		sticky := len(mode) == 4 && (mode[0]-'0')&1 != 0
		return !sticky && (mode[len(mode)-1]-'0')&2 != 0
	}
	if !symbolic.MatchString(mode) {
		return false
	}
	for clause := range strings.SplitSeq(mode, ",") {
		at := strings.IndexAny(clause, "+=")
		if at >= 0 && strings.Contains(clause[at:], "w") && strings.ContainsAny(clause[:at], "oa") {
			return true
		}
	}
	return false
}

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
		quiet := slices.ContainsFunc(cmd.Args(), func(w shell.Word) bool { return strings.Contains(w.Text, "qq") && w.Text[0] == '-' || w.Text == "-q=2" })
		if !yes && !quiet && !answers && !piped(cmd) && !strings.Contains(i.Source(), "APT_GET") {
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

// piped reports whether something answers the questions: yes | apt-get …
func piped(cmd *shell.Command) bool { return len(cmd.From) > 0 || cmd.Input != "" }
