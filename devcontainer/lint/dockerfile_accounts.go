package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// accounts are the names and numbers that an image has, and steps made so far.
type accounts struct {
	users, groups           map[string]string // who has them, by name
	userNumbers, groupOwner map[string]string // who has them, by number
}

func accountsOf(image baseimage.Image) *accounts {
	a := &accounts{map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}}
	if image.User != "" {
		a.add("user", image.User, image.Number, "the image")
		a.add("group", image.User, image.Number, "the image")
	}
	return a
}

func (a *accounts) add(kind, name, number, by string) {
	names, numbers := a.of(kind)
	names[name] = by
	if number != "" {
		numbers[number] = by
	}
}

func (a *accounts) of(kind string) (names, numbers map[string]string) {
	if kind == "user" {
		return a.users, a.userNumbers
	}
	return a.groups, a.groupOwner
}

// forgiving are options by which a program takes what is there already.
var forgiving = []string{"-o", "--non-unique", "-f", "--force", "--allow-all-names"}

// removes matches steps that may take users and groups away, or say which.
var removes = lazyregexp.New(`userdel|deluser|groupdel|delgroup|usermod|groupmod|/etc/(passwd|group)|sed\b`)

// making reads a command that makes a user or a group. An operand that is no plain name makes it none.
func making(cmd *shell.Command) (kind string, name, number shell.Word, ok bool) {
	valued := []string{"-u", "--uid", "-g", "--gid", "-G", "--groups", "-d", "--home", "--home-dir", "-s", "--shell", "-c", "--comment",
		"--gecos",
		"-k", "--skel", "-p", "--password", "--ingroup", "-K", "--key", "-b", "--base-dir", "-e", "-h"}
	kind = "user"
	flags := []string{"-u", "--uid"}
	switch {
	case cmd.Is("groupadd", "addgroup"):
		kind, flags = "group", []string{"-g", "--gid"}
	case !cmd.Is("useradd", "adduser"):
		return "", name, number, false
	}
	if _, forgives := cmd.Flag(forgiving...); forgives {
		return "", name, number, false
	}
	var operands []shell.Word
	args := cmd.Args()
	for n := 0; n < len(args); n++ {
		switch {
		case slices.Contains(valued, args[n].Text) || strings.HasPrefix(args[n].Text, "-") && len(args[n].Text) > 2 && args[n].Text[1] != '-' &&
			strings.ContainsAny(args[n].Text[len(args[n].Text)-1:], "ugGdscp"): // -ms SHELL
			n++
		case !strings.HasPrefix(args[n].Text, "-"):
			operands = append(operands, args[n])
		}
	}
	if len(operands) != 1 || strings.ContainsAny(operands[0].Text, "$`") {
		return "", name, number, false
	}
	number, _ = cmd.Value(flags...)
	return kind, operands[0], number, true
}

// usersTaken reports users and groups that a step makes and that are there already, by name or by number: the
// programs that make them fail.
func usersTaken(v *rule.View) (out []rule.Finding) {
	for _, s := range neededStages(v) {
		base := s.Base()
		image, ok := baseimage.Of(base.Image)
		if s.Parent != nil || !ok || !base.Known {
			continue // a stage that is made from another is looked at with it
		}
		for _, last := range v.Build.Needed {
			if chain := last.Chain(); chain[0] == s && !slices.ContainsFunc(v.Build.Needed,
				func(o *dockerfile.Stage) bool { return o.Parent == last }) {
				out = append(out, takenIn(v, base.Image, image.User, accountsOf(image), last.History())...)
			}
		}
	}
	return out
}

func takenIn(v *rule.View, image, user string, a *accounts, history []*dockerfile.Instruction) (out []rule.Finding) {
	if !slices.ContainsFunc(history, makesAccounts) {
		return nil
	}
	for n, i := range history {
		if i.Name != "RUN" {
			continue
		}
		for _, cmd := range i.Commands {
			kind, name, number, ok := making(cmd)
			if !ok {
				continue
			}
			names, numbers := a.of(kind)
			what, at, by := "", name, names[name.Text]
			if by != "" {
				what = fmt.Sprintf("the %s %s", kind, name.Text)
			} else if by = numbers[number.Text]; by != "" {
				what, at = fmt.Sprintf("a %s with the number %s", kind, number.Text), number
			}
			if what != "" && cmd.OnFailure != shell.Open {
				if slices.ContainsFunc(history[:n+1], changesAccounts) {
					return out
				}
				f := v.AtWord(cmd.Words[0], takenMessage(image, by, what, cmd), "leave it out; or remove or rename the one that is there first")
				switch {
				case at.Text == name.Text:
				case by == "the image":
					f.Hint = fmt.Sprintf("choose another number, work as %s, who has it, or remove that user first: userdel --remove %[1]s", user)
				default:
					f.Hint = "choose another number"
				}
				if cmd.OnFailure == shell.Unheard {
					f.Severity = diag.SeverityWarning
				}
				return append(out, f) // those that follow depend on it
			}
			a.add(kind, name.Text, number.Text, "a step above")
			if _, system := cmd.Flag("-N", "--no-user-group", "-g", "--gid", "--ingroup", "-G"); kind == "user" && !system {
				a.add("group", name.Text, "", "a step above")
			}
		}
	}
	return out
}

// changesAccounts reports whether a step may remove or replace a user or a group.
func changesAccounts(i *dockerfile.Instruction) bool {
	return i.Unread || removes.MatchString(i.Source()) || i.Name == "COPY" && strings.Contains(i.Source(), "/etc")
}

// makesAccounts reports whether a step may make a user or a group.
func makesAccounts(i *dockerfile.Instruction) bool {
	return slices.ContainsFunc(i.Commands, func(cmd *shell.Command) bool {
		return cmd.Is("groupadd", "addgroup", "useradd", "adduser")
	})
}

func takenMessage(image, by, what string, cmd *shell.Command) string {
	if by == "the image" {
		return fmt.Sprintf("%s has %s already, and %s fails", image, what, cmd.Name())
	}
	return fmt.Sprintf("a step above makes %s already, and %s fails", what, cmd.Name())
}

// ofRootAlone are programs that change the system.
var ofRootAlone = strings.Fields("useradd groupadd usermod groupmod userdel adduser addgroup chpasswd locale-gen update-locale " +
	"update-ca-certificates update-alternatives ldconfig a2enmod docker-php-ext-install docker-php-ext-enable add-apt-repository")

// needsRoot says which command of root's a command is; "" when any user may run it.
func needsRoot(cmd *shell.Command) string {
	if _, asks := cmd.Flag("-s", "--simulate", "--dry-run", "--root", "-p", "--help", "--version", "--print-uris",
		"--download-only"); asks && !cmd.Is("useradd",
		"adduser") {
		return ""
	}
	words := cmd.Operands()
	_, installs := installed(cmd)
	switch {
	case installs, aptUpdate(cmd), cmd.Is("apk") && len(words) > 0 && slices.Contains([]string{"add", "del", "update", "upgrade"},
		words[0].Text):
		return cmd.Name() + " " + words[0].Text
	case cmd.Is(ofRootAlone...), cmd.Is("dpkg") && hasFlag(cmd, "-i", "--install"):
		return cmd.Name()
	}
	return ""
}

// rootNeeded reports what root alone may do, in steps and hooks that another user runs.
func rootNeeded(v *rule.View) (out []rule.Finding) {
	const message, hint = "%s works only for root, and %s runs it", "write USER root above it, and the other user below"
	for _, s := range neededStages(v) {
		image, _ := baseimage.Of(s.Base().Image)
		node := image.Official() && image.User == "node"
		prefix := false // npm may install elsewhere, or where the user may write
		folder, ofRoot, given := "/", false, false
		for _, i := range s.History() {
			prefix = prefix || node && setsPrefix(i.Source())
			if i.Name == "WORKDIR" {
				folder = workdirAfter(folder, i)
				byRoot := i.User == "" || rule.IsRoot(i.User)
				ofRoot = node && !given && byRoot && !strings.Contains(folder, "$") && !ofOthers.MatchString(folder)
			}
			given = given || node && i.Name == "RUN" && strings.Contains(i.Source(), "chown") // that folder, before WORKDIR names it
			ofRoot = ofRoot && !givesAway.MatchString(i.Source()) && !i.Unread
			user := i.User
			if user == "" && s.Base().Known {
				user = baseimage.StartsAs(s.Base().Image)
			}
			if i.Stage != s || i.Name != "RUN" || user == "" || rule.IsRoot(user) || strings.Contains(user, "$") {
				continue
			}
			for _, cmd := range i.Commands {
				what := needsRoot(cmd)
				if what == "" && node && !prefix && installsGlobally(cmd) {
					what = globally(cmd)
				}
				if what == "" && node && ofRoot && cmd.Wrapped == "" && installsHere(cmd) {
					what = fmt.Sprintf("%s in %s, which WORKDIR makes for root,", joinedWords(cmd), folder)
				}
				if what == "" || cmd.User != "" || cmd.OnFailure == shell.Open {
					continue
				}
				f := v.AtCommand(cmd, fmt.Sprintf(message, what, user), hint)
				if cmd.OnFailure == shell.Unheard || i.User == "" {
					f.Severity = diag.SeverityWarning
				}
				out = append(out, f)
				break
			}
		}
	}
	return slices.Concat(out, writesForRoot(v), rootNeededInHooks(v), hookMeanings(v, writtenByUser))
}

// setsPrefix reports whether a step may give npm another folder for what all have, or that folder to the user.
func setsPrefix(step string) bool {
	return strings.Contains(strings.ToLower(step), "prefix") || strings.Contains(step, "npmrc") || strings.Contains(step, "chown")
}

// givesAway matches steps after which a folder may be another user's, or the command may work in another one.
var givesAway = lazyregexp.New(`--ch(own|mod)|\bchown|\bchmod|\bmkdir|\binstall -|\bcd\b|--mount|--from|\bgit\b|\bsu\b|\brsync\b|\bcp\b`)

// ofOthers matches folders that need not be root's.
var ofOthers = lazyregexp.New(`^/(tmp|var/tmp)(/|$)|^/home(/[^/]+)?$`)

// globally is how a finding calls what installsGlobally is about.
func globally(cmd *shell.Command) string {
	if cmd.Is("corepack") {
		return "corepack enable"
	}
	return "a global install of npm"
}

// installsHere reports whether a package manager of Node makes node_modules in the folder where it runs.
func installsHere(cmd *shell.Command) bool {
	words := cmd.Operands()
	return cmd.Is("npm") && len(words) == 1 && slices.Contains([]string{"install", "ci", "i"}, words[0].Text) && !hasFlag(cmd, inAnother...) &&
		!hasFlag(cmd, "-g", "--global", "--dry-run", "--package-lock-only")
}

// mayHavePrefix reports whether the configuration or a step may give npm another folder for what all have.
func mayHavePrefix(v *rule.View) bool {
	return slices.ContainsFunc(v.Of(rights.Env, rights.SessionEnv), func(r rights.Right) bool { return setsPrefix(r.Name) }) ||
		v.Build != nil && slices.ContainsFunc(v.Build.History(), func(i *dockerfile.Instruction) bool {
			return setsPrefix(i.Source()) || strings.Contains(i.Source(), "chmod") || i.Unread
		})
}

// installsGlobally reports whether npm installs for all, which is to say where root alone may write.
func installsGlobally(cmd *shell.Command) bool {
	words := cmd.Operands()
	_, global := cmd.Flag("-g", "--global")
	if _, elsewhere := cmd.Flag("--install-directory"); cmd.Is("corepack") { // which links its programs next to itself
		return len(words) > 0 && words[0].Text == "enable" && !elsewhere
	}
	return cmd.Is("npm") && global && len(words) > 1 && slices.Contains([]string{"install", "i", "add"}, words[0].Text)
}

// rootNeededInHooks reports hooks that install packages without sudo for a user that is not root.
func rootNeededInHooks(v *rule.View) (out []rule.Finding) {
	user, known := v.SessionUser()
	if image, ok := baseimage.Of(v.BaseImage()); ok && v.NamedUser() == nil && image.Session != "" && len(v.Of(rights.User,
		rights.Session)) == 0 {
		user, known = image.Session, true
	}
	if !known || user == "" || rule.IsRoot(user) || v.Kind() != devcontainer.ConfigFile {
		return nil
	}
	image, _ := baseimage.Of(v.BaseImage())
	npm := image.Official() && image.User == "node" && !v.HasFeatures() && len(v.Mounts()) == 0 && !mayHavePrefix(v)
	eachHookText(v, func(property string, n *jsonc.Node) {
		said := property == "initializeCommand"
		npm = npm && !setsPrefix(n.Text)
		v.EachCommand(n, func(_ *jsonc.Node, cmd *shell.Command) {
			what := needsRoot(cmd)
			if what == "" && npm && installsGlobally(cmd) {
				what = globally(cmd)
			}
			if said || what == "" || cmd.User != "" || cmd.Wrapped == "sudo" || cmd.OnFailure == shell.Open {
				return
			}
			if image.Lacks(cmd.Name()) || rule.Once(v, "no such user", func(v *rule.View) bool { return len(userMissing(v)) > 0 }) {
				return // SBX749 and SBX703 say it
			}
			said = true
			f := v.AtValue(n, fmt.Sprintf("%s works only for root, and %s runs the hook", what, user),
				"put sudo in front, where the image has it; or do it in the Dockerfile")
			if cmd.OnFailure == shell.Unheard {
				f.Severity = diag.SeverityWarning
			}
			out = append(out, f)
		})
	})
	return out
}
