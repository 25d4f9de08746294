package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// ownerOf returns the user whom a command gives files to, "" for none.
func ownerOf(cmd *shell.Command) string {
	if owner, _ := userNamed(cmd); owner.Literal && cmd.Is("chown", "install") {
		return owner.Text
	}
	return ""
}

// ownerUnknown is about files for a user who is not there, or whom a step below makes.
func ownerUnknown(c *atStep) refusal { return userUnknown(c, ownerOf(c.Command)) }

// userUnknown is about a user whom a command of a step names.
func userUnknown(c *atStep, user string) refusal {
	if strings.ContainsAny(user, "$0123456789") || !c.image.Official() && !c.image.ForDevContainers() {
		return refusal{}
	}
	has, sure := c.image.HasUser(user)
	if has || !sure || user == "" {
		return refusal{}
	}
	if c.opaque() || mentioned(c.history, user) || mayMakeInStep(c, user) {
		return refusal{}
	}
	for _, i := range c.stage.Instructions {
		for _, cmd := range i.Commands {
			if kind, name, _, ok := making(cmd); ok && kind == "user" && name.Text == user && cmd.Start > c.Start {
				return refusal{message: fmt.Sprintf("no user is called %s yet: a step below makes it", user), hint: "make the user first"}
			}
		}
	}
	r := refusal{message: fmt.Sprintf("%s has no user %s, and no step makes one", c.name, user),
		hint: "make the user first, or name another", warn: !c.image.Asked() || !c.image.Official()}
	if c.image.User != "" {
		r.hint = fmt.Sprintf("the image has the user %s", c.image.User)
	}
	return r
}

// mayMakeInStep reports whether another command of the same step may make a user.
func mayMakeInStep(c *atStep, user string) bool {
	return slices.ContainsFunc(c.step.Commands, func(cmd *shell.Command) bool {
		about := slices.ContainsFunc(cmd.Args(), func(w shell.Word) bool { return names(w.Text, user) })
		return about && !cmd.Is("chown", "install", "su", "mkdir", "chmod", "touch", "cp", "mv", "ln") || packageMakes(cmd, user) ||
			computesUser(cmd) || overRoot(cmd)
	})
}

// userUnknownInHook reports the same of a hook, in a container that is an image as it is.
func userUnknownInHook(h *hookReading, cmd *shell.Command) rule.Finding {
	user := ownerOf(cmd)
	if user == "" {
		user = cmd.User
	}
	known := h.image.Official() || h.image.ForDevContainers()
	has, sure := h.image.HasUser(user)
	if user == "" || has || !sure || !known || strings.ContainsAny(user, "$0123456789") {
		return rule.Finding{}
	}
	if !h.inside() || h.v.Build != nil || featuresMake(h.v, user) || rule.Once(h.v, "hooks make users", hooksMakeUsers) {
		return rule.Finding{}
	}
	hint := "name a user that the image has"
	if h.image.User != "" {
		hint = fmt.Sprintf("the image has the user %s", h.image.User)
	}
	return rule.Finding{Message: fmt.Sprintf("%s has no user %s", h.v.BaseImage(), user), Hint: hint, Severity: diag.SeverityWarning}
}

// hooksMakeUsers reports whether some hook may make a user: by its name, by a package or by a script of others.
func hooksMakeUsers(v *rule.View) bool {
	makes := false
	eachHookText(v, func(_ string, n *jsonc.Node) {
		v.EachCommand(n, func(_ *jsonc.Node, cmd *shell.Command) {
			_, installs := installed(cmd)
			kind, _, _, _ := making(cmd)
			foreign := cmd.Is("curl", "wget", "make") || cmd.Is(shell.Shells...) && !v.IsScript(n)
			makes = makes || foreign || installs || kind == "user" || computesUser(cmd)
		})
	})
	return makes
}
