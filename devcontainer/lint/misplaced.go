package lint

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// mountPart looks at one mount of the configuration; the message of its finding is "" when nothing is wrong.
type mountPart func(v *rule.View, r rights.Right) rule.Finding

// eachMount reports what the parts find, one finding for each mount.
func eachMount(v *rule.View, parts ...mountPart) (out []rule.Finding) {
	for _, r := range v.Mounts() {
		for _, part := range parts {
			if f := part(v, r); f.Message != "" {
				out = append(out, f)
				break
			}
		}
	}
	return out
}

// misplacedMounts reports mounts of folders that other machines lack, and in the home of a user who does not work there.
func misplacedMounts(v *rule.View) []rule.Finding {
	if v.Kind() != devcontainer.ConfigFile {
		return nil
	}
	return eachMount(v, onOneMachine, emptySource, homeOfAnother)
}

// modeInTarget matches a target that ends as -v has it.
var modeInTarget = lazyregexp.New(`:(ro|rw|z|Z|cached|delegated|consistent)$`)

// targetWithMode warns of the mode of -v behind the target of --mount, where it is a part of the path.
func targetWithMode(_ *rule.View, r rights.Right) rule.Finding {
	mode := modeInTarget.FindString(r.Mount.Target)
	if r.Notation != rights.Property || mode == "" {
		return rule.Finding{}
	}
	hint := map[string]string{":ro": "write ,readonly behind the target", ":cached": "write ,consistency=cached behind the target"}[mode]
	if hint == "" {
		hint = "leave it out"
	}
	f := rule.AtRight(r, fmt.Sprintf("%s is a part of the target's path here", mode), hint)
	f.Severity = diag.SeverityWarning // the engine makes a folder of that name
	return f
}

// pathForVolume reports a path as the name of a volume.
func pathForVolume(v *rule.View, r rights.Right) rule.Finding {
	source := r.Mount.Source
	written := r.Mount.Type == "volume" && strings.Contains(string(v.Config.Src[r.Place.Start:r.Place.End]), "volume")
	if r.Notation != rights.Property || !written || !ofTheHost(source) || v.ByCompose() {
		return rule.Finding{}
	}
	return rule.AtRight(r, fmt.Sprintf("the engine refuses %s as the name of a volume", source),
		"write type=bind to mount this folder of the host")
}

// onTheWorkspace reports a second mount at the place of the project, which the engine refuses.
func onTheWorkspace(v *rule.View, r rights.Right) rule.Finding {
	at := rule.Once(v, "place of the project", func(v *rule.View) string {
		if own := v.Root.Member("workspaceMount"); own != nil {
			return rights.ParseMount(own.TextOr("")).Target
		}
		return "/workspaces/" + basename
	})
	target := r.Mount.Target
	if strings.HasPrefix(target, "${containerWorkspaceFolder}") {
		opened := v.Root.Member("workspaceFolder").TextOr("/workspaces/" + basename)
		target = strings.Replace(target, "${containerWorkspaceFolder}", opened, 1)
	}
	again := r.Place.Pointer != "/workspaceMount" && at != "" && path.Clean(target) == path.Clean(at)
	if !again || v.ByCompose() || v.GitAbove() {
		return rule.Finding{}
	}
	return rule.AtRight(r, fmt.Sprintf("the project is mounted at %s already, and the engine refuses the second mount", at),
		"leave it out, or write it as workspaceMount with workspaceFolder")
}

// homeOf matches a place below somebody's home.
var homeOf = lazyregexp.New(`^/(?:home/([a-z_][a-z0-9_-]*)|(root))/.`)

// homeOfAnother reports a mount in the home of a user who works not in the container.
func homeOfAnother(v *rule.View, r rights.Right) rule.Finding {
	m := homeOf.FindStringSubmatch(r.Mount.Target)
	if m == nil {
		return rule.Finding{}
	}
	user := hookUser(v)
	if user == "" || m[1]+m[2] == user || v.Root.Member("containerEnv").Member("HOME") != nil {
		return rule.Finding{}
	}
	image, _ := baseimage.Of(v.BaseImage())
	common := m[2] != "" || slices.Contains([]string{"vscode", "node", "codespace", image.User}, m[1])
	home := "/home/" + m[1]
	if m[2] != "" {
		home = "/root"
	}
	if !common || strings.Contains(rule.Once(v, "texts that may name a home", textsInside), home) {
		return rule.Finding{}
	}
	return rule.AtRight(r, fmt.Sprintf("the user %s works in the container, and %s is not its home", user, home),
		"write the home of the user who works there")
}

// textsInside are the texts of the container that may name a folder: of the Dockerfile, of hooks and of variables.
func textsInside(v *rule.View) string {
	var out strings.Builder
	out.WriteString(v.DockerfileText())
	v.EachHookText(func(text string) { out.WriteString("\n" + text) })
	for _, e := range v.Of(rights.Env, rights.SessionEnv) {
		out.WriteString("\n" + e.Value)
	}
	return out.String()
}

// ofOnePerson matches a folder of the host that has somebody's name.
var ofOnePerson = lazyregexp.New(`^(/home|/Users|[A-Za-z]:[/\\]Users)[/\\]([^/\\$]+)`)

// namesOfServices are homes of hosted machines, which all users of them have.
var namesOfServices = strings.Fields("codespace vscode node ubuntu runner coder gitpod vsts shared public linuxbrew")

// onOneMachine reports a folder of the host that only its author has.
func onOneMachine(_ *rule.View, r rights.Right) rule.Finding {
	m := ofOnePerson.FindStringSubmatch(r.Mount.Source)
	if m == nil || slices.Contains(namesOfServices, strings.ToLower(m[2])) {
		return rule.Finding{}
	}
	return rule.AtRight(r, fmt.Sprintf("only the machine of %s has %s", m[2], r.Mount.Source),
		"write ${localEnv:HOME}${localEnv:USERPROFILE}/… for the home of whoever opens the project")
}

// mayBeUnset matches a source that is a variable of the host alone.
var mayBeUnset = lazyregexp.New(`^\$\{(?:localEnv|env):(\w+)\}$`)

// emptySource reports a bind mount whose source is empty on some machines.
func emptySource(_ *rule.View, r rights.Right) rule.Finding {
	m := mayBeUnset.FindStringSubmatch(r.Mount.Source)
	if m == nil || r.Notation != rights.Property || r.Mount.Type != "bind" || slices.Contains([]string{"HOME", "PWD", "USERPROFILE"}, m[1]) {
		return rule.Finding{}
	}
	return rule.AtRight(r, fmt.Sprintf("where %s is not set the source is empty, and the engine refuses to start the container", m[1]),
		fmt.Sprintf("write a default: ${localEnv:%s:/dev/null}", m[1]))
}

// slashedHomes reports a slash between the homes of two systems, of which one is empty.
func slashedHomes(_ *rule.View, r rights.Right) rule.Finding {
	source := r.Mount.Source
	if !strings.Contains(source, "HOME}/${localEnv:USERPROFILE}") && !strings.Contains(source, "USERPROFILE}/${localEnv:HOME}") {
		return rule.Finding{}
	}
	f := rule.AtRight(r, "one of the two homes is empty on each system, and on Windows the path begins with a slash and a drive",
		"take the slash between them out: ${localEnv:HOME}${localEnv:USERPROFILE}")
	f.Severity = diag.SeverityWarning
	return f
}

// rwOfPodman reports rw, which only Podman takes in --mount.
func rwOfPodman(v *rule.View, r rights.Right) rule.Finding {
	text := string(v.Config.Src[r.Place.Start:r.Place.End])
	has := strings.HasSuffix(strings.Trim(text, `"`), ",rw") || strings.Contains(text, ",rw,")
	if r.Notation != rights.Property || v.ByCompose() || !has {
		return rule.Finding{}
	}
	f := rule.AtRight(r, `Docker refuses "rw" in a mount: it knows only readonly`, "leave it out: what is not readonly can be written")
	f.Severity = diag.SeverityWarning
	return f
}

// serversFolder reports a volume in the folder of VS Code's server, before the server is there.
func serversFolder(v *rule.View, r rights.Right) rule.Finding {
	server := strings.Contains(r.Mount.Target, "/.vscode-server") && r.Mount.Type == "volume"
	if !server || strings.Contains(rule.Once(v, "texts that may name a home", textsInside), ".vscode-server") {
		return rule.Finding{}
	}
	user := hookUser(v)
	if user == "" || rule.IsRoot(user) {
		return rule.Finding{}
	}
	f := rule.AtRight(r, fmt.Sprintf("root owns a new volume and the folders above it, so %s cannot install VS Code's server", user),
		"make the folder in a Dockerfile, as that user; hooks come too late")
	f.Severity = diag.SeverityWarning
	return f
}

// argumentsAlone reports what only the words of runArgs and build.options say.
func argumentsAlone(v *rule.View) (out []rule.Finding) {
	for _, name := range []string{"runArgs", "options"} {
		list, options, command := v.EngineOnly(name), rights.RunOptions, "docker run"
		if name == "options" {
			list, options, command = v.Root.Member("build").Member(name), rights.ImageOptions, "docker build"
		}
		words := rights.Texts(list)
		if len(words) == 0 || len(words) != len(list.Elements) {
			continue
		}
		last := words[len(words)-1]
		isValue := len(words) > 1 && options.TakesNext(words[len(words)-2].Text)
		if options.TakesNext(last.Text) && !isValue {
			out = append(out, v.AtValue(last, fmt.Sprintf("%s takes the tool's next word for the value of %s", command, last.Text),
				"write the value behind it, or leave it out"))
		}
		for _, n := range words {
			flag, _, joined := strings.Cut(n.Text, " ")
			if name == "options" && joined && strings.HasPrefix(flag, "--") && !strings.Contains(flag, "=") {
				out = append(out, joinedWord(v, n, options))
			}
		}
	}
	return append(out, argumentsTogether(v)...)
}

// quotesMeant are options whose values may hold quotes: of CSV, of a shell or of a text.
var quotesMeant = strings.Fields("gpus mount env label health-cmd annotation device log-opt")

func argumentsTogether(v *rule.View) (out []rule.Finding) {
	last := map[string]rights.Arg{}
	networks := 0
	say := func(a rights.Arg, message, hint string, severity diag.Severity) {
		f := v.AtValue(a.Node, message, hint)
		f.Severity = severity
		out = append(out, f)
	}
	for _, a := range v.RunArgs {
		if a.Node == nil {
			continue
		}
		last[a.Flag] = a
		quoted := len(a.Value) > 1 && (a.Value[0] == '\'' || a.Value[0] == '"') && a.Value[len(a.Value)-1] == a.Value[0]
		switch {
		case quoted && !slices.Contains(quotesMeant, a.Flag):
			say(a, fmt.Sprintf("no shell takes the quotes away: they are a part of the value of --%s", a.Flag), "leave them out",
				diag.SeverityWarning)
		case a.Flag == "entrypoint":
			say(a, "the tools set an entrypoint of their own behind it, and this one has no effect",
				"start the program in postStartCommand, or in the image's own entrypoint", diag.SeverityWarning)
		case a.Flag == "user" && shellVariable.MatchString(a.Value):
			say(a, fmt.Sprintf("no shell replaces %s here, and there is no user of that name", shellVariable.FindString(a.Value)),
				"write containerUser or remoteUser with the name of a user of the image", "")
		case a.Flag == "ulimit" && softOverHard(a.Value):
			say(a, fmt.Sprintf("the engine refuses --ulimit=%s: the soft limit is over the hard one", a.Value), "write NAME=SOFT:HARD", "")
		case a.Flag == "network":
			networks++
			if networks > 1 && (a.Value == "host" || a.Value == "none" || last["first network"].Value == "host") {
				say(a, "the engine refuses another network besides the host's", "take one of them out", "")
			}
			last["first network"] = a
		}
	}
	swap, memory := size(last["memory-swap"].Value), size(last["memory"].Value)
	if swap > 0 && memory > 0 && swap < memory {
		say(last["memory-swap"], "the engine refuses less memory with swap than without it: --memory-swap counts both",
			"write a larger number", "")
	}
	return append(out, profilesMissing(v)...)
}

// profilesMissing reports files of seccomp profiles that are not in the project.
func profilesMissing(v *rule.View) (out []rule.Finding) {
	for _, r := range v.Of(rights.SecurityOpt) {
		file, ok := strings.CutPrefix(strings.Replace(r.Value, ":", "=", 1), "seccomp=")
		own := r.Notation == rights.Property || r.Notation == rights.Option
		if !ok || !own || v.Tree == nil || slices.Contains([]string{"", "unconfined", "builtin"}, file) || strings.ContainsAny(file, "{$") {
			continue
		}
		full := path.Join(v.Home, file)
		if path.IsAbs(file) || devcontainer.LeavesTree(full) || v.Tree.Kind(full) != devcontainer.Nothing {
			continue
		}
		hint := "write unconfined, or ${localWorkspaceFolder}/ and the path of a profile"
		out = append(out, rule.AtRight(r, fmt.Sprintf("there is no seccomp profile %s, and the engine refuses to start without it", file), hint))
	}
	return out
}

func softOverHard(value string) bool {
	_, limits, _ := strings.Cut(value, "=")
	soft, hard, both := strings.Cut(limits, ":")
	s, err1 := strconv.Atoi(soft)
	h, err2 := strconv.Atoi(hard)
	return both && err1 == nil && err2 == nil && h >= 0 && s > h
}

// size is a number of bytes as the engine reads it, -1 when it cannot.
func size(value string) float64 {
	digits := strings.TrimRight(strings.ToLower(value), " bkmgti")
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return -1
	}
	unit := strings.TrimSpace(strings.ToLower(value)[len(digits):])
	for at, letter := range "kmgt" {
		if strings.HasPrefix(unit, string(letter)) {
			return n * float64(int64(1)<<(10*(at+1)))
		}
	}
	return n
}

// unexported are variables that shells have and give to no program.
var unexported = strings.Fields("UID EUID GID PPID HOSTTYPE OSTYPE MACHTYPE RANDOM SECONDS BASH_VERSION")

// forgotten matches a variable of the CLI's without its dollar sign.
var forgotten = lazyregexp.New(`(?:^|[^$])(\{(?:localWorkspaceFolder(?:Basename)?|containerWorkspaceFolder(?:Basename)?|localEnv:\w+|` +
	`containerEnv:\w+|devcontainerId)\})`)

// emptyVariables reports variables that are empty on every machine, and braces without a dollar sign.
func emptyVariables(v *rule.View) (out []rule.Finding) {
	for _, u := range uses(v) {
		local := u.parts[0] == "localEnv" || u.parts[0] == "env" && !u.command
		if local && len(u.parts) == 2 && slices.Contains(unexported, u.parts[1]) {
			out = append(out, v.AtValue(u.node, fmt.Sprintf("%s is empty, unless somebody exports it: shells keep it to themselves", u.whole),
				fmt.Sprintf("write a default: ${localEnv:%s:1000}; updateRemoteUserUID gives the user this machine's numbers", u.parts[1])))
		}
	}
	for _, m := range v.Root.Members {
		if m.Name == "customizations" || m.Name == "features" || slices.Contains(lifecycle, m.Name) {
			continue
		}
		m.Value.Walk(func(n *jsonc.Node) {
			if n.Kind != jsonc.String || !strings.Contains(n.Text, "{") {
				return
			}
			if at := forgotten.FindStringSubmatch(n.Text); at != nil {
				out = append(out, v.AtValue(n, fmt.Sprintf("%s stays as it is: the dollar sign is missing", at[1]), "write $"+at[1]))
			}
		})
	}
	return append(out, hostsFolders(v)...)
}

// hostsFolders reports variables of the container that hold a path of the host, below its home or the project.
func hostsFolders(v *rule.View) (out []rule.Finding) {
	shared := slices.ContainsFunc(slices.Concat(v.Mounts(), v.ServiceMounts()), func(r rights.Right) bool {
		return strings.Contains(r.Mount.Target, "${local") || strings.Contains(r.Mount.Target, "docker.sock")
	})
	if shared || v.HasFeatures() || strings.Contains(v.Root.Member("workspaceFolder").TextOr(""), "${localWorkspaceFolder}") {
		return nil
	}
	for _, r := range v.Of(rights.Env, rights.SessionEnv) {
		ofHost := strings.HasPrefix(r.Value, "${localEnv:HOME}/") || strings.HasPrefix(r.Value, "${localWorkspaceFolder}/")
		meant := strings.Contains(r.Name, "HOST") || strings.Contains(r.Name, "LOCAL") || strings.Contains(r.Name, "COMPOSE")
		if r.Notation != rights.Property || !ofHost || meant {
			continue
		}
		f := rule.AtRight(r, "this is a folder of the host, and the container has none of that path",
			"write ${containerEnv:HOME} in remoteEnv, or ${containerWorkspaceFolder}")
		f.Severity = diag.SeverityWarning
		out = append(out, f)
	}
	return out
}

// shellDefaults reports defaults as a shell has them: the dash is a part of the text.
func shellDefaults(v *rule.View) (out []rule.Finding) {
	for _, u := range uses(v) {
		ours := u.ofEnv() && !(u.command && u.parts[0] == "env")
		if ours && len(u.parts) == 3 && strings.HasPrefix(u.parts[2], "-") {
			out = append(out, v.AtValue(u.node, fmt.Sprintf("the default of %s is %q", u.whole, u.parts[2]),
				fmt.Sprintf("write ${%s:%s:%s}, without the dash of shells", u.parts[0], u.parts[1], strings.TrimPrefix(u.parts[2], "-"))))
		}
	}
	return out
}
