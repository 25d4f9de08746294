package lint

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// plainNetworks are those that every engine has.
var plainNetworks = []string{"bridge", "host", "none", "default", "nat", "slirp4netns", "pasta", "private", "ns"}

// ofCompose ends the names of the networks that Compose makes for its projects. A project's own Compose file may do so, whose
// name is that of the folder, and Compose refuses one that was made by hand.
const ofCompose = "_default"

// networksOfNobody reports networks that nothing in the project makes, and an address in one that gives none.
func networksOfNobody(v *rule.View) (out []rule.Finding) {
	made := v.Root.Member("initializeCommand") != nil
	own := false
	for _, a := range v.RunArgs {
		named := (a.Flag == "network" || a.Flag == "net") && a.Node != nil && a.Value != "" && !slices.Contains(plainNetworks, a.Value)
		own = own || named
		if !named || made || strings.ContainsAny(a.Value, ":$=,") || strings.HasSuffix(a.Value, ofCompose) {
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

// mostAsked bounds the networks and volumes that are looked for in other files, those files, and the mounts that are compared with others.
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
	last := name[strings.LastIndexByte(name, '_')+1:]
	others := rule.Once(v, "other Compose files", otherCompose)
	return len(others) > mostAsked || slices.ContainsFunc(others, func(text string) bool {
		return strings.Contains(text, "\n"+key+":") && strings.Contains(text, last)
	})
}

// otherCompose returns the texts of the project's Compose files that are not the container's, and no more than one above mostAsked.
func otherCompose(v *rule.View) (out []string) {
	for _, folder := range slices.Compact([]string{v.Home, v.Dir}) {
		for _, file := range v.Tree.List(folder) {
			ext := path.Ext(file)
			if ext != ".yml" && ext != ".yaml" || !strings.Contains(file, "compose") || len(out) > mostAsked ||
				slices.ContainsFunc(v.Compose, func(d *jsonc.Document) bool { return path.Base(d.File) == file }) {
				continue
			}
			src, _ := v.Tree.Read(path.Join(folder, file))
			out = append(out, string(src))
		}
	}
	return out
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
