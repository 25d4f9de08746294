package effective

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/compose"
)

// versionLine is the line that the reference implementation copies.
var versionLine = regexp.MustCompile(`(?m)^\s*(version:.*)$`)

// override writes the file that the reference implementation lays over the
// project's own (generateFeaturesComposeOverrideContent).
func (r *resolver) override(config Object, result *Result, image Image) string {
	merged := withID(result.Configuration, r.options.Host.id()).(Object)
	var b strings.Builder
	if first := r.project.Compose; len(first) > 0 {
		if m := versionLine.FindSubmatch(first[0].Src); m != nil {
			fmt.Fprintf(&b, "%s\n\n", strings.TrimRight(string(m[1]), "\r"))
		}
	}
	dollars := func(s string) string { return strings.ReplaceAll(s, "$", "$$") }
	quoted := func(s string) string { return strings.ReplaceAll(dollars(s), "'", "''") }
	fmt.Fprintf(&b, "services:\n  '%s':", text(config.Get("service")))
	entrypoint, command, own := r.startOf(merged, image)
	var scripts []string
	for _, e := range list(merged.Get("entrypoints")) {
		scripts = append(scripts, text(e))
	}
	fmt.Fprintf(&b, "\n    entrypoint: [\"/bin/sh\", \"-c\", \"echo Container started\\n\ntrap \\\"exit 0\\\" 15\\n\n%s\\n\nexec "+
		"\\\"$$@\\\"\\n\nwhile sleep 1 & wait $$!; do :; done\", \"-\"", strings.Join(scripts, "\\n\n"))
	for _, word := range entrypoint {
		j, _ := marshal(dollars(word))
		fmt.Fprintf(&b, ", %s", j)
	}
	b.WriteString("]")
	if !own {
		words := []any{}
		for _, word := range command {
			words = append(words, dollars(word))
		}
		j, _ := marshal(words)
		fmt.Fprintf(&b, "\n    command: %s", j)
	}
	if truthy(merged.Get("init")) {
		b.WriteString("\n    init: true")
	}
	if user := merged.Get("containerUser"); truthy(user) {
		fmt.Fprintf(&b, "\n    user: %s", text(user))
	}
	if env, _ := merged.Get("containerEnv").(Object); len(env) > 0 {
		b.WriteString("\n    environment:")
		for _, e := range env {
			fmt.Fprintf(&b, "\n      - '%s=%s'", e.Name, quoted(strings.ReplaceAll(text(e.Value), "\n", `\n`)))
		}
	}
	if truthy(merged.Get("privileged")) {
		b.WriteString("\n    privileged: true")
	}
	lines := func(name string, values []string) {
		if len(values) > 0 {
			fmt.Fprintf(&b, "\n    %s:\n      - %s", name, strings.Join(values, "\n      - "))
		}
	}
	texts := func(v any) (out []string) {
		for _, x := range list(v) {
			out = append(out, text(x))
		}
		return out
	}
	lines("cap_add", texts(merged.Get("capAdd")))
	lines("security_opt", texts(merged.Get("securityOpt")))
	var labels []string
	for _, l := range r.options.Host.labels() {
		labels = append(labels, "'"+quoted(l)+"'")
	}
	lines("labels", labels)
	r.overrideVolumes(&b, list(merged.Get("mounts")), lines)
	return b.String() + "\n"
}

// overrideVolumes writes mounts as SOURCE:TARGET: whatever else they say is
// lost, readonly among it.
func (r *resolver) overrideVolumes(b *strings.Builder, mounts []any, lines func(string, []string)) {
	var volumes []string
	var named []Object
	for _, v := range mounts {
		m, ok := v.(Object)
		if !ok {
			m = mountFields(text(v))
		}
		volume := text(m.Get("target"))
		if !m.Has("target") {
			volume = "undefined"
		}
		if truthy(m.Get("source")) {
			volume = text(m.Get("source")) + ":" + volume
			if m.Get("type") == "volume" {
				named = append(named, m)
			}
		}
		volumes = append(volumes, volume)
	}
	lines("volumes", volumes)
	if len(named) == 0 {
		return
	}
	b.WriteString("\nvolumes:")
	for _, m := range named {
		fmt.Fprintf(b, "\n  \n  %s:", text(m.Get("source")))
		if truthy(m.Get("external")) {
			b.WriteString("\n    external: true")
		}
	}
}

// mountFields takes a mount's text apart as the reference implementation does.
func mountFields(s string) Object {
	var out Object
	alias := map[string]string{"src": "source", "destination": "target", "dst": "target"}
	for field := range strings.SplitSeq(s, ",") {
		parts := strings.Split(field, "=")
		name := parts[0]
		if long := alias[name]; long != "" {
			name = long
		}
		var value any
		if len(parts) > 1 {
			value = parts[1]
		}
		out.set(name, value)
	}
	return out
}

// startOf returns what runs behind the script that stands in the place of the
// entrypoint; own says that the service's command stays as the files have it.
func (r *resolver) startOf(merged Object, image Image) (entrypoint, command []string, own bool) {
	if truthy(merged.Get("overrideCommand")) {
		return nil, nil, false
	}
	e, c := r.service.Get("entrypoint"), r.service.Get("command")
	given := func(n *compose.Node) bool { return n != nil && !n.Null }
	entrypoint, command = r.imageStart(image)
	if given(e) {
		entrypoint, command = e.Words(), nil
	}
	if given(c) {
		return entrypoint, nil, true
	}
	return entrypoint, command, false
}
