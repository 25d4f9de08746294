package gitdir

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/hostprogram"
)

// Value is one line of a git configuration.
type Value struct {
	Section, Sub, Name string // Section and Name in lower case
	Value              string
}

// kept are the settings that an agent's configuration takes over, "section.name"
// for all subsections. None names a program, a file or a credential.
var kept = []string{
	"core.repositoryformatversion", "core.filemode", "core.ignorecase", "core.symlinks", "core.autocrlf", "core.eol", "core.safecrlf",
	"core.precomposeunicode", "core.sparsecheckout", "core.sparsecheckoutcone", "core.quotepath", "core.abbrev", "core.logallrefupdates",
	"extensions.objectformat", "extensions.partialclone", "extensions.worktreeconfig", "extensions.noop", "extensions.preciousobjects",
	"remote.url", "remote.fetch", "remote.promisor", "remote.partialclonefilter",
	"branch.remote", "branch.merge", "branch.rebase",
	"user.name", "user.email",
	"submodule.url", "submodule.active", "submodule.branch",
	"init.defaultbranch", "pull.rebase", "merge.conflictstyle", "diff.algorithm", "commit.cleanup",
}

// readConfig returns what an agent's configuration takes over of a git
// directory's: common's config, and config.worktree of dir where it counts.
func readConfig(common, dir string) ([]Value, error) {
	values, err := listConfig(filepath.Join(common, "config"))
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(values, Value.turnsOnWorktreeConfig) {
		more, err := listConfig(filepath.Join(dir, "config.worktree"))
		if err != nil {
			return nil, err
		}
		values = append(values, more...)
	}
	var out []Value
	for _, v := range values {
		if v, keep := v.clean(); keep {
			out = append(out, v)
		}
	}
	return out, nil
}

func (v Value) turnsOnWorktreeConfig() bool {
	return v.Section == "extensions" && v.Name == "worktreeconfig" && strings.EqualFold(v.Value, "true")
}

// clean returns a value as the agent may have it.
func (v Value) clean() (clean Value, keep bool) {
	if !slices.Contains(kept, v.Section+"."+v.Name) || v.turnsOnWorktreeConfig() { // the agent's has one file
		return Value{}, false
	}
	switch {
	case v.Name == "url":
		v.Value = withoutCredential(v.Value)
	case v.Section == "user":
		v.Value = identityText(v.Value)
		return v, v.Value != ""
	}
	return v, true
}

// withoutCredential takes user, password and query out of an address: nothing
// in the sandbox uses it to reach the remote.
func withoutCredential(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" || u.Host == "" {
		if strings.Contains(address, "://") { // which part of it is a password is not known
			return ""
		}
		return address
	}
	if u.Scheme == "ssh" && u.User != nil {
		u.User = url.User(u.User.Username())
	} else {
		u.User = nil
	}
	u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = "", false, "", ""
	return u.String()
}

// ErrNoGit says that a repository cannot be worked with.
var ErrNoGit = errors.New("this machine has no git")

// gitProgram is git on this machine.
func gitProgram() (string, error) {
	program, err := hostprogram.Find("git")
	if errors.Is(err, exec.ErrNotFound) {
		err = diag.WithHint(ErrNoGit, "install git")
	}
	return program, err
}

// listConfig reads one configuration file. A missing one is empty.
func listConfig(file string) ([]Value, error) {
	text, err := readSmall(filepath.Dir(file), filepath.Base(file))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseConfig(file, text)
}

// parseConfig reads the text of a configuration file with git's own parser, which runs
// nothing and reads no other file for that.
func parseConfig(file, text string) ([]Value, error) {
	program, err := gitProgram()
	if err != nil {
		return nil, fmt.Errorf("%w, which alone can read the repository's configuration", err)
	}
	cmd := exec.Command(program, "config", "--file", "-", "--no-includes", "--list", "-z")
	cmd.Dir, cmd.Env, cmd.Stdin = string(filepath.Separator), environment(), strings.NewReader(text)
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("git cannot read %s: %s", file, strings.TrimSpace(problem.String()))
	}
	var values []Value
	for entry := range strings.SplitSeq(out.String(), "\x00") {
		if entry == "" {
			continue
		}
		key, value, isSet := strings.Cut(entry, "\n")
		if !isSet {
			value = "true" // as git takes a name alone
		}
		first, last := strings.Index(key, "."), strings.LastIndex(key, ".")
		if first < 0 {
			continue
		}
		v := Value{Section: key[:first], Name: key[last+1:], Value: value}
		if first < last {
			v.Sub = key[first+1 : last]
		}
		values = append(values, v)
	}
	return values, nil
}

// configValue is the last value of a key without subsection, "" if there is none.
func configValue(dir, key string) (value string) {
	values, err := listConfig(filepath.Join(dir, "config"))
	if err != nil {
		return ""
	}
	for _, v := range values {
		if v.Section+"."+v.Name == key {
			value = v.Value
		}
	}
	return value
}

// formatConfig writes values as a configuration file.
func formatConfig(values []Value) string {
	var b strings.Builder
	for _, v := range values {
		if v.Sub == "" {
			fmt.Fprintf(&b, "[%s]\n", v.Section)
		} else {
			fmt.Fprintf(&b, "[%s \"%s\"]\n", v.Section, strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", "").Replace(v.Sub))
		}
		fmt.Fprintf(&b, "\t%s = \"%s\"\n", v.Name, strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(v.Value))
	}
	return b.String()
}

// environment is ours without variables that steer git, and without
// configuration of the user's or the machine's.
func environment() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") {
			env = append(env, v)
		}
	}
	return append(env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1", "GIT_ATTR_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
}
