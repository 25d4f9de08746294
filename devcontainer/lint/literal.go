package lint

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/distribution/reference"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// shellVariable is a variable as a shell replaces it. Text in capitals alone: a password may
// have a dollar sign.
var shellVariable = lazyregexp.New(`\$[A-Z][A-Z0-9_]+\b|\$\((pwd|whoami|id -u|id -g|uname|hostname)\)`)

// promptVariable matches variables whose value a shell expands whenever it prompts.
var promptVariable = lazyregexp.New(`^(PS[0-4]|PROMPT_COMMAND)$`)

// tilde matches a home folder in a value, alone or in a list such as PATH.
var tilde = lazyregexp.New(`^~(/|$)|:~/`)

// literalVariables reports variables of a shell in values that no shell reads.
func literalVariables(v *rule.View) (out []rule.Finding) {
	report := func(text string, at rights.Place, severity diag.Severity, hint string) {
		if variable := shellVariable.FindString(text); variable != "" {
			out = append(out, rule.Finding{Place: at, Message: fmt.Sprintf("nothing replaces %s here: the text stays as it is", variable),
				Hint: hint, Severity: severity})
		}
	}
	out = envMistakes(v)
	for _, r := range v.Of(rights.Env, rights.SessionEnv) {
		if r.Notation != rights.Property && r.Notation != rights.Option { // both go to the engine without a shell
			continue
		}
		if tilde.MatchString(r.Value) && !shellVariable.MatchString(r.Value) {
			out = append(out, rule.AtRight(r, "no shell replaces the ~ here: programs get the text as it is",
				`write the whole path, or ${containerEnv:HOME} in remoteEnv`))
		}
		switch {
		case promptVariable.MatchString(r.Name): // a shell reads its value later
		case r.Name != "PATH":
			report(r.Value, r.Place, "", `write ${localEnv:NAME} for a variable of this machine; in remoteEnv also ${containerEnv:NAME}`)
		case r.Kind == rights.SessionEnv:
			report(r.Value, r.Place, diag.SeverityError, `no program is found with it; write "${containerEnv:PATH}:/more"`)
		default:
			report(r.Value, r.Place, diag.SeverityError,
				`no program is found with it; write "remoteEnv": {"PATH": "${containerEnv:PATH}:/more"}`)
		}
	}
	for _, m := range v.Root.Member("build").Member("args").Fields() {
		report(m.Value.TextOr(""), v.AtValue(m.Value, "", "").Place, "", "write ${localEnv:NAME} for a variable of this machine")
	}
	const hint = "write ${localEnv:HOME} or ${localWorkspaceFolder}"
	for _, r := range v.Of(rights.Mounted) {
		if (r.Notation == rights.Property || r.Key == "mount") && !v.ByCompose() { // which replaces them
			report(cmp.Or(r.Value, r.Mount.Source+" "+r.Mount.Target), r.Place, diag.SeverityError, hint)
		}
	}
	if n := v.Root.Member("workspaceFolder"); n != nil {
		report(n.TextOr(""), v.AtValue(n, "", "").Place, diag.SeverityError, hint)
	}
	return out
}

// hasSystemFolder reports whether a PATH has one of the folders with the system's programs.
func hasSystemFolder(value string) bool {
	return slices.ContainsFunc(strings.Split(value, ":"), func(folder string) bool { return slices.Contains(systemPath, path.Clean(folder)) })
}

// lostPaths reports a PATH in which no program of the system is found.
func lostPaths(v *rule.View) (out []rule.Finding) {
	if strings.Contains(v.BaseImage(), "nix") { // whose programs lie elsewhere
		return nil
	}
	out = slices.Concat(hostsPaths(v), rootsPaths(v))
	for _, r := range v.Of(rights.Env, rights.SessionEnv) {
		literal := r.Value != "" && r.Host == "" && !strings.Contains(r.Value, "$")
		if r.Name != "PATH" || !r.Own() || r.Notation == rights.Label || !literal || hasSystemFolder(r.Value) {
			continue
		}
		hint := "write ENV PATH=/more:$PATH"
		switch r.Notation {
		case rights.Property:
			hint = `write "remoteEnv": {"PATH": "${containerEnv:PATH}:/more"}`
		case rights.Option, rights.Compose:
			hint = "write the folders of the image's PATH as well, or set it in the Dockerfile: ENV PATH=/more:$PATH"
		}
		out = append(out, rule.AtRight(r, "this PATH has no folder of the system: even ls is not found", hint))
	}
	return out
}

// hostsPaths reports a PATH of this machine in the place of the container's: programs that the image has elsewhere are lost.
func hostsPaths(v *rule.View) (out []rule.Finding) {
	for _, r := range v.Of(rights.Env, rights.SessionEnv) {
		ours := r.Notation == rights.Property && r.Name == "PATH"
		if !ours || !strings.Contains(r.Value, "${localEnv:PATH}") || strings.Contains(r.Value, "${containerEnv:PATH}") {
			continue
		}
		f := rule.AtRight(r, "the PATH of this machine replaces the container's, and programs of the image may not be found",
			`write "remoteEnv": {"PATH": "${containerEnv:PATH}:/more"}`)
		f.Severity = diag.SeverityWarning
		out = append(out, f)
	}
	return out
}

// ofRootsHome matches a folder of a PATH below root's home, which others may not enter.
var ofRootsHome = lazyregexp.New(`(^|:)/root/[^:]+`)

// opensHome matches steps after which others may enter root's home.
var opensHome = lazyregexp.New(`(chmod|setfacl|usermod|chown)[^\n]*/root`)

// rootsPaths reports a folder of PATH that the Dockerfile has below root's home, while another user works in the container.
func rootsPaths(v *rule.View) (out []rule.Finding) {
	user, known := v.SessionUser()
	image, ok := baseimage.Of(v.BaseImage())
	closed := ok && (image.Official() || image.ForDevContainers())
	other := known && user != "" && !rule.IsRoot(user)
	if !closed || !other || v.Build == nil || v.HasFeatures() || slices.ContainsFunc(v.Build.History(), func(i *dockerfile.Instruction) bool {
		return i.Unread || opensHome.MatchString(i.Source())
	}) {
		return nil
	}
	for _, r := range v.Of(rights.Env) {
		folder := strings.TrimPrefix(ofRootsHome.FindString(r.Value), ":")
		if r.Name != "PATH" || !r.Own() || r.Notation != rights.Dockerfile || folder == "" {
			continue
		}
		f := rule.AtRight(r, fmt.Sprintf("%s finds no program in %s: root alone may enter /root", user, folder),
			"install the program for all, such as below /usr/local or /opt")
		f.Severity = diag.SeverityWarning
		out = append(out, f)
	}
	return out
}

// systemPath are the folders with the system's programs.
var systemPath = []string{"/bin", "/usr/bin", "/usr/local/bin"}

// The rules about runArgs read its elements, and not what they give the container: they judge how the words are written, of
// options that give nothing too.

// joinedArguments reports elements of runArgs that hold an option and its value, with a
// space between them.
func joinedArguments(v *rule.View) (out []rule.Finding) {
	values := map[*jsonc.Node]bool{} // elements that are the value of the option before
	list := rights.Texts(v.EngineOnly("runArgs"))
	for i, n := range list {
		if i > 0 && rights.RunOptions.TakesNext(list[i-1].Text) && !values[list[i-1]] {
			values[n] = true
			continue
		}
		flag, rest, joined := strings.Cut(n.Text, " ")
		if !joined || !strings.HasPrefix(flag, "-") || strings.Contains(flag, "=") || strings.TrimSpace(rest) == "" {
			continue
		}
		out = append(out, joinedWord(v, n, rights.RunOptions))
	}
	return out
}

// joinedWord is the finding about such an element.
func joinedWord(v *rule.View, n *jsonc.Node, options rights.CommandOptions) rule.Finding {
	words := options.Words(n.Text)
	for i, w := range words {
		words[i] = jsonc.Quote(w)
	}
	apart := strings.Join(words, ", ")
	count := "an element for each"
	if len(words) == 2 {
		count = "two elements"
	}
	return v.AtValue(n, fmt.Sprintf("the engine gets %q as one word", n.Text), fmt.Sprintf("write %s: %s", count, apart)).
		FixedBy(jsonc.Replace(n, apart))
}

// ofOtherCommands are options that other commands have, and neither docker run nor podman run.
var ofOtherCommands = map[string]string{
	"build": "docker compose up", "renew-anon-volumes": "docker compose up", "force-recreate": "docker compose up",
	"no-recreate": "docker compose up", "remove-orphans": "docker compose up", "no-deps": "docker compose up",
	"no-cache": "docker build", "build-arg": "docker build", "build-context": "docker build", "target": "docker build",
}

// unknownArguments reports options that neither docker run nor podman run has. One that is near to none that they have may be
// of a newer engine.
func unknownArguments(v *rule.View) (out []rule.Finding) {
	for _, a := range v.BuildArgs {
		if a.Node == nil || !strings.HasPrefix(a.Node.Text, "--") || rights.ImageOptions.Knows(a.Flag) || strings.Contains(a.Flag, " ") {
			continue
		}
		if best := rights.ImageOptions.Nearest(a.Flag); best != "" {
			out = append(out, v.AtValue(a.Node, fmt.Sprintf("docker build has no option --%s", a.Flag), fmt.Sprintf("did you mean --%s?", best)))
		}
	}
	for _, a := range v.RunArgs {
		if a.Node == nil || !strings.HasPrefix(a.Node.Text, "--") || rights.RunOptions.Knows(a.Flag) || strings.ContainsAny(a.Flag, " ${") {
			continue
		}
		f := v.AtValue(a.Node, fmt.Sprintf("the engine has no option --%s", a.Flag), "")
		if other := ofOtherCommands[a.Flag]; other != "" {
			f.Message, f.Hint = fmt.Sprintf("docker run has no option --%s: it belongs to %s", a.Flag, other), "take it out"
		} else if best := rights.RunOptions.Nearest(a.Flag); best != "" {
			f.Hint = fmt.Sprintf("did you mean --%s?", best)
		} else {
			f.Message = fmt.Sprintf("neither docker run nor podman run has an option --%s", a.Flag)
			f.Hint, f.Severity = "the engine refuses to start: docker run --help lists what it takes", diag.SeverityWarning
		}
		out = append(out, f)
	}
	return out
}

// shortenedArguments reports options with one dash that the engine lacks: long ones, which it reads as single letters, and letters.
func shortenedArguments(v *rule.View) (out []rule.Finding) {
	list := rights.Texts(v.EngineOnly("runArgs"))
	for i, n := range list {
		name, _, _ := strings.Cut(strings.TrimPrefix(n.Text, "-"), "=")
		oneDash := strings.HasPrefix(n.Text, "-") && !strings.HasPrefix(name, "-")
		isValue := i > 0 && rights.RunOptions.TakesNext(list[i-1].Text)
		letter := rights.RunOptions.UnknownLetter(n.Text)
		switch {
		case !oneDash || isValue:
		case len(name) > 2 && rights.RunOptions.Knows(name):
			out = append(out, v.AtValue(n, fmt.Sprintf("the engine reads %s as options of one letter each", n.Text), "write -"+n.Text).
				FixedBy(jsonc.Replace(n, jsonc.Quote("-"+n.Text))))
		case letter != "":
			f := v.AtValue(n, fmt.Sprintf("the engine has no option -%s", letter), "docker run --help lists what it takes")
			if best := rights.RunOptions.Nearest(name); len(name) > 1 && best != "" {
				f.Hint = fmt.Sprintf("did you mean --%s?", best)
			}
			out = append(out, f)
		}
	}
	return out
}

// strayArgument reports a word that is no option: the engine takes it for the image's name.
func strayArgument(v *rule.View) []rule.Finding {
	list := v.EngineOnly("runArgs")
	n := rights.RunOptions.Stray(list)
	if n == nil || len(rights.Texts(list)) != len(list.Elements) {
		return nil
	}
	return []rule.Finding{v.AtValue(n, fmt.Sprintf("the engine takes %q for the name of the image", n.Text),
		"an option begins with --; a value stands right behind its option")}
}

// containerName is what the engine takes as the name of a container (moby, daemon/names).
var containerName = lazyregexp.New(`^/?[a-zA-Z0-9][a-zA-Z0-9_.-]+$`)

// refusedValues reports a name that no container can have, --rm together with a restart, and a
// container in the background: the reference CLI attaches to it, and the engine refuses both.
func refusedValues(v *rule.View) (out []rule.Finding) {
	removed := false
	restart := rights.Arg{}
	for _, a := range v.RunArgs {
		switch a.Flag { // the last one counts
		case "rm":
			removed = rights.IsOn(a.Value)
		case "restart":
			restart = a
		}
		if a.Flag == "detach" && rights.IsOn(a.Value) && a.Node != nil {
			out = append(out, v.AtValue(a.Node, "the engine refuses to detach from a container that the tools attach to", "remove it"))
		}
		plain := rights.Variable.ReplaceAllString(strings.ReplaceAll(a.Value, "${localWorkspaceFolder}", "/"), "xx")
		if a.Flag == "name" && a.Node != nil && !containerName.MatchString(plain) {
			out = append(out, v.AtValue(a.Node, fmt.Sprintf("the engine refuses the container's name %q", a.Value),
				"letters, digits, _ . and - only"))
		}
	}
	keeps := restart.Node != nil && restart.Value != "" && restart.Value != "no" && !strings.Contains(restart.Value, "$")
	if removed && keeps {
		f := v.AtValue(restart.Node, "the engine refuses --rm and --restart together", "take one of them out")
		if restart.Value == "on-failure" { // Podman takes it
			f.Message, f.Severity = "Docker refuses --rm and --restart together", diag.SeverityWarning
		}
		out = append(out, f)
	}
	return out
}

// runArguments reports options that end the start.
func runArguments(v *rule.View) []rule.Finding {
	return slices.Concat(joinedArguments(v), unknownArguments(v), shortenedArguments(v), strayArgument(v), refusedValues(v), unreadValues(v),
		namesOfNothing(v), argumentsAlone(v), networksOfNobody(v))
}

// imageNames reports names of images that no registry can have.
func imageNames(v *rule.View) (out []rule.Finding) {
	if v.ByCompose() {
		for _, s := range neighbours(v) {
			if n := s.Get("image"); n.String() != "" && s.Get("build") == nil {
				if message, hint, severity := imageRefused(n.Text); message != "" {
					f := rule.AtCompose(n, message, hint)
					f.Severity = severity
					out = append(out, f)
				}
			}
		}
	}
	for _, r := range v.Of(rights.Image) {
		if message, hint, severity := imageRefused(r.Value); message != "" && r.Own() {
			f := rule.AtRight(r, message, hint)
			f.Severity = severity
			out = append(out, f)
		} else if instead := baseimage.Misnamed(r.Value); instead != "" && r.Own() {
			f := rule.AtRight(r, fmt.Sprintf("Microsoft publishes no image %s for dev containers", r.Value),
				fmt.Sprintf("did you mean %s?", instead))
			f.Severity = diag.SeverityWarning
			out = append(out, f)
		}
	}
	for _, i := range builtFrom(v) {
		if message, hint, severity := imageRefused(i.name); message != "" {
			f := v.AtDockerfile(i.at.Start, i.at.End, message, hint)
			f.Severity = severity
			if v.Bare && i.name == strings.ToUpper(i.name) { // a placeholder: some program may fill it in before it builds the file
				f.Severity, f.Hint = diag.SeverityWarning, "put the name of an image in its place"
			}
			out = append(out, f)
		}
	}
	return out
}

// builtFrom returns the images of each FROM, those that nothing needs too, because the builder reads their names
// before it looks for what it needs, and those that COPY and mounts take files of.
func builtFrom(v *rule.View) (out []namedImage) {
	if v.Build == nil {
		return nil
	}
	for _, s := range v.Build.File.Stages {
		from, ok := s.From.Command.(*instructions.Stage)
		if !ok || s.Parent != nil || !s.Known || v.Bare && strings.Contains(from.BaseName, "$") { // a build may give the value
			continue
		}
		start, end := s.From.Find(from.BaseName)
		out = append(out, namedImage{name: s.Image, at: rights.Place{Start: start, End: end}})
	}
	for _, s := range v.Build.Sources() {
		out = append(out, namedImage{name: s.Image, at: rights.Place{Start: s.Start, End: s.End}})
	}
	return out
}

// versionForName matches an image whose name is a version, as if a slash began the tag.
var versionForName = lazyregexp.New(`^([a-z-]+)/(\d+\.[\d.]+(?:-[a-z0-9.-]+)?)$`)

// goneImage says of an image that no registry has it (November 2026): Elastic publishes no latest, and Bitnami's versions moved
// to bitnamilegacy in August 2025.
func goneImage(text string) (message, hint string) {
	if !strings.Contains(text, "bitnami/") && !strings.Contains(text, "elastic") && !strings.Contains(text, "kibana") &&
		!strings.Contains(text, "logstash") {
		return "", ""
	}
	name, tag, digest := rights.SplitImage(text)
	name = strings.TrimPrefix(strings.TrimPrefix(name, "docker.io/"), "library/")
	last := path.Base(name)
	ofElastic := name == last || strings.HasPrefix(name, "docker.elastic.co/")
	switch rest, ofBitnami := strings.CutPrefix(name, "bitnami/"); {
	case digest != "":
	case ofElastic && slices.Contains([]string{"elasticsearch", "kibana", "logstash"}, last) && (tag == "" || tag == "latest"):
		return fmt.Sprintf("%s has no tag latest", name), "write a version, such as 8.19.0"
	case ofBitnami && tag != "" && tag[0] >= '0' && tag[0] <= '9':
		return fmt.Sprintf("Docker Hub has %s no longer", text),
			fmt.Sprintf("write bitnamilegacy/%s:%s, which gets no updates, or another image", rest, tag)
	}
	return "", ""
}

// imageRefused says why the engine refuses the name of an image, or "". That a registry lacks a tag is known from documentation
// alone: it warns.
func imageRefused(text string) (message, hint string, severity diag.Severity) {
	if text == "" || strings.Contains(text, "$") {
		return "", "", ""
	}
	if _, err := reference.ParseNormalizedNamed(text); err == nil {
		if message, hint = goneImage(text); message != "" {
			return message, hint, diag.SeverityWarning
		}
		if m := versionForName.FindStringSubmatch(text); m != nil {
			if image, ok := baseimage.Of(m[1] + ":" + m[2]); ok && image.Official() {
				return fmt.Sprintf("%q is the image %s of somebody called %s", text, m[2], m[1]),
					fmt.Sprintf("did you mean %q?", m[1]+":"+m[2]), diag.SeverityWarning
			}
		}
		return "", "", "" // most are; the other forms of ParseAnyReference cost more to try
	}
	if _, err := reference.ParseAnyReference(text); err == nil {
		return "", "", ""
	}
	hint = "an image is named [REGISTRY/]NAME[:TAG][@DIGEST]"
	switch lower := strings.ToLower(text); {
	case strings.Contains(text, "://"):
		_, rest, _ := strings.Cut(text, "://")
		hint = fmt.Sprintf("leave the scheme out: %s", rest)
	case strings.ContainsAny(text, " \t\n"):
		hint = "take the space out"
	case lower != text:
		if _, err := reference.ParseAnyReference(lower); err == nil {
			hint = fmt.Sprintf("names of images are in lower case: %s", lower)
		}
	}
	return fmt.Sprintf("the engine refuses the image name %q", jsonc.Abbreviate(text)), hint, ""
}

var hostAndPort = lazyregexp.New(`^(\d+):(\d+)$`)

// forwardedPairs reports ports that are written as docker's -p takes them.
func forwardedPairs(v *rule.View) (out []rule.Finding) {
	for _, n := range rights.Texts(v.Root.Member("forwardPorts")) {
		if m := hostAndPort.FindStringSubmatch(n.Text); m != nil {
			out = append(out, v.AtValue(n, fmt.Sprintf("%s means port %s of a host called %q", n.Text, m[2], m[1]),
				fmt.Sprintf("write %s; the editor chooses the port on this machine, or appPort publishes one", m[2])))
		}
	}
	return append(out, forwardedHosts(v)...)
}

var namedPort = lazyregexp.New(`^([A-Za-z][A-Za-z0-9_.-]*):\d+$`)

// forwardedHosts reports ports of a host that no service of Compose is called, by its name or otherwise.
func forwardedHosts(v *rule.View) (out []rule.Finding) {
	if !v.ByCompose() {
		return forwardedAlone(v)
	}
	if !composeRead(v) || joinsOthers(v.Composed.Project) {
		return nil
	}
	var names []string
	for _, n := range rights.Texts(v.Root.Member("forwardPorts")) {
		m := namedPort.FindStringSubmatch(n.Text)
		if m == nil || m[1] == "localhost" || strings.Contains(m[1], ".") {
			continue
		}
		if names == nil {
			names = hostsOf(v.Composed.Project)
		}
		if !slices.Contains(names, m[1]) {
			hint := "write HOST:PORT with one of " + strings.Join(names[:min(len(names), 8)], ", ")
			if best := diag.Suggest(m[1], names); best != "" {
				hint = fmt.Sprintf("did you mean %q?", best+strings.TrimPrefix(n.Text, m[1]))
			}
			out = append(out, v.AtValue(n, fmt.Sprintf("the Compose files have no service %q", m[1]), hint))
		}
	}
	return out
}

// forwardedAlone reports the same where there is one container, which finds no other by a name without dots.
func forwardedAlone(v *rule.View) (out []rule.Finding) {
	if slices.ContainsFunc(v.RunArgs, func(a rights.Arg) bool {
		return slices.Contains([]string{"network", "net", "add-host", "link", "hostname", "h", "dns", "dns-search", "name"}, a.Flag)
	}) {
		return nil
	}
	for _, n := range rights.Texts(v.Root.Member("forwardPorts")) {
		m := namedPort.FindStringSubmatch(n.Text)
		if m == nil || m[1] == "localhost" || strings.Contains(m[1], ".") {
			continue
		}
		out = append(out, v.AtValue(n, fmt.Sprintf("nothing is called %q: without Compose there is one container, on a network of its own", m[1]),
			"write "+strings.TrimPrefix(n.Text, m[1]+":")+" for a port of this container"))
	}
	return out
}

// joinsOthers reports whether a project uses a network from outside, where other containers may be.
func joinsOthers(p *compose.Project) (found bool) {
	p.Root.Get("networks").Walk(func(n *compose.Node) { found = found || n.Get("external") != nil })
	return found
}

// hostsOf returns the names by which containers of a project may find each other.
func hostsOf(p *compose.Project) (names []string) {
	for _, s := range p.Services() {
		names = append(names, s.Name)
	}
	p.Root.Get("services").Walk(func(n *compose.Node) {
		for _, key := range []string{"container_name", "hostname"} {
			names = append(names, n.Get(key).String())
		}
		for _, key := range []string{"aliases", "links", "external_links", "extra_hosts"} {
			for _, item := range n.Get(key).Scalars() { // links: NAME:ALIAS; extra_hosts: NAME:ADDRESS
				names = append(names, strings.FieldsFunc(item.Text, func(c rune) bool { return c == ':' || c == '=' })...)
			}
			if list := n.Get(key); list != nil {
				for _, m := range list.Members {
					names = append(names, m.Name)
				}
			}
		}
	})
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}
