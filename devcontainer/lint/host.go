package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// shown are the rights of the given kinds that the configuration and its Compose
// files show. A Feature's part is SBX412. A mount of volumes_from is
// reported where the other service has it.
func shown(v *rule.View, kinds ...rights.Kind) []rights.Right {
	return slices.DeleteFunc(v.Of(kinds...), func(r rights.Right) bool {
		return r.Notation == rights.Feature || r.Key == "volumes_from" && r.Kind == rights.Mounted
	})
}

const hintSocket = "a program that talks to the engine can start a container that owns the host; remove it"

// engineAccess reports ways to a container engine outside.
func engineAccess(v *rule.View) (out []rule.Finding) {
	for _, r := range shown(v, rights.Mounted, rights.Granted) {
		if mountsEngine(r) {
			f := rule.AtRight(r, fmt.Sprintf("the mount of %q gives access to the container engine", r.Mount.Source), hintSocket)
			f.Place = r.SourceAt
			out = append(out, f)
		}
	}
	for _, r := range shown(v, rights.Env, rights.SessionEnv) {
		if r.Name == dockerHost && r.Value != "" {
			out = append(out, rule.AtRight(r, "DOCKER_HOST points the container at an engine outside", hintSocket))
		}
	}
	for _, r := range shown(v, rights.EngineAPI) {
		name := r.Key
		if r.Notation == rights.Option {
			name = "--" + name
		}
		out = append(out, rule.AtRight(r, name+" gives access to the container engine, and the credentials for its registries", hintSocket))
	}
	return onPurpose(v, out)
}

// dockerHost is the variable that says where programs find the engine.
const dockerHost = "DOCKER_HOST"

// engineFeatures give the container the host's engine: that is what they are
// for, and what their pages say.
var engineFeatures = []string{"docker-outside-of-docker", "docker-from-docker"}

// onPurpose makes notes of findings about what the engine's owner can do anyway
// (reach the engine, the host's files, run commands there) where a Feature gives
// the container the engine in plain words. Capabilities and namespaces are not
// among them: nothing needs those in addition to the engine. A sandbox, or an
// agent's container, did not mean that, and gets the errors.
func onPurpose(v *rule.View, findings []rule.Finding) []rule.Finding {
	features := v.Root.Member("features")
	if features == nil || v.Sandboxed() || v.Agent() || !slices.ContainsFunc(features.Members, func(m jsonc.Member) bool {
		return !rights.IsLocal(m.Name) && slices.Contains(engineFeatures, rights.FeatureID(m.Name))
	}) {
		return findings
	}
	for i := range findings {
		findings[i].Severity = diag.SeverityNote
		findings[i].Hint = "a note only, because a Feature gives the engine on purpose; " + findings[i].Hint
	}
	return findings
}

func privileged(v *rule.View) (out []rule.Finding) {
	for _, r := range shown(v, rights.Privileged) {
		if r.Name != "" {
			out = append(out, rule.AtRight(r, r.Name+" runs with all capabilities and all devices of the host", "remove it"))
			continue
		}
		out = append(out, rule.AtRight(r, "a privileged container is not isolated: it reaches the host's devices and can change its kernel",
			"remove it, and add the one capability that is needed"))
	}
	return out
}

// dangerous capabilities lead to root on the host or undo the confinement;
// capabilities(7). NET_ADMIN is not among them: it acts on the container's own
// network, and the sandbox needs it.
var dangerous = []string{
	"ALL", "SYS_ADMIN", "SYS_PTRACE", "SYS_MODULE", "SYS_RAWIO", "SYS_BOOT", "SYS_TIME", "SYSLOG", "DAC_READ_SEARCH",
	"BPF", "PERFMON", "CHECKPOINT_RESTORE", "MAC_ADMIN", "MAC_OVERRIDE", "AUDIT_CONTROL", "LINUX_IMMUTABLE",
}

func dangerousCapabilities(v *rule.View) (out []rule.Finding) {
	for _, r := range shown(v, rights.Capability) {
		if !slices.Contains(dangerous, r.Value) {
			continue
		}
		f := rule.AtRight(r, "the capability "+r.Value+" reaches beyond the container", "remove it")
		if r.Value == "SYS_PTRACE" { // in its own process namespace it leads to no process of the host's
			f.Message = "the capability SYS_PTRACE lets its holder read and change every other process of the container"
			f.Severity = diag.SeverityNote
		}
		out = append(out, f)
	}
	return out
}

// hostShares says, by the name of Docker's flag, what a container gets of the
// host with each of the host's namespaces, and how grave that is.
var hostShares = map[string]struct {
	what, hint string
	severity   diag.Severity // "" = the rule's
}{
	"network": {what: "shares the host's network namespace", hint: "remove it; ports are reached with forwardPorts"},
	"pid": {what: "shares the host's processes, which root in the container can end",
		hint: "remove it; the container's own processes need no option"},
	"ipc": {what: "shares the host's shared memory and message queues",
		hint: "remove it; --shm-size gives the container more shared memory of its own"},
	"uts": {what: "shares the host's host name", hint: "remove it; --hostname names the container"},
	"cgroupns": {what: "shares the host's view of control groups",
		hint: "remove it; the engine gives the container a namespace of its own"},
	"userns": {what: "keeps the engine from mapping the container's users, if it is set up to",
		hint: "remove it, so that the engine's setting holds", severity: diag.SeverityNote},
}

func hostNamespaces(v *rule.View) (out []rule.Finding) {
	for _, r := range shown(v, rights.Namespace) {
		host, _, _ := r.Joins()
		if !host {
			continue
		}
		shared := hostShares[r.Name]
		f := rule.AtRight(r, fmt.Sprintf("--%s=host %s", r.Key, shared.what), shared.hint)
		switch {
		case r.Key == "networks":
			f.Message, f.Hint = fmt.Sprintf("the network %s is the host's", r.Name), hostShares["network"].hint
		case r.Notation == rights.Compose:
			f.Message = fmt.Sprintf("%s: host %s", r.Key, shared.what)
		}
		f.Severity = shared.severity
		out = append(out, f)
	}
	return out
}

func unconfined(v *rule.View) (out []rule.Finding) {
	for _, r := range shown(v, rights.SecurityOpt) {
		if switchesOff(r.Value) {
			option, _, _ := strings.Cut(strings.Replace(r.Value, ":", "=", 1), "=")
			out = append(out, rule.AtRight(r, r.Value+" switches a part of the kernel's confinement off", confined[option]))
		}
	}
	return out
}

// confined says how to do without each of these options.
var confined = map[string]string{
	"seccomp":     "remove it; gdb and Delve work under the default profile, and LLDB with: settings set target.disable-aslr false",
	"apparmor":    "remove it, or name a profile that allows what is needed: apparmor=NAME",
	"label":       "remove it; if SELinux closes a mounted folder, write :z behind the mount, or :Z when one container uses it",
	"systempaths": "remove it; only containers within the container need it",
}

// switchesOff reports whether a security option takes confinement away.
func switchesOff(option string) bool {
	key, value, ok := strings.Cut(option, "=")
	if !ok {
		key, value, _ = strings.Cut(option, ":")
	}
	return value == "unconfined" && slices.Contains([]string{"seccomp", "apparmor", "systempaths"}, key) ||
		key == "label" && value == "disable"
}

// harmlessDevices are no more than what every container has.
var harmlessDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/shm"}

func devices(v *rule.View) (out []rule.Finding) {
	for _, r := range shown(v, rights.Device) {
		if slices.ContainsFunc(harmlessDevices, func(d string) bool { return strings.HasPrefix(r.Value, d) }) {
			continue
		}
		what := r.Value
		switch {
		case r.Notation == rights.Option:
			what = r.Written()
		case what == "":
			what = "this"
		}
		does := " gives the container a device of the host"
		if strings.HasPrefix(what, "--device-cgroup-rule") {
			does = " lets the container use such devices of the host, once they are in it"
		}
		out = append(out, rule.AtRight(r, what+does, "leave it out unless the work needs it"))
	}
	return out
}

// sensitiveMounts reports folders of the host that hold keys or decide what the
// host does.
func sensitiveMounts(v *rule.View) (out []rule.Finding) {
	for _, r := range shown(v, rights.Mounted, rights.Granted) {
		what := sensitive(r.Mount)
		if what == "" || mountsEngine(r) || mountsSession(r) {
			continue
		}
		// A relative source of Compose starts at the Compose file: people mount
		// the project and the folders around it. Around a sandbox lie folders that are the
		// user's alone, such as other projects or the home folder.
		if r.Notation == rights.Compose && !fromRootOrHome(r.Mount) && !(v.Sandboxed() && holdsProject(v, r.Mount.Source)) {
			continue
		}
		if r.Notation == rights.Property && insideTree(v, r.Mount) {
			continue
		}
		access := "to read and change"
		if r.Mount.ReadOnly {
			access = "to read"
		}
		f := rule.AtRight(r, fmt.Sprintf("the container gets %s, %s", what, access), instead(r.Mount))
		f.Place = r.SourceAt
		if isNeverExpanded(v, r) {
			f.Unless = []string{"SBX310", "SBX320", "SBX321"}
		}
		if severity, hint := aroundWorkspace(r.Mount); severity != "" && !v.Sandboxed() && !v.Agent() {
			f.Severity, f.Hint = severity, hint
		}
		out = append(out, f)
	}
	return onPurpose(v, out)
}

// isNeverExpanded reports a mount of the configuration whose source begins with a variable of a
// shell, or a bind mount's with ~: no shell reads it there, and the engine refuses it.
func isNeverExpanded(v *rule.View, r rights.Right) bool {
	if r.Notation == rights.Property && r.Mount.Type == "bind" && strings.HasPrefix(r.Mount.Source, "~") {
		return !v.ByCompose()
	}
	byEngine := r.Notation == rights.Option || r.Notation == rights.Property
	return byEngine && strings.HasPrefix(r.Mount.Source, "$") && !strings.HasPrefix(r.Mount.Source, "${")
}

// insideTree reports whether a relative source of the configuration, which starts at its
// folder or at the first Compose file's, stays in the repository.
func insideTree(v *rule.View, m rights.Mount) bool {
	p := rights.Origin(m.Source)
	if v.Tree == nil || p.Base != "" || strings.Contains(m.Source, "$") {
		return false
	}
	dir := v.Dir
	if v.Composed != nil {
		dir = path.Join(dir, path.Dir(v.Composed.First))
	}
	return !devcontainer.LeavesTree(path.Join(dir, p.Path))
}

// aroundWorkspace says how grave a mount of what lies around the workspace is where no agent
// works, and what to do; "" for any other mount. A checkout next to this one is what people
// work on together; a folder above holds all that lies there.
func aroundWorkspace(m rights.Mount) (severity diag.Severity, hint string) {
	p := rights.Origin(m.Source)
	if p.Base != "workspace" || !p.Leaves() {
		return "", ""
	}
	below := p
	for below.Leaves() {
		below.Path = strings.TrimPrefix(strings.TrimPrefix(below.Path, ".."), "/")
	}
	switch {
	case slices.ContainsFunc(slices.Concat(homeSecrets, systemDirs), below.Is):
		return "", ""
	case below.Path == "" || strings.HasPrefix(p.Path, "../.."):
		return diag.SeverityWarning, "mount only the folder that is needed, next to this one or in it"
	}
	return diag.SeverityNote, "a colleague's machine may not have it; a volume or a multi-root workspace brings it along"
}

func hostCommands(v *rule.View) (out []rule.Finding) {
	for _, r := range shown(v, rights.HostCommand) {
		f := rule.AtRight(r, "initializeCommand runs on the host, each time the container is opened",
			"do it in the Dockerfile or in onCreateCommand, which run inside")
		if makesFolders(v, r) && !v.Sandboxed() && !v.Agent() {
			f.Message = "initializeCommand runs on the host, each time the container is opened; this one makes only folders"
			f.Hint, f.Severity = "nothing has to change where a bind mount wants such a folder", diag.SeverityNote
		}
		out = append(out, f)
	}
	return onPurpose(v, out)
}

// makesFolders reports whether a command of the host only makes folders and empty files, for
// mounts of them.
func makesFolders(v *rule.View, r rights.Right) bool {
	some, other := false, false
	v.EachCommand(r.Node, func(_ *jsonc.Node, cmd *shell.Command) {
		some = some || cmd.Is("mkdir")
		other = other || !cmd.Is("mkdir", "touch", "test", "[", "true", ":") || len(cmd.Files) > 0 || cmd.Wrapped != "" ||
			strings.Contains(cmd.Words[0].Text, "/")
	})
	return some && !other
}

const hintNeighbour = "let the two talk over a network, or share the one volume that is needed"

// waysToOthers reports what leads to services of the host and into other
// containers. The network of another service is how a firewall in a container of
// its own works, and what templates with a database do; no other
// container has a use for its processes and memory.
func waysToOthers(v *rule.View) (out []rule.Finding) {
	for _, r := range shown(v, rights.Namespace) {
		_, container, service := r.Joins()
		switch {
		case container != "" && r.Notation == rights.Option:
			out = append(out, rule.AtRight(r, fmt.Sprintf("%s shares the %s namespace of another container", r.Written(), r.Key), hintNeighbour))
		case container != "":
			out = append(out, rule.AtRight(r, fmt.Sprintf("%s shares the %s namespace of the container %s, which is none of this project's",
				r.Key, r.Name, container), hintNeighbour))
		case service != "" && r.Name != "network":
			out = append(out, rule.AtRight(r, fmt.Sprintf("%s shares the %s namespace of the service %s", r.Key, r.Name, service), hintNeighbour))
		}
	}
	for _, r := range shown(v, rights.VolumesFrom) {
		switch {
		case r.Notation == rights.Option:
			out = append(out, rule.AtRight(r, r.Written()+" mounts what another container has mounted", "name the volume that is needed in mounts"))
		case strings.HasPrefix(r.Value, "container:"):
			out = append(out, rule.AtRight(r, r.Value+" mounts what another container has mounted", "name the volume that is needed"))
		}
	}
	for _, r := range shown(v, rights.ExtraHost) {
		if strings.Contains(r.Value, "host-gateway") {
			out = append(out, rule.AtRight(r, "host-gateway opens a way to services of the host",
				"run the service in a container, or reach it by a name that a policy allows"))
		}
	}
	return out
}

// buildOpensHost reports what a build gets of the host in addition to its context.
func buildOpensHost(v *rule.View) (out []rule.Finding) {
	const hint = "leave it out, or fetch in a build stage that needs none of it"
	for _, r := range shown(v, rights.BuildOption) {
		switch {
		case r.Notation == rights.Option:
			if what := buildGets(r.Name, r.Value); what != "" {
				out = append(out, rule.AtRight(r, r.Written()+" gives the build "+what, hint))
			}
		case r.Name == "network":
			if r.Value == "host" {
				out = append(out, rule.AtRight(r, "network: host gives the build the host's network", hint))
			}
		case r.Name == "privileged":
			out = append(out, rule.AtRight(r, "privileged gives the build the host's rights", "remove it"))
		default:
			out = append(out, rule.AtRight(r, r.Name+" gives the build more than its context", hint))
		}
	}
	return out
}

// buildGets says what an option of docker build hands to the build, or "".
func buildGets(option, value string) string {
	switch {
	case option == "network" && value == "host":
		return "the host's network"
	case option == "ssh":
		return "the SSH agent"
	case option == "secret":
		return "a secret of the host"
	case option == "allow":
		return "what BuildKit asks a permission for"
	case option == "security-opt" && strings.Contains(value, "unconfined"):
		return "an unconfined kernel interface"
	}
	return ""
}

// publishedPorts reports ports that the engine opens to the host's network.
func publishedPorts(v *rule.View) (out []rule.Finding) {
	networks := v.Of(rights.Namespace)
	for _, r := range shown(v, rights.Port) {
		if onHostsNetwork(networks, r) {
			out = append(out, rule.AtRight(r, "the engine publishes no port of a container that uses the host's network",
				"leave the port out: the host reaches servers of this container at their own ports"))
			continue
		}
		if r.Name == "number" || !onAllAddresses(r.Value) || r.Next {
			continue
		}
		switch {
		case r.Notation == rights.Compose && !strings.Contains(r.Value, ":"):
			continue // a port of the engine's choice
		case r.Notation == rights.Option && onePort.MatchString(r.Value):
			f := rule.AtRight(r, fmt.Sprintf("the engine chooses the port of the host that leads to %s, another one at each start", r.Value),
				fmt.Sprintf("name the host's port, too: 127.0.0.1:%s:%[1]s; or use forwardPorts", strings.TrimSuffix(r.Value, "/tcp")))
			f.Severity = diag.SeverityWarning
			out = append(out, f)
			continue
		}
		if !strings.Contains(r.Value, "=") && !compose.IsPort(r.Value) {
			continue // the engine refuses it, which other rules say
		}
		out = append(out, rule.AtRight(r, fmt.Sprintf("the port %s is published on all addresses of the host, where other machines reach it",
			r.Value), "use forwardPorts, or publish it for this machine only: 127.0.0.1:HOST:CONTAINER"))
	}
	return out
}

// onHostsNetwork reports whether a port is that of a container with the host's network, as one of several rights says.
func onHostsNetwork(networks []rights.Right, port rights.Right) bool {
	return slices.ContainsFunc(networks, func(r rights.Right) bool {
		host, _, _ := r.Joins()
		return host && r.Name == "network" && r.Notation == port.Notation && r.Service == port.Service
	})
}

var onePort = lazyregexp.New(`^\d+(/[a-z]+)?$`)

var loopback = lazyregexp.New(`^(127\.[0-9.]+|\[::1\]|localhost):`)

// onAllAddresses reads -p: [[ADDRESS:]HOST_PORT:]CONTAINER_PORT[/PROTOCOL].
func onAllAddresses(s string) bool {
	return s != "" && !loopback.MatchString(s) && !strings.Contains(s, "${")
}

// featureRights reports rights that devcontainer.json does not show. For a
// published Feature it does so only in an agent's container: other users chose
// the Feature for these rights.
func featureRights(v *rule.View) (out []rule.Finding) {
	for _, r := range v.Rights {
		what := opensHost(r)
		if r.Notation != rights.Feature || what == "" {
			continue
		}
		if rights.IsLocal(r.From.Name) || !v.Sandboxed() && !v.Agent() {
			continue // the rules judge a Feature of the repository by itself
		}
		if r.Kind == rights.Mounted {
			what = "the host's container engine"
		}
		out = append(out, v.AtFeature(r, fmt.Sprintf("the Feature %s brings %s", rights.FeatureID(r.From.Name), what),
			"an agent there is not contained; leave it out"))
	}
	return out
}

// opensHost says what of the host a right opens, or "".
func opensHost(r rights.Right) string {
	switch r.Kind {
	case rights.Privileged:
		return "a privileged container"
	case rights.Capability:
		if slices.Contains(dangerous, r.Value) {
			return "the capability " + r.Value
		}
	case rights.SecurityOpt:
		if switchesOff(r.Value) {
			return r.Value
		}
	case rights.Env:
		if r.Name == dockerHost {
			return "DOCKER_HOST, which points the container at an engine outside"
		}
	case rights.Mounted:
		if mountsEngine(r) {
			return "the container engine's socket"
		}
		if what, can := sessionSocket(r.Mount); what != "" {
			return fmt.Sprintf("the socket of %s: whoever connects %s", what, can)
		}
		if what := sensitive(r.Mount); what != "" {
			return what
		}
	}
	return ""
}

// composeProviders reports services that are programs of the host.
func composeProviders(v *rule.View) (out []rule.Finding) {
	for _, r := range shown(v, rights.HostProgram) {
		out = append(out, rule.AtRight(r, fmt.Sprintf("Compose runs %q on the host for the service %s", r.Value, r.Service.Name),
			"run the service in a container"))
	}
	return out
}
