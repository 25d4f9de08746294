package lint

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// plainNetworks are those that every engine has.
var plainNetworks = []string{"bridge", "host", "none", "default", "nat", "slirp4netns", "pasta", "private", "ns"}

// networksOfNobody reports networks that nothing in the project makes, and an address in one that gives none.
func networksOfNobody(v *rule.View) (out []rule.Finding) {
	made := v.Root.Member("initializeCommand") != nil
	own := false
	for _, a := range v.RunArgs {
		named := (a.Flag == "network" || a.Flag == "net") && a.Node != nil && a.Value != "" && !slices.Contains(plainNetworks, a.Value)
		own = own || named
		if !named || made || strings.ContainsAny(a.Value, ":$=,") {
			continue
		}
		f := v.AtValue(a.Node, fmt.Sprintf("nothing makes the network %s, without which the engine does not start the container", a.Value),
			fmt.Sprintf(`"initializeCommand": "docker network inspect %[1]s >/dev/null 2>&1 || docker network create %[1]s"`, a.Value))
		f.Severity = diag.SeverityWarning // somebody may have made it by hand
		out = append(out, f)
	}
	for _, a := range v.RunArgs {
		if a.Flag == "ip" && !own && a.Node != nil {
			out = append(out, v.AtValue(a.Node, "the engine gives an address of your choice only in a network of your own",
				"leave it out; the tools reach the container without an address"))
		}
	}
	return out
}

// mostAsked bounds the networks and volumes that are looked for in other files, and the mounts that are compared with others.
const mostAsked = 50

// externalOfNobody reports networks and volumes of Compose that somebody else must make, and that nothing in the project does.
func externalOfNobody(v *rule.View) (out []rule.Finding) {
	if !v.ByCompose() || v.Composed == nil || v.Root.Member("initializeCommand") != nil || len(v.Composed.Project.Unread) > 0 {
		return nil
	}
	for _, key := range []string{"networks", "volumes"} {
		for n, m := range membersOf(v.Composed.Project.Root.Get(key)) {
			if n == mostAsked {
				break
			}
			external := m.Value.Get("external")
			name := cmp.Or(external.Get("name").String(), m.Value.Get("name").String(), m.Name)
			if external == nil || external.String() == "false" || strings.Contains(name, "$") || slices.Contains(plainNetworks, name) ||
				madeByOther(v, key, name) {
				continue
			}
			kind := strings.TrimSuffix(key, "s")
			out = append(out, rule.Finding{Place: rights.Place{Doc: m.Value.Doc, Start: m.Start, End: m.End}, Severity: diag.SeverityWarning,
				Message: fmt.Sprintf("nothing makes the %s %s, and Compose starts nothing without it", kind, name),
				Hint:    fmt.Sprintf("take external out, or make it in initializeCommand: docker %s create %s", kind, name)})
		}
	}
	return out
}

func membersOf(n *compose.Node) []compose.Member {
	if n == nil {
		return nil
	}
	return n.Members
}

// madeByOther reports whether another Compose file of the project may make a network or a volume: its name is PROJECT_NAME or in it.
func madeByOther(v *rule.View, key, name string) bool {
	for _, folder := range []string{v.Home, v.Dir} {
		for _, file := range v.Tree.List(folder) {
			ext := path.Ext(file)
			if ext != ".yml" && ext != ".yaml" || !strings.Contains(file, "compose") ||
				slices.ContainsFunc(v.Compose, func(d *jsonc.Document) bool { return path.Base(d.File) == file }) {
				continue
			}
			src, _ := v.Tree.Read(path.Join(folder, file))
			last := name[strings.LastIndexByte(name, '_')+1:]
			if strings.Contains(string(src), "\n"+key+":") && strings.Contains(string(src), last) {
				return true
			}
		}
	}
	return false
}

// projectCovered reports a volume at the place of a folder that the same list of volumes mounts above it: Compose takes the later one, and
// the project is not in the container.
func projectCovered(v *rule.View) (out []rule.Finding) {
	dev := v.Composed.Dev()
	if dev == nil || dev.Get("volumes") == nil {
		return nil
	}
	for asked, n := range dev.Get("volumes").Items {
		m := volumeOf(n)
		if asked == mostAsked {
			break
		}
		if n.Kind != compose.Scalar || !m.named || n.Doc != dev.Doc || n.Start < dev.Start || !path.IsAbs(m.target) {
			continue
		}
		for line := range strings.Lines(string(n.Doc.Src[dev.Start:n.Start])) {
			item, ok := strings.CutPrefix(strings.TrimSpace(line), "- ")
			parts := compose.SplitVolume(strings.Trim(strings.TrimSpace(item), `"'`))
			if ok && len(parts) > 1 && strings.HasPrefix(parts[0], ".") && path.Clean(parts[1]) == path.Clean(m.target) {
				out = append(out, rule.AtCompose(n,
					fmt.Sprintf("this volume takes the place of %s, mounted at %s above, so its files are not there", parts[0], m.target),
					"keep one of the two"))
				break
			}
		}
	}
	return out
}

// withFileForm are images whose entrypoint has the function file_env, and the beginnings of the variables that it asks for (those of
// docker-library and MariaDB, 2026).
var withFileForm = map[string]string{"postgres": "POSTGRES_", "postgis/postgis": "POSTGRES_", "pgvector/pgvector": "POSTGRES_",
	"mysql": "MYSQL_", "mariadb": "M", "mongo": "MONGO_INITDB_"}

// givenTwice reports a variable of a database that is given as a text and as a file.
func givenTwice(v *rule.View) (out []rule.Finding) {
	for _, s := range neighbours(v) {
		name, _ := imageOf(s)
		begins := withFileForm[name]
		if begins == "" || s.Get("entrypoint") != nil || s.Get("command") != nil {
			continue
		}
		set := map[string]bool{}
		all := s.Get("environment").Variables()
		for _, variable := range all {
			set[variable.Name] = variable.Set && variable.Value != ""
		}
		for _, variable := range all {
			plain, isFile := strings.CutSuffix(variable.Name, "_FILE")
			if isFile && set[plain] && set[variable.Name] && strings.HasPrefix(plain, begins) {
				out = append(out, rule.AtCompose(variable.Node, fmt.Sprintf("the image refuses both %s and %s, so the service %s ends at once", plain,
					variable.Name, s.Name), "keep one of the two"))
				break
			}
		}
	}
	return out
}

// readOnlyService reports a dev container's service with read_only: the editor installs its server among those files.
func readOnlyService(v *rule.View) []rule.Finding {
	dev := v.Composed.Dev()
	if dev == nil || !v.ByCompose() {
		return nil
	}
	n := dev.Get("read_only")
	if !n.True() || dev.Get("tmpfs") != nil || slices.ContainsFunc(v.ServiceMounts(), func(r rights.Right) bool {
		return strings.HasPrefix(r.Mount.Target, "/home") || strings.HasPrefix(r.Mount.Target, "/root")
	}) {
		return nil
	}
	return []rule.Finding{rule.AtCompose(n, "editors install their server in the container's home, which cannot be written",
		"leave read_only out, or mount a volume at the user's home and tmpfs at /tmp")}
}

// envMistakes reports values of variables that their reader refuses or does not find, which it was asked itself.
func envMistakes(v *rule.View) (out []rule.Finding) {
	tool, _ := baseimage.Version(v.BaseImage())
	image, _ := baseimage.Of(v.BaseImage())
	lists := []string{"PATH", "PYTHONPATH", "NODE_PATH"}
	for _, r := range v.Of(rights.Env, rights.SessionEnv) {
		if !r.Own() || r.Value == "" || r.Notation == rights.Label {
			continue
		}
		ours := r.Notation == rights.Property && !strings.Contains(r.Value, "$") && asItIs(v)
		switch {
		case slices.Contains(lists, r.Name) && semicolon.MatchString(r.Value):
			out = append(out, rule.AtRight(r, fmt.Sprintf("%s has a semicolon, which is a part of a folder's name here", r.Name),
				"write a colon between two folders"))
		case r.Name == "NODE_OPTIONS" && spacedOption.MatchString(r.Value):
			out = append(out, rule.AtRight(r, "node takes a value in NODE_OPTIONS only behind =, and does not start",
				"write "+strings.Replace(spacedOption.FindString(r.Value), " ", "=", 1)))
		case r.Name == "GOROOT" && ours && tool == "go" && path.Clean(r.Value) != "/usr/local/go":
			out = append(out, rule.AtRight(r, fmt.Sprintf("Go is in /usr/local/go of %s, and finds nothing elsewhere", v.BaseImage()),
				"leave it out"))
		case r.Name == "JAVA_HOME" && ours && image.ForDevContainers() && tool == "java" && systemsJava.MatchString(r.Value):
			out = append(out, rule.AtRight(r, fmt.Sprintf("%s has no Java of the system there", v.BaseImage()),
				"leave it out: the image sets it to /usr/local/sdkman/candidates/java/current"))
		}
	}
	return append(out, settingsElsewhere(v)...)
}

var (
	semicolon    = lazyregexp.New(`[}\w];([/$]|$)`)
	spacedOption = lazyregexp.New(`--(max[-_]old[-_]space[-_]size|max[-_]semi[-_]space[-_]size|stack[-_]trace[-_]limit) \d+`)
	systemsJava  = lazyregexp.New(`^/usr/lib/jvm/(java-|temurin|default|adoptopenjdk|jdk-|zulu)`)
)

// settingsElsewhere reports settings of VS Code with a path below /workspaces, where the project is mounted elsewhere.
func settingsElsewhere(v *rule.View) (out []rule.Finding) {
	folder := v.Root.Member("workspaceFolder").TextOr("")
	own := v.Root.Member("workspaceMount").TextOr("") != "" || v.ByCompose()
	if !own || !path.IsAbs(folder) || strings.HasPrefix(folder, "/workspaces") || strings.Contains(folder, "$") ||
		mounted("/workspaces", slices.Concat(v.Mounts(), v.ServiceMounts())) {
		return nil
	}
	settings := v.Root.Member("customizations").Member("vscode").Member("settings")
	if settings == nil {
		return nil
	}
	settings.Walk(func(n *jsonc.Node) {
		if n.Kind == jsonc.String && strings.HasPrefix(n.Text, "/workspaces/") {
			f := v.AtValue(n, fmt.Sprintf("the project is at %s, and the container has no /workspaces", folder),
				"write ${workspaceFolder}/…, which settings of folders know, or "+folder+"/…")
			out = append(out, f)
		}
	})
	return out
}

// attributesOfScripts reports lines of .gitattributes that give scripts of a hook the line ends of Windows, and a file whose name git
// does not read.
func attributesOfScripts(v *rule.View) (out []rule.Finding) {
	if v.Tree == nil || v.Kind() != devcontainer.ConfigFile {
		return nil
	}
	calls := false
	v.EachHookText(func(text string) { calls = calls || strings.Contains(text, ".sh") })
	if !calls {
		return nil
	}
	for _, name := range []string{".gitattributes", ".gitattribute", "gitattributes", ".gitatributes", ".devcontainer/.gitattribute"} {
		full := path.Join(v.Home, name)
		if v.Tree.Kind(full) != devcontainer.File {
			continue
		}
		src, err := v.Tree.Read(full)
		if err != nil || len(src) > jsonc.MaxSize {
			continue
		}
		at := crlfScripts.FindSubmatchIndex(src)
		wrong := path.Base(name) != ".gitattributes"
		if wrong {
			at = []int{0, len(firstLine(src))}
		}
		doc := v.Readable(relativeTo(v, full))
		if at == nil || doc == nil {
			continue
		}
		f := rule.Finding{Place: rights.Place{Doc: doc, Start: at[0], End: at[1]}, Severity: diag.SeverityWarning,
			Message: "git writes these scripts with the line ends of Windows, and the container's shell refuses them",
			Hint:    "write *.sh text eol=lf"}
		if wrong {
			f.Message, f.Hint = fmt.Sprintf("git reads no file %s", path.Base(name)), "call it .gitattributes"
		}
		v.Also(doc)
		out = append(out, f)
	}
	return out
}

var crlfScripts = lazyregexp.New(`(?m)^\*(\.sh)?[ \t]+([^#\n]*[ \t])?eol=crlf`)

func firstLine(src []byte) string {
	line, _, _ := strings.Cut(string(src), "\n")
	return line
}

// relativeTo is a name of the tree as the configuration would write it.
func relativeTo(v *rule.View, full string) string {
	up := ""
	for dir := path.Clean(v.Dir); dir != path.Clean(v.Home) && dir != "." && dir != "/"; dir = path.Dir(dir) {
		up += "../"
	}
	return up + strings.TrimPrefix(full, strings.TrimPrefix(v.Home+"/", "./"))
}

const desktopHost = "host.docker.internal"

// hostUnknown reports a variable that names the host as Docker Desktop alone knows it: on Linux and in Codespaces nothing answers.
func hostUnknown(v *rule.View) (out []rule.Finding) {
	const hint = "the engine knows it everywhere with %s"
	if !v.ByCompose() {
		known := slices.ContainsFunc(v.RunArgs, func(a rights.Arg) bool {
			return a.Flag == "add-host" && strings.HasPrefix(a.Value, desktopHost) || a.Flag == "network" && a.Value == "host"
		})
		for _, r := range v.Of(rights.Env, rights.SessionEnv) {
			if r.Notation == rights.Property && r.Name != "DOCKER_HOST" && strings.Contains(r.Value, desktopHost) && !known && v.Build == nil {
				return []rule.Finding{rule.AtRight(r, "on Linux and in Codespaces there is no "+desktopHost,
					fmt.Sprintf(hint, `"runArgs": ["--add-host=host.docker.internal:host-gateway"]`))}
			}
		}
		return nil
	}
	dev := v.Composed.Dev()
	if dev == nil {
		return nil
	}
	for _, s := range append([]*compose.Service{dev}, neighbours(v)...) {
		known := s.Get("network_mode") != nil
		s.Get("extra_hosts").Walk(func(n *compose.Node) { known = known || strings.Contains(n.Text, desktopHost) })
		for _, m := range membersOf(s.Get("extra_hosts")) {
			known = known || m.Name == desktopHost
		}
		for _, variable := range s.Get("environment").Variables() {
			if strings.Contains(variable.Value, desktopHost) && !known {
				out = append(out, rule.AtCompose(variable.Node, "on Linux and in Codespaces there is no "+desktopHost,
					fmt.Sprintf(hint, `extra_hosts: ["host.docker.internal:host-gateway"]`)))
				break
			}
		}
	}
	return out
}
