package gitdir

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/org/claude-sandbox/internal/hostprogram"
)

// How the agent signs its commits where the host's git names no author.
const (
	defaultName  = "Claude"
	defaultEmail = "claude@sandbox.invalid"
)

// Bounds on reading who the author is: a configuration may include a file that has
// no end.
const (
	identityTime  = 5 * time.Second
	identityBytes = 64 << 10 // of what git prints
	maxIdentity   = 200      // bytes of a name or an address
)

// Identity is the author that git on the host has for commits: user.name and
// user.email as 'git config' gives them, of the repository with the git directory
// dir or, for "", of the user. It runs nothing that a configuration names. Where git
// has none, or only one of the two, the owner is Claude <claude@sandbox.invalid>, and
// IsDefault is set.
func Identity(ctx context.Context, dir string) Owner {
	o := Owner{Name: defaultName, Email: defaultEmail, IsDefault: true}
	program, err := hostprogram.Find("git")
	if err != nil {
		return o
	}
	ctx, cancel := context.WithTimeout(ctx, identityTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "config", "-z", "--get-regexp", `^user\.(name|email)$`)
	cmd.Dir = string(filepath.Separator)
	for _, v := range os.Environ() { // the user may have configured git by variables
		if !strings.HasPrefix(v, "GIT_") || strings.HasPrefix(v, "GIT_CONFIG_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	if dir != "" {
		cmd.Dir, cmd.Env = dir, append(cmd.Env, "GIT_DIR="+dir)
	}
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return o
	}
	var text bytes.Buffer
	_, _ = io.Copy(&text, io.LimitReader(out, identityBytes))
	cancel() // whatever it has to say in addition
	_ = cmd.Wait()
	last := map[string]string{}
	for entry := range strings.SplitSeq(text.String(), "\x00") {
		key, value, _ := strings.Cut(entry, "\n")
		last[key] = identityText(value)
	}
	if name, email := last["user.name"], last["user.email"]; name != "" && email != "" {
		return Owner{Name: name, Email: email}
	}
	return o
}

// identityText is a name or an address without what could drive a terminal, end a
// line or look like another place of a commit's header. It is "" where git would
// refuse what is left.
func identityText(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || strings.ContainsRune("<>", r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	for len(text) > maxIdentity {
		text = text[:strings.LastIndexFunc(text, func(rune) bool { return true })]
	}
	text = strings.TrimSpace(text)
	if strings.Trim(text, ` .,:;\"'`) == "" { // ident.c, crud
		return ""
	}
	return text
}
