package rule

import (
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// StartUser returns the user of the container's first process, as far as the
// files say. The reference CLI puts runArgs behind containerUser, and the engine
// takes the last word; a Compose service's user wins over the Dockerfile's.
func (v *View) StartUser() (user rights.Right, known bool) {
	for _, notation := range []rights.Notation{rights.Option, rights.Property, rights.Compose, rights.Dockerfile} {
		for _, r := range v.Of(rights.User) {
			if r.Notation == notation && !r.Next && !strings.Contains(r.Value, "$") {
				return r, true
			}
		}
	}
	return rights.Right{}, false
}

// SessionUser returns the user of an editor's sessions and of lifecycle commands,
// as far as the files say. A label's remoteUser counts from the second session on, its
// containerUser for none (measured with the reference CLI 0.89): before that they are
// the first process's user, and root counts whenever it is. The user that a variable
// names is not known.
func (v *View) SessionUser() (user string, known bool) {
	start, known := v.StartUser()
	user = start.Value
	for _, r := range v.Of(rights.Session) {
		if r.Notation == rights.Property {
			return r.Value, !strings.Contains(r.Value, "$")
		}
		if IsRoot(r.Value) || known && !IsRoot(user) {
			user, known = r.Value, true
		}
	}
	return user, known
}

// Start returns what the first process runs, as far as the files say, as the engine takes
// it: --entrypoint wins over Compose, Compose over the Dockerfile, and an entrypoint resets
// the command of what it wins over. One without Words is the image's own.
func (v *View) Start() (entrypoint, command rights.Right) {
	for _, notation := range []rights.Notation{rights.Dockerfile, rights.Compose, rights.Option} {
		for _, r := range v.Of(rights.Entrypoint, rights.Command) {
			switch {
			case r.Notation != notation || r.Next:
			case r.Kind == rights.Command:
				command = r
			default:
				entrypoint = r
				if command.Notation != notation {
					command = rights.Right{}
				}
			}
		}
	}
	return entrypoint, command
}

// NamedUser returns the user that the configuration names, and where.
func (c *View) NamedUser() *jsonc.Node {
	for _, key := range []string{"remoteUser", "containerUser"} {
		if n := c.Root.Member(key); n != nil && n.Kind == jsonc.String {
			return n
		}
	}
	return nil
}

// IsRoot reports whether the engine takes a user for root, by the name or by a number such
// as 0, 00 or +0.
func IsRoot(user string) bool {
	name, _, _ := strings.Cut(user, ":")
	number, err := strconv.Atoi(name)
	return name == "root" || err == nil && number == 0
}

// ForDevContainers are images whose label names a remoteUser.
var ForDevContainers = lazyregexp.New(`(^|/)(devcontainers?|vscode/devcontainers)/|^ghcr\.io/[^/]+/claude-sandbox`)

// SudoersPath matches the files with the rules of sudo.
var SudoersPath = lazyregexp.New(`/etc/sudoers(\.d/|$|\.d$)`)

func (c *View) HasFeatures() bool {
	n := c.Root.Member("features")
	return n != nil && len(n.Members) > 0
}

// BuildContext reports whether build.options, or the Compose service, names a
// further context, which --from may mean.
func (c *View) BuildContext(name string) bool {
	if s := c.Composed.Dev(); s != nil && slices.ContainsFunc(s.Get("build").Get("additional_contexts").Variables(),
		func(v compose.Variable) bool { return v.Name == name }) {
		return true
	}
	return slices.ContainsFunc(c.BuildArgs, func(a rights.Arg) bool {
		return a.Flag == "build-context" && strings.HasPrefix(a.Value, name+"=")
	})
}
