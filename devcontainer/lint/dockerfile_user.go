package lint

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/schema"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// leftToRoot reports whether a Dockerfile with a last stage may leave the container to root. Images made for dev
// containers name a user of their own in a label, which counts more than USER.
func leftToRoot(v *rule.View) bool {
	base := v.Build.Final.Base()
	return base.Known && v.NamedUser() == nil && !v.Sandboxed() && // SBX805 says it of a sandbox
		!rule.ForDevContainers.MatchString(base.Image)
}

// endsAsRoot reports a container that its Dockerfile leaves to root.
func endsAsRoot(v *rule.View) []rule.Finding {
	if v.Build == nil || v.Build.Final == nil || !rule.IsRoot(v.Build.Final.User) {
		return nil
	}
	last := v.Build.Final.Last("USER")
	if last == nil || !leftToRoot(v) {
		return nil
	}
	return []rule.Finding{v.AtDockerfile(last.Start, last.HeadEnd, "the container runs as root",
		"end with an unprivileged USER, or set remoteUser")}
}

// noUser notes a Dockerfile that leaves the choice of a user to its base image.
func noUser(v *rule.View) []rule.Finding {
	if v.Build == nil || v.Build.Final == nil || v.Build.Final.User != "" || v.Build.Final.Last("USER") != nil {
		return nil
	}
	if !leftToRoot(v) || v.HasFeatures() || strings.Contains(v.Build.Final.Base().Image, "nonroot") {
		return nil
	}
	message, hint := "no USER, and the configuration names no remoteUser", "create a user and end with USER, or set remoteUser"
	if v.Bare {
		message, hint = "no USER, so the container runs as the base image's user, mostly root", "create a user and end with USER"
	}
	from := v.Build.Final.From
	return []rule.Finding{v.AtDockerfile(from.Start, from.HeadEnd, message, hint)}
}

// usersMissing reports users that the container lacks: those whom the configuration names, its build and its hooks.
func usersMissing(v *rule.View) []rule.Finding {
	return append(userMissing(v), hookMeanings(v, userUnknownInHook)...)
}

// userMissing reports users that neither the image nor the Dockerfile has.
func userMissing(v *rule.View) (out []rule.Finding) {
	b := v.Build
	if schema.Misspelt(v.Mismatches, v.Root, "features") {
		return nil
	}
	if b == nil {
		return imageUserMissing(v)
	}
	if b.Final == nil || v.HasFeatures() && featuresMake(v, "-") {
		return // a Feature may create any user
	}
	base := b.Final.Base()
	image, known := baseimage.Of(base.Image)
	if !known || !base.Known || !image.UsersKnown() || image.ForDevContainers() && !image.Lacks("docker") {
		return nil
	}
	severity := diag.Severity("") // the rule's
	facts := image.Official() || image.ForDevContainers()
	if _, sure := image.HasUser("-"); !sure || !facts || slices.ContainsFunc(b.History(), mayMakeAnyUser) {
		severity = diag.SeverityWarning
	}
	defer func() {
		for n := range out {
			out[n].Severity = severity
		}
	}()
	asked := map[string]bool{}
	has := func(user string) bool {
		name, _, _ := strings.Cut(user, ":")
		if !numberless(name) {
			return true
		}
		answer, known := asked[name]
		if !known {
			answer, _ = image.HasUser(name)
			answer = answer || mentioned(b.History(), name)
			asked[name] = answer
		}
		return answer
	}
	hint := func(name string) string {
		if made := usersMade(b.History()); len(made) > 0 {
			return fmt.Sprintf("the Dockerfile creates the user %s: name that one", cmp.Or(nearest(name, made), made[0]))
		}
		if own := b.Final.User; own != name && numberless(own) && !rule.IsRoot(own) {
			return fmt.Sprintf("the Dockerfile works as %s: name that user, or create %s above its USER", own, name)
		}
		if !image.Official() {
			return fmt.Sprintf("the image has the user %s; another one is made with RUN useradd --create-home %s", image.User, name)
		}
		return fmt.Sprintf("create it: RUN useradd --create-home %s", name)
	}
	for _, n := range []*jsonc.Node{v.NamedUser(), firstUser(v)} {
		if n == nil || rights.Variable.MatchString(n.Text) || has(n.Text) || featuresMake(v, n.Text) {
			continue
		}
		out = append(out, v.AtValue(n, fmt.Sprintf("%s has no user %q, and the Dockerfile does not create it", base.Image, n.Text),
			hint(n.Text)).Offering(otherUser(v, n, image.User)))
		return
	}
	if last := b.Final.Last("USER"); last != nil && !has(b.Final.User) {
		start, end := last.Find(last.Command.(*instructions.UserCommand).User)
		out = append(out, v.AtDockerfile(start, end, fmt.Sprintf("%s has no user %q, and the Dockerfile does not create it", base.Image,
			b.Final.User), hint(b.Final.User)))
	}
	for n, i := range b.History() {
		c, ok := i.Command.(*instructions.CopyCommand)
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(i.Expand(c.Chown), ":")
		ofImage, _ := image.HasUser(name)
		if !has(name) || numberless(name) && !ofImage && !mentioned(b.History()[:n], name) {
			start, end := i.Find(c.Chown)
			out = append(out, v.AtDockerfile(start, end, fmt.Sprintf("%s has no user %q, and the build refuses this", base.Image, name),
				"create it in a step above, or give its number"))
		}
	}
	return append(out, dockerGroupMissing(v, base.Image)...)
}

// numberless reports whether a user is given by a name that is written out.
func numberless(name string) bool {
	return name != "" && !strings.Contains(name, "$") && (name[0] < '0' || name[0] > '9')
}

// dockerGroupMissing reports a step that puts a user into the group docker, which only packages of Docker make.
func dockerGroupMissing(v *rule.View, image string) []rule.Finding {
	for _, i := range v.Build.History() {
		for _, cmd := range i.Commands {
			if !cmd.Is("usermod", "useradd") {
				continue
			}
			groups, given := cmd.Value("-G", "-aG", "--groups")
			if !given || !slices.Contains(strings.Split(groups.Text, ","), "docker") {
				continue
			}
			if cmd.OnFailure != shell.Ends || strings.Contains(i.Source()[:max(0, cmd.Words[0].Start-i.Start)], "docker") {
				return nil
			}
			return []rule.Finding{v.AtWord(groups, fmt.Sprintf("%s has no group docker, and %s fails", image, cmd.Name()),
				"write groupadd --force docker in front")}
		}
		if strings.Contains(i.Source(), "docker") || strings.Contains(i.Source(), "moby") || i.Unread {
			return nil // the step may make it
		}
	}
	return nil
}

// officialFeature returns the short name of one of the official Features, "" of all others.
func officialFeature(id string) string {
	name, official := strings.CutPrefix(strings.ToLower(id), officialNamespace+"/")
	name, _, _ = strings.Cut(name, ":")
	if _, known := collections()[officialNamespace][name]; !official || !known {
		return ""
	}
	return name
}

// firstUser is the user of the container's first process as the configuration names it, nil without one.
func firstUser(v *rule.View) *jsonc.Node {
	if n := v.Root.Member("containerUser"); n != nil && n.Kind == jsonc.String {
		return n
	}
	return nil
}

// imageUserMissing reports the user of a configuration, or of its service, that takes a known image as it is.
func imageUserMissing(v *rule.View) []rule.Finding {
	image := v.BaseImage()
	of, known := baseimage.Of(image)
	if !known || !of.UsersKnown() {
		return nil
	}
	severity := diag.Severity("") // the rule's
	if _, sure := of.HasUser("-"); !sure || !of.Official() && !of.Lacks("docker") {
		severity = diag.SeverityWarning
	}
	has := func(user string) bool {
		user, _, _ = strings.Cut(user, ":")
		has, _ := of.HasUser(user)
		has = has || featuresMake(v, user)
		return has || user == "" || strings.Contains(user, "$") || user[0] >= '0' && user[0] <= '9'
	}
	for _, r := range v.Of(rights.User) { // containerUser is also the session's, below
		if (r.Notation == rights.Option || r.Notation == rights.Compose) && !r.Next && !has(r.Value) {
			f := rule.AtRight(r, fmt.Sprintf("%s has no user %q", image, r.Value), "leave it out, or build an image with that user")
			f.Severity = severity
			return []rule.Finding{f}
		}
	}
	n := v.NamedUser()
	if n != nil && mayBeUnset.MatchString(n.Text) {
		f := v.AtValue(n, fmt.Sprintf("%s has no user with the name of whoever opens the project", image), "name a user of the image: "+of.User)
		f.Severity = diag.SeverityWarning
		return []rule.Finding{f}
	}
	if n != nil && of.Lacks("docker") && strings.HasSuffix(n.Text, ":docker") && !v.HasFeatures() {
		f := v.AtValue(n, fmt.Sprintf("%s has no group docker, so the engine refuses this user", image), "leave the group out")
		f.Severity = severity
		return []rule.Finding{f}
	}
	if own := firstUser(v); own != nil && (n == nil || has(n.Text)) {
		n = own
	}
	if n == nil || has(n.Text) {
		return nil
	}
	hint := "leave it out, for root"
	if of.User != "" {
		hint = fmt.Sprintf("write %s, the user of this image", of.User)
	}
	for _, m := range v.Root.Member("features").Fields() {
		name, official := strings.CutPrefix(strings.ToLower(m.Name), officialNamespace+"/common-utils")
		if told := m.Value.Member("username").TextOr(""); official && told != "" && (name == "" || name[0] == ':') {
			f := v.AtValue(n, fmt.Sprintf("%s has no user %q", image, n.Text), fmt.Sprintf("common-utils makes the user %s here", told))
			f.Severity = severity
			return []rule.Finding{f.Offering(otherUser(v, n, told))}
		}
	}
	f := v.AtValue(n, fmt.Sprintf("%s has no user %q", image, n.Text),
		fmt.Sprintf(`%s; or let the Feature ghcr.io/devcontainers/features/common-utils create it: {"username": %q}`, hint,
			n.Text)).Offering(otherUser(v, n, of.User))
	f.Severity = severity
	return []rule.Finding{f}
}

// otherUser names the user that an image has in the place of one that it lacks, or none.
func otherUser(v *rule.View, n *jsonc.Node, has string) []jsonc.Edit {
	if has != "" {
		return jsonc.Replace(n, jsonc.Quote(has))
	}
	i := slices.IndexFunc(v.Root.Members, func(m jsonc.Member) bool { return m.Value == n })
	if i < 0 {
		return nil
	}
	return v.Config.RemoveMember(v.Root, i)
}

// workdirAfter is the WORKDIR behind an instruction, for that before it.
func workdirAfter(folder string, i *dockerfile.Instruction) string {
	if c, ok := i.Command.(*instructions.WorkdirCommand); ok {
		return placeFrom(folder, i, c.Path)
	}
	return folder
}

// longestPath is the most bytes of a path that Linux takes; steps in a longer one do not run.
const longestPath = 4096

// placeFrom is the absolute path of one that an instruction has, from the folder that is its WORKDIR.
func placeFrom(folder string, i *dockerfile.Instruction, written string) string {
	to := i.Expand(written)
	switch {
	case path.IsAbs(to):
		return path.Clean(to)
	case len(folder) > longestPath:
		return folder
	}
	return path.Join(folder, to)
}

var (
	// wide is a rule of sudoers(5) that lets somebody run everything, or
	// everything below a folder, as anybody, without a password.
	wide = lazyregexp.New(`NOPASSWD\s*:\s*((\w+:\s*)*ALL\b|[^\n,]*[*])`)
)

// sudoers reports rules for sudo that give everything away: written by echo,
// printf, tee, sed, a here-document or COPY.
func sudoers(v *rule.View) (out []rule.Finding) {
	const message, hint = "sudo runs everything without a password", "name the one command that is needed, or do it in the Dockerfile as root"
	for _, i := range v.Build.History() {
		for _, d := range i.Documents {
			if i.Name != "RUN" && rule.SudoersPath.MatchString(i.Source()) {
				if m := wide.FindStringIndex(d.Text); m != nil {
					out = append(out, v.AtDockerfile(d.Start+m[0], d.Start+m[1], message, hint))
				}
			}
		}
		if i.Name != "RUN" {
			continue
		}
		about := slices.ContainsFunc(i.Commands, func(cmd *shell.Command) bool {
			return slices.ContainsFunc(cmd.Files, func(o shell.Word) bool { return rule.SudoersPath.MatchString(o.Text) }) ||
				cmd.Is("tee", "sed", "visudo", "install") && slices.ContainsFunc(cmd.Args(),
					func(w shell.Word) bool { return rule.SudoersPath.MatchString(w.Text) })
		})
		if !about {
			continue
		}
		for _, cmd := range i.Commands {
			if w, ok := wideRule(cmd); ok {
				out = append(out, v.AtWord(w, message, hint))
				break
			}
		}
	}
	return out
}

// wideRule finds the words of a command that hold such a rule.
func wideRule(cmd *shell.Command) (shell.Word, bool) {
	if len(cmd.Words) == 0 || cmd.Wrapped != "" && cmd.Wrapped != "sh" && cmd.Wrapped != "bash" {
		return shell.Word{}, false
	}
	if wide.MatchString(cmd.Input) {
		return cmd.Words[0], true
	}
	args := cmd.Args()
	var all []string
	for _, w := range args {
		all = append(all, w.Text)
		if wide.MatchString(w.Text) {
			return w, true
		}
	}
	if wide.MatchString(strings.Join(all, " ")) { // echo dev ALL=\(root\) NOPASSWD: ALL
		whole := args[0]
		whole.End = args[len(args)-1].End
		return whole, true
	}
	return shell.Word{}, false
}

func engineGroupJoined(v *rule.View, w shell.Word) rule.Finding {
	return v.AtWord(w, "this group may tell the container engine to do anything, as root",
		"leave it out; reach services through the network instead")
}

// engineGroup reports what lets the user talk to an engine.
func engineGroup(v *rule.View) (out []rule.Finding) {
	engines := []string{"docker", "containerd", "podman"}
	groups := func(s string) bool {
		return slices.ContainsFunc(strings.Split(s, ","), func(g string) bool { return slices.Contains(engines, g) })
	}
	each(v.Build.History(), func(_ *dockerfile.Instruction, cmd *shell.Command) {
		switch {
		case cmd.Is("usermod", "useradd"):
			if w, ok := cmd.Value("-aG", "-G", "--groups", "-Ga", "-a -G"); ok && groups(w.Text) {
				out = append(out, engineGroupJoined(v, w))
			}
		case cmd.Is("gpasswd", "adduser", "addgroup"):
			words := cmd.Operands()
			if n := len(words); n > 1 && (groups(words[n-1].Text) || cmd.Is("gpasswd") && groups(words[n-1].Text)) {
				out = append(out, engineGroupJoined(v, words[n-1]))
			}
		case cmd.Is("chmod", "chown", "setfacl"):
			for _, w := range cmd.Operands() {
				if socketName.MatchString(path.Clean(w.Text)) {
					out = append(out, v.AtWord(w, "an engine's socket is opened to the user",
						"leave it out; a program that talks to the engine owns its host"))
				}
			}
		}
	})
	return out
}
