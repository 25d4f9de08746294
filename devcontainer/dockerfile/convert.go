package dockerfile

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/go-connections/nat"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	lexer "github.com/moby/buildkit/frontend/dockerfile/shell"

	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// BuildKit reads a whole file first, and makes steps of the instructions that are needed afterwards.
// This code finds the files that it refuses only then: the package that does it (dockerfile2llb) brings a
// daemon's packages with it. A test compares the two.

// errUnknown stands for a value that only the image or the build knows.
var errUnknown = errors.New("unknown value")

// convert reports why no step can be made of an instruction, with the variables in effect at it.
// One with a value that is not known is left alone.
func (p *reader) convert(i *Instruction) {
	var message, hint, at string
	switch c := i.Command.(type) {
	case *instructions.EnvCommand:
		message, at = p.unexpandable(pairs(c.Env))
	case *instructions.ArgCommand:
		message, at = p.unexpandable(p.defaults(c))
	case *instructions.LabelCommand:
		message, at = p.unexpandable(pairs(c.Labels))
	case *instructions.WorkdirCommand:
		message, at = p.unexpandable([]string{c.Path})
	case *instructions.UserCommand:
		message, at = p.unexpandable([]string{c.User})
	case *instructions.VolumeCommand:
		if message, at = p.unexpandable(c.Volumes); message == "" && slices.ContainsFunc(c.Volumes, p.isEmpty) {
			message = "VOLUME names no folder"
		}
	case *instructions.ExposeCommand:
		message, hint, at = p.ports(c.Ports)
	case *instructions.StopSignalCommand:
		message, at = p.signal(c.Signal)
	case *instructions.AddCommand:
		if message, at = p.unexpandable(transfer(c.SourcesAndDest, c.ExcludePatterns, c.Chown, c.Chmod, c.Checksum)); message == "" {
			if message, hint, at = p.mode(c.Chmod); message == "" {
				message, hint, at = p.checksum(c)
			}
		}
	case *instructions.CopyCommand:
		if message, at = p.unexpandable(transfer(c.SourcesAndDest, c.ExcludePatterns, c.Chown, c.Chmod)); message == "" {
			if message, hint, at = p.mode(c.Chmod); message == "" {
				message, hint, at = p.copied(c)
			}
		}
	case *instructions.RunCommand:
		message = p.mounts(c)
	}
	if message == "" {
		return
	}
	start, end := i.Find(at)
	p.file.Problems = append(p.file.Problems, Problem{Start: start, End: end, Message: message, Hint: hint, Stage: p.stage})
}

// pairs are the words of NAME=VALUE.
func pairs(list instructions.KeyValuePairs) (out []string) {
	for _, kv := range list {
		out = append(out, kv.Key, kv.Value)
	}
	return out
}

// defaults are the values of ARG that count: those for which the build gives none.
func (p *reader) defaults(c *instructions.ArgCommand) (out []string) {
	for _, kv := range c.Args {
		if _, given := p.options.Args[kv.Key]; !given && kv.Value != nil && !slices.Contains(p.options.UnknownArgs, kv.Key) {
			out = append(out, *kv.Value)
		}
	}
	return out
}

// transfer are the words of COPY and ADD.
func transfer(files instructions.SourcesAndDest, excluded []string, flags ...string) []string {
	return slices.Concat(flags, excluded, files.SourcePaths, []string{files.DestPath})
}

// fill replaces the variables of a word, or says why BuildKit refuses them, or that one is unknown.
func (p *reader) fill(word string) (string, error) {
	if !strings.ContainsAny(word, "$\"'`\\") {
		return word, nil
	}
	variables := p.stage.variables()
	if p.file.work.Spent() || !p.file.work.Spend(cost(word, variables)) {
		return "", errUnknown
	}
	result, err := p.lex.ProcessWordWithMatches(word, variables)
	if err == nil && len(result.Unmatched) > 0 { // p.lex passes over what is not set, and over mistakes in it
		plain := lexer.NewLex(p.escape)
		if _, err = plain.ProcessWordWithMatches(word, variables); err == nil {
			err = errUnknown
		}
	}
	switch {
	case err == nil:
		return result.Result, nil
	case demanded.MatchString(word):
		return "", errUnknown
	}
	return "", err
}

// demanded matches what BuildKit refuses here, and not where it is built: a variable that must be
// set, which the image may do, and an option of a Template.
var demanded = lazyregexp.New(`\$\{(\w+:?\?|templateOption:)`)

// unexpandable returns why BuildKit cannot read the variables and quotes of one of the words.
func (p *reader) unexpandable(words []string) (message, at string) {
	for _, word := range words {
		if _, err := p.fill(word); err != nil && err != errUnknown {
			return expansion(err), word
		}
	}
	return "", ""
}

// expansion is what BuildKit says of variables and quotes, without the byte that stands for the end of the text.
func expansion(err error) string {
	return strings.Replace(err.Error(), "unsupported modifier (\uFFFD) in substitution", "there is no } behind it", 1)
}

// isEmpty reports whether nothing is left of a word.
func (p *reader) isEmpty(word string) bool {
	text, err := p.fill(word)
	return err == nil && text == ""
}

// ports judges the ports of EXPOSE.
func (p *reader) ports(list []string) (message, hint, at string) {
	for _, word := range list {
		text, err := p.fill(word)
		if err == errUnknown {
			continue
		}
		if err != nil {
			return expansion(err), "", word
		}
		for _, port := range strings.Fields(text) {
			if _, err := nat.ParsePortSpec(port); err == nil {
				continue
			}
			if strings.HasPrefix(port, "#") {
				return fmt.Sprintf("%q is no port", port), "a comment has a line of its own", word
			}
			return fmt.Sprintf("%q is no port", port), "write one up to 65535 or two with a minus, and /tcp, /udp or /sctp behind them", word
		}
	}
	return "", "", ""
}

// signals are the names of Linux's, which the engine takes with and without SIG.
var signals = strings.Fields("ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM " +
	"TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX")

// realTime matches the real-time signals that have a number.
var realTime = lazyregexp.New(`^(RTMIN\+([1-9]|1[0-5])|RTMAX-([1-9]|1[0-4]))$`)

// signal judges a STOPSIGNAL.
func (p *reader) signal(word string) (message, at string) {
	text, err := p.fill(word)
	if err == errUnknown {
		return "", ""
	}
	if err != nil {
		return expansion(err), word
	}
	name := strings.TrimPrefix(strings.ToUpper(text), "SIG")
	n, err := strconv.Atoi(text)
	if err == nil && n != 0 || err != nil && (slices.Contains(signals, name) || realTime.MatchString(name)) {
		return "", ""
	}
	return fmt.Sprintf("there is no signal %q", text), word
}

// symbolicMode is a mode as chmod takes it in letters.
var symbolicMode = lazyregexp.New(`^[ugoa]*([-+=][rwxXstugo]*)+(,[ugoa]*([-+=][rwxXstugo]*)+)*$`)

// mode judges a --chmod.
func (p *reader) mode(word string) (message, hint, at string) {
	text, err := p.fill(word)
	if err != nil || text == "" || symbolicMode.MatchString(text) {
		return "", "", ""
	}
	if n, err := strconv.ParseUint(text, 8, 32); err == nil && n <= 0o7777 {
		return "", "", ""
	}
	return fmt.Sprintf("--chmod=%s is no mode", text), "write octal digits up to 7777, or letters such as u+x", "--chmod=" + word
}

var (
	remoteFile       = lazyregexp.New(`^https?://`)
	remoteRepository = lazyregexp.New(`^(git|ssh)://|^https?://[^?#]*\.git([?#]|$)|^[a-zA-Z0-9_-]+@[a-zA-Z0-9.-]+:`)
	checksumForm     = lazyregexp.New(`^(sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128})$`)
)

// checksum judges a --checksum of ADD.
func (p *reader) checksum(c *instructions.AddCommand) (message, hint, at string) {
	sum, err := p.fill(c.Checksum)
	if err != nil || sum == "" {
		return "", "", ""
	}
	at = "--checksum=" + c.Checksum
	if len(c.SourcePaths) != 1 {
		return "--checksum is of one source, and there are more", "write an ADD for each", at
	}
	source, err := p.fill(c.SourcePaths[0])
	switch {
	case err != nil || remoteRepository.MatchString(source) || strings.HasPrefix(source, "github.com/"):
		return "", "", ""
	case !remoteFile.MatchString(source):
		return "--checksum is of what ADD fetches, and " + source + " is a file of the context", "remove it", at
	case !checksumForm.MatchString(sum):
		return fmt.Sprintf("%q is no checksum", sum), "write sha256: and 64 digits from 0 to f", at
	}
	return "", "", ""
}

// copied judges where COPY takes its files from.
func (p *reader) copied(c *instructions.CopyCommand) (message, hint, at string) {
	if !isPlain(c.From) {
		from, err := lexer.NewLex(p.escape).ProcessWordWithMatches(c.From, scope{})
		if err != nil && !demanded.MatchString(c.From) {
			return expansion(err), "", "--from=" + c.From
		}
		if len(from.Unmatched) > 0 {
			return "--from takes no variables", "write FROM " + c.From + " AS NAME, and take the files from NAME", "--from=" + c.From
		}
	}
	for _, word := range c.SourcePaths {
		if source, err := p.fill(word); err == nil && (remoteFile.MatchString(source) || remoteRepository.MatchString(source)) {
			return "COPY fetches nothing", "ADD takes addresses and repositories", word
		}
	}
	return "", "", ""
}

// mounts judges the mounts of a RUN.
func (p *reader) mounts(c *instructions.RunCommand) string {
	if len(instructions.GetMounts(c)) == 0 {
		return ""
	}
	if err := c.Expand(p.fill); err != nil {
		if errors.Is(err, errUnknown) {
			return ""
		}
		text, _, _ := strings.Cut(err.Error(), "\n")
		return "--mount: " + text
	}
	for _, m := range instructions.GetMounts(c) {
		switch {
		case m.Type == instructions.MountTypeSSH && m.Source != "":
			return "--mount=type=ssh takes no source; id names the agent"
		case slices.Contains(placed, m.Type) && isRoot(m.Target):
			return "--mount would take the place of /"
		}
	}
	return ""
}

// placed are the mounts that lie at their target.
var placed = []instructions.MountType{instructions.MountTypeBind, instructions.MountTypeCache, instructions.MountTypeTmpfs}

// isRoot reports whether a path is the whole file system's, however it is written.
func isRoot(path string) bool {
	return strings.HasPrefix(path, "/") && strings.Trim(path, "/.") == "" && !strings.Contains(path, "...")
}

// platformWords are the systems and processors that stand alone in a platform.
var platformWords = strings.Fields("aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris " +
	"windows zos 386 amd64 amd64p32 arm arm64 arm64be armbe loong64 mips mips64 mips64le mips64p32 mips64p32le mipsle " +
	"ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm i386 x86_64 x86-64 aarch64 armhf armel macos")

// platformForm is OS[(VERSION)][/ARCHITECTURE[/VARIANT]].
var platformForm = lazyregexp.New(`^[\w-]+(\([^()]*\))?(/[\w-]+){0,2}$`)

// platform reports a --platform of FROM that is none.
func (p *reader) platform(i *Instruction, from *instructions.Stage) {
	if from.Platform == "" {
		return
	}
	result, err := p.lex.ProcessWordWithMatches(from.Platform, scope{p.file.Args, nil})
	if err != nil || len(result.Unmatched) > 0 {
		return // BUILDPLATFORM and the like
	}
	text := result.Result
	system, _, _ := strings.Cut(strings.ToLower(text), "(")
	if platformForm.MatchString(text) && (strings.Contains(text, "/") || slices.Contains(platformWords, system)) {
		return
	}
	start, end := i.Find("--platform=" + from.Platform)
	p.file.Problems = append(p.file.Problems, Problem{Start: start, End: end, Message: fmt.Sprintf("%q is no platform", text),
		Hint: "write OS/ARCHITECTURE, such as linux/arm64"})
}
