package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/budget"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// valueForm is what the value of an option looks like, and how to write one.
type valueForm struct {
	form *lazyregexp.Regexp
	hint string
}

var (
	sizeForm   = valueForm{lazyregexp.New(`(?i)^(-1|\d+(\.\d+)? ?([kmgtpe]i?)?b?)$`), "write a number and its unit, b, k, m or g: 2g"}
	numberForm = valueForm{lazyregexp.New(`^[-+]?\d+$`), "write a whole number"}
)

// valueForms are those of the options of docker run whose values its program or the engine parses
// (docker/cli, opts; go-units, RAMInBytes), with Podman's words.
var valueForms = map[string]valueForm{
	"memory": sizeForm, "memory-reservation": sizeForm, "memory-swap": sizeForm, "shm-size": sizeForm,
	"workdir":    {lazyregexp.New(`^/|^[A-Za-z]:`), "write the whole path, such as /workspaces"},
	"pids-limit": numberForm, "stop-timeout": numberForm, "cpu-shares": numberForm,
	"cpus":               {lazyregexp.New(`^[\d./eE+-]+$`), "write a number: 1.5"},
	"restart":            {lazyregexp.New(`^(no|never|always|unless-stopped|on-failure(:\d+)?)$`), "no, always, on-failure or unless-stopped"},
	"ulimit":             {lazyregexp.New(`^(host|[a-z]+=-?\d+(:-?\d+)?)$`), "write NAME=SOFT:HARD, or NAME=NUMBER: nofile=65536"},
	"device-cgroup-rule": {lazyregexp.New(`^[acb] (\d+|\*):(\d+|\*) [rwm]{1,3}$`), "write TYPE MAJOR:MINOR MODE: c 189:* rmw"},
	"dns":                {lazyregexp.New(`^(none|[0-9a-fA-F:.%\w]*[:.][0-9a-fA-F:.%\w]*)$`), "write the address of a server"},
	"mac-address":        {lazyregexp.New(`^[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}$`), "write six bytes: 02:42:ac:11:00:02"},
	"tmpfs":              {lazyregexp.New(`^/`), "write the whole path in the container, such as /tmp"},
	"sysctl":             {lazyregexp.New(`.=`), "write NAME=VALUE"},
	"pid":                {lazyregexp.New(`^(host|private|(container|ns):.+)$`), "write host, or container:NAME"},
	"ipc":                {lazyregexp.New(`^(none|private|shareable|host|(container|ns):.+)$`), "private, shareable, host, or container:NAME"},
	"oom-score-adj":      numberForm,
	"add-host":           {lazyregexp.New(`[:=]`), "write NAME:ADDRESS; host-gateway is the address of the host"},
}

// capabilityNames are all that Linux has (capabilities(7)), without CAP_.
var capabilityNames = strings.Fields(`ALL AUDIT_CONTROL AUDIT_READ AUDIT_WRITE BLOCK_SUSPEND BPF CHECKPOINT_RESTORE CHOWN DAC_OVERRIDE
	DAC_READ_SEARCH FOWNER FSETID IPC_LOCK IPC_OWNER KILL LEASE LINUX_IMMUTABLE MAC_ADMIN MAC_OVERRIDE MKNOD NET_ADMIN NET_BIND_SERVICE
	NET_BROADCAST NET_RAW PERFMON SETFCAP SETGID SETPCAP SETUID SYS_ADMIN SYS_BOOT SYS_CHROOT SYS_MODULE SYS_NICE SYS_PACCT SYS_PTRACE
	SYS_RAWIO SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG SYSLOG WAKE_ALARM`)

// securityOptions are the names that stand in front of a security option's value (moby, daemon/daemon_unix.go;
// Podman's besides).
var securityOptions = []string{"apparmor", "label", "mask", "no-new-privileges", "proc-opts", "seccomp", "systempaths", "unmask",
	"writable-cgroups"}

// volumeModes are the words behind the second colon of --volume, of Docker and of Podman.
var volumeModes = lazyregexp.New(`^(ro|rw|z|Z|r?(shared|slave|private|bind)|cached|delegated|consistent|nocopy|copy|O|U|` +
	`(no)?(exec|dev|suid)|(idmap|upperdir|workdir)(=.*)?)$`)

// unreadValues reports values of runArgs and appPort that the engine cannot read. Most of the options are no rights.
func unreadValues(v *rule.View) (out []rule.Finding) {
	for _, a := range v.RunArgs {
		if a.Node == nil || a.Value == "" || a.Value[0] == ' ' || strings.Contains(a.Value, "${") {
			continue
		}
		refused, hint := false, ""
		if known, ok := valueForms[a.Flag]; ok {
			refused, hint = !known.form.MatchString(a.Value), known.hint
		}
		switch a.Flag {
		case "publish":
			refused, hint = !strings.Contains(a.Value, "=") && !compose.IsPort(a.Value), compose.PortHint(a.Value)
		case "memory", "memory-reservation":
			if n := size(a.Value); n > 0 && n < 6<<20 && !refused { // moby, daemon/daemon_unix.go
				refused, hint = true, "write at least 6m; a number without a unit counts bytes"
			}
		case "volume":
			hint = volumeRefused(a.Value)
			refused = hint != ""
		}
		if refused {
			out = append(out, v.AtValue(a.Node, fmt.Sprintf("the engine refuses --%s=%s", a.Flag, a.Value), hint))
		}
	}
	out = slices.Concat(out, portsTwice(v), envFilesRefused(v))
	for _, r := range v.Of(rights.Port) {
		if r.Notation == rights.Property && r.Name != "number" && !compose.IsPort(r.Value) {
			out = append(out, rule.AtRight(r, fmt.Sprintf("the engine refuses the port %q", r.Value), compose.PortHint(r.Value)))
		}
	}
	return out
}

// envFilesRefused reports files of --env-file with a name that has spaces: docker run is no shell that knows export.
func envFilesRefused(v *rule.View) (out []rule.Finding) {
	reading := budget.New(maxEnvFiles)
	for _, r := range v.Of(rights.EnvFile) {
		from := rights.Origin(r.Value)
		outside := from.Base != "workspace" && from.Base != "" || from.Leaves()
		if r.Notation != rights.Option || v.Tree == nil || outside || !reading.Spend(perEnvFile) {
			continue
		}
		src, err := v.Tree.Read(path.Join(v.Home, from.Path))
		if err != nil || len(src) > jsonc.MaxSize || madeOnHost(v, from.Path) || !reading.Spend(len(src)) {
			continue
		}
		line := 0
		for text := range strings.Lines(string(src)) {
			line++
			name, _, _ := strings.Cut(strings.TrimLeft(text, " \t"), "=")
			name = strings.TrimRight(name, "\r\n")
			if !strings.HasPrefix(name, "#") && strings.TrimSpace(name) != "" && strings.ContainsAny(name, " \t") {
				out = append(out, rule.AtRight(r, fmt.Sprintf("the engine refuses line %d of %s: %q is no name of a variable", line, from.Path, name),
					"write NAME=value, without export and without spaces around ="))
				break
			}
		}
	}
	return out
}

// portsTwice reports ports of the host that the container would take twice: the engine refuses to start it.
func portsTwice(v *rule.View) (out []rule.Finding) {
	var taken compose.HostPorts
	for _, r := range v.Of(rights.Port) {
		if r.Notation != rights.Property && r.Notation != rights.Option {
			continue
		}
		port := r.Value
		if !strings.Contains(port, ":") { // the reference CLI publishes appPort under its own number
			if port = ""; r.Notation == rights.Property {
				port = "127.0.0.1:" + r.Value + ":" + r.Value
			}
		}
		if other := taken.Take(port, port); other != "" {
			out = append(out, rule.AtRight(r, fmt.Sprintf("the engine refuses %s: %s takes the same port of the host", r.Value, other),
				"give it another port of the host"))
		}
	}
	return out
}

// namesOfNothing reports capabilities and security options, in any notation, that the engine does not have.
func namesOfNothing(v *rule.View) (out []rule.Finding) {
	for _, r := range v.Of(rights.Capability) {
		if r.Value == "" || strings.Contains(r.Value, "$") || slices.Contains(capabilityNames, r.Value) {
			continue
		}
		hint := "the names are in the manual, capabilities(7)"
		if best := diag.Suggest(r.Value, capabilityNames); best != "" {
			hint = fmt.Sprintf("did you mean %s?", best)
		}
		out = append(out, rule.AtRight(r, fmt.Sprintf("there is no capability %s, and the engine refuses to start the container", r.Value), hint))
	}
	for _, r := range v.Of(rights.SecurityOpt) {
		name := strings.FieldsFunc(r.Value+"=", func(c rune) bool { return c == '=' || c == ':' })
		if len(name) == 0 || strings.Contains(r.Value, "$") || slices.Contains(securityOptions, name[0]) {
			continue
		}
		if best := diag.Suggest(name[0], securityOptions); best != "" { // a newer engine may have more
			out = append(out, rule.AtRight(r, fmt.Sprintf("the engine has no security option %q, and refuses to start the container", name[0]),
				fmt.Sprintf("did you mean %s?", best)))
		}
	}
	return out
}

// volumeRefused says what to write for a value of --volume that the engine refuses; "" when it takes it.
func volumeRefused(value string) string {
	parts := strings.Split(value, ":")
	if len(parts) < 2 || strings.Contains(value, `\`) {
		return ""
	}
	switch source := parts[0]; {
	case source != "" && !strings.HasPrefix(source, "/") && !strings.HasPrefix(source, ".") && strings.ContainsAny(source, "/~$"):
		return "a folder of the host is an absolute path, such as ${localWorkspaceFolder}/data or ${localEnv:HOME}/data"
	case !strings.HasPrefix(parts[1], "/"):
		return "the place in the container is an absolute path"
	case len(parts) == 3:
		for mode := range strings.SplitSeq(parts[2], ",") {
			if !volumeModes.MatchString(mode) {
				return "write ro for a mount that is only read"
			}
		}
	}
	return ""
}
