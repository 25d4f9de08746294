package runplan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/shellword"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/workspace"
)

// Defaults are the settings that hold when no file and no flag has others. No host is
// open: the agent asks the model through the tunnel, and the preset of the
// model's provider would let it go around the proxy with a key that came in a
// prompt. The mode is allowlist and not none, so that the resolver answers and
// every refused host is on record.
func Defaults() settings.Settings {
	return settings.Settings{
		Network:  firewall.Network{Mode: firewall.ModeAllowlist},
		Topology: settings.TopologySidecar,
		Limits:   defaultLimits(),
	}
}

// Overlay returns base with what flags or variables set on top: single values
// win, lists and maps are added.
func Overlay(base, top settings.Settings) settings.Settings {
	s := base
	s.Network = firewall.Network{
		Mode:    cmp.Or(top.Network.Mode, base.Network.Mode),
		Guard:   cmp.Or(top.Network.Guard, base.Network.Guard),
		Presets: union(base.Network.Presets, top.Network.Presets),
		Allow:   union(base.Network.Allow, top.Network.Allow),
		Deny:    union(base.Network.Deny, top.Network.Deny),
		Private: union(base.Network.Private, top.Network.Private),
		Inbound: union(base.Network.Inbound, top.Network.Inbound),
	}
	s.Workspace.Mode = cmp.Or(top.Workspace.Mode, base.Workspace.Mode)
	s.Workspace.Protect = union(base.Workspace.Protect, top.Workspace.Protect)
	s.Mounts = overlaidMounts(base.Mounts, top.Mounts)
	s.Secrets = settings.MergeSecrets(base.Secrets, top.Secrets)
	s.Env = merged(base.Env, top.Env)
	if s.EnvPrefixes = union(base.EnvPrefixes, top.EnvPrefixes); s.EnvPrefixes == nil && (base.EnvPrefixes != nil || top.EnvPrefixes != nil) {
		s.EnvPrefixes = []string{}
	}
	s.Limits = settings.Limits{
		Memory:  cmp.Or(top.Limits.Memory, base.Limits.Memory),
		CPUs:    cmp.Or(top.Limits.CPUs, base.Limits.CPUs),
		PIDs:    cmp.Or(top.Limits.PIDs, base.Limits.PIDs),
		Disk:    cmp.Or(top.Limits.Disk, base.Limits.Disk),
		Timeout: cmp.Or(top.Limits.Timeout, base.Limits.Timeout),
	}
	s.Budgets, s.Models = slices.Concat(base.Budgets, top.Budgets), slices.Concat(base.Models, top.Models)
	s.MCP.Servers = settings.MergeMCPServers(base.MCP.Servers, top.MCP.Servers)
	s.Instructions = union(base.Instructions, top.Instructions)
	s.Image = cmp.Or(top.Image, base.Image)
	s.Topology = cmp.Or(top.Topology, base.Topology)
	return s
}

// overlaidMounts puts mounts on top of others: of two at one place the top one counts.
func overlaidMounts(base, top []settings.Mount) []settings.Mount {
	kept := slices.DeleteFunc(slices.Clone(base), func(m settings.Mount) bool {
		return slices.ContainsFunc(top, func(t settings.Mount) bool { return t.Container == m.Container })
	})
	return append(kept, top...)
}

// narrow returns the settings of a run: base, which the user or the workflow
// trusts, narrowed by the project's own file, which belongs to the code that is
// being sandboxed. Settings that the file would widen are refused, all at once.
//
// Presets that only a dev container needs are left out first; see
// devContainerPresets. own is what the user gave by flag, which stays. offer says how
// to allow what is refused.
func narrow(base, own, project settings.Settings, offer func([]wide) string) (settings.Accepted, error) {
	project.Network.Presets, _ = devContainerPresets(project.Network.Presets, base.Network.Presets)
	project.Workspace.Mode = cmp.Or(own.Workspace.Mode, project.Workspace.Mode)
	users, err := accept(base)
	if err != nil {
		return settings.Accepted{}, err
	}
	asked, err := accept(narrowed(base, own, project))
	if err != nil {
		return settings.Accepted{}, err
	}
	if wider := append(widerNetwork(users.Policy(), asked.Policy()), widening(base, project)...); len(wider) > 0 {
		return settings.Accepted{}, refuseWidening(wider, offer)
	}
	return asked, nil
}

// narrowed are the settings of a run by what a project's file asks for, if that is no more
// than base. Where the file has a list of presets or of entries, also an empty one, it takes
// the place of the default ones; own, what the user gave by flag, stays.
func narrowed(base, own, project settings.Settings) settings.Settings {
	s := base
	if project.Network.Presets != nil {
		s.Network.Presets = union(project.Network.Presets, own.Network.Presets)
	}
	if project.Network.Allow != nil {
		s.Network.Allow = union(project.Network.Allow, own.Network.Allow)
	}
	s.Network.Mode = cmp.Or(project.Network.Mode, base.Network.Mode)
	s.Network.Guard = cmp.Or(project.Network.Guard, base.Network.Guard)
	s.Network.Deny = union(base.Network.Deny, project.Network.Deny)
	s.Network.Private = union(base.Network.Private, project.Network.Private)
	s.Network.Inbound = union(base.Network.Inbound, project.Network.Inbound)
	s.Workspace.Mode = cmp.Or(project.Workspace.Mode, base.Workspace.Mode)
	s.Workspace.Protect = union(base.Workspace.Protect, project.Workspace.Protect) // only ever more
	s.Env = merged(project.Env, base.Env)                                          // the user's values win
	s.Limits = settings.Limits{
		Memory:  smaller(base.Limits.Memory, project.Limits.Memory),
		CPUs:    smaller(base.Limits.CPUs, project.Limits.CPUs),
		PIDs:    smaller(base.Limits.PIDs, project.Limits.PIDs),
		Disk:    smaller(base.Limits.Disk, project.Limits.Disk),
		Timeout: smaller(base.Limits.Timeout, project.Limits.Timeout),
	}
	// They only ever narrow.
	s.Budgets, s.Models = slices.Concat(base.Budgets, project.Budgets), slices.Concat(base.Models, project.Models)
	return s
}

// wide is one thing that the project's file would open, and the flag that
// allows just that; "" when only --trust-project does.
type wide struct{ what, flag string }

// accept judges layers that were put together.
func accept(s settings.Settings) (settings.Accepted, error) {
	accepted, bad := settings.Accept(s)
	if bad != nil {
		return settings.Accepted{}, networkError(bad)
	}
	return *accepted, nil
}

// widerNetwork lists what the policy asked opens that the user's does not.
func widerNetwork(users, asked *firewall.Policy) (found []wide) {
	for _, entry := range asked.Wider(users) {
		what := "network: " + entry
		if strings.HasPrefix(entry, "preset:") {
			preset, _, _ := strings.Cut(entry, " ") // it has dozens of entries, and its name says them all
			what = "network: " + preset
		}
		if w := (wide{what, flagFor(entry)}); !slices.Contains(found, w) {
			found = append(found, w)
		}
	}
	return found
}

// widening lists what project asks for beyond base, but for its network.
func widening(base, project settings.Settings) (found []wide) {
	if mode := project.Workspace.Mode; mode != "" && modeReach(mode) > modeReach(base.Workspace.Mode) {
		found = append(found, wide{"workspace.mode: " + mode, "--workspace " + mode})
	}
	for _, m := range project.Mounts {
		if !slices.Contains(base.Mounts, m) {
			found = append(found, wide{"mounts: " + m.Host, ""})
		}
	}
	for _, s := range project.Secrets { // the user says where one comes from, and with what it goes
		if s.For != "" && !slices.ContainsFunc(base.Secrets, func(b settings.Secret) bool { return b.Name == s.Name && b.For == s.For }) {
			found = append(found, wide{"secrets: " + s.Name + " for " + s.For, ""})
		} else if !slices.ContainsFunc(base.Secrets, func(b settings.Secret) bool { return b.Name == s.Name }) {
			found = append(found, wide{"secrets: " + s.Name, "--secret " + s.Name})
		}
	}
	for _, m := range project.MCP.Servers {
		found = append(found, wide{"mcp.servers: " + m.Name, "--mcp-servers " + m.Name})
	}
	for _, p := range project.EnvPrefixes {
		if !slices.ContainsFunc(base.EnvPrefixes, func(b string) bool { return strings.HasPrefix(p, b) }) {
			found = append(found, wide{"envPrefixes: " + p, ""})
		}
	}
	for _, name := range project.Instructions {
		if !slices.Contains(base.Instructions, name) {
			found = append(found, wide{"instructions: your own " + name, "--user-instructions " + name})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(project.Env)) {
		if value, ok := base.Env[name]; steers(name, project.Env[name]) && (!ok || value != project.Env[name]) {
			found = append(found, wide{"env: " + name + " (it may change which programs run, what they load or where they connect)", ""})
		}
	}
	if project.Image != "" && project.Image != base.Image {
		found = append(found, wide{"image: " + project.Image, "--image " + project.Image})
	}
	if project.Topology == settings.TopologySingle {
		found = append(found, wide{"topology: single", ""})
	}
	limit := func(name, flag string, over bool) {
		if over {
			found = append(found, wide{"limits: more " + name, flag})
		}
	}
	b, p := base.Limits, project.Limits
	limit("memory", fmt.Sprintf("--memory %d", p.Memory), above(p.Memory, b.Memory))
	limit("cpus", fmt.Sprintf("--cpus %g", p.CPUs), above(p.CPUs, b.CPUs))
	limit("pids", fmt.Sprintf("--pids %d", p.PIDs), above(p.PIDs, b.PIDs))
	limit("timeout", "--timeout "+p.Timeout.String(), above(p.Timeout, b.Timeout))
	limit("disk", fmt.Sprintf("--disk %d", p.Disk), above(p.Disk, b.Disk))
	return found
}

// modeReach orders the modes of a workspace by what they give the agent: to change the
// project, to see it, nothing.
func modeReach(mode string) int {
	switch workspace.Mode(mode) {
	case workspace.Bind, "":
		return 2
	case workspace.None:
		return 0
	}
	return 1
}

// flagFor returns the flag that allows one entry of firewall.Policy.Wider.
func flagFor(entry string) string {
	if name, ok := strings.CutPrefix(entry, "preset:"); ok {
		name, _, _ = strings.Cut(name, " ")
		return "--preset " + name
	}
	if mode, ok := strings.CutPrefix(entry, "mode "); ok {
		if mode == string(firewall.ModeHost) {
			return hostFlags
		}
		return "--network " + mode
	}
	if operation.Typed(entry) {
		return "--allow " + entry
	}
	if strings.Contains(entry, " ") { // private, inbound, guard
		return ""
	}
	return "--allow " + asciiEntry(entry)
}

// asciiEntry is an entry with its name in the form that DNS has, if that is another one.
func asciiEntry(entry string) string {
	name, wild := strings.CutPrefix(entry, "*.")
	t, err := firewall.ParseTarget(name)
	if err != nil || t.Name == "" || visible.ASCII(name) == name {
		return entry
	}
	if wild {
		t.Name = "*." + t.Name
	}
	if _, port, ok := strings.Cut(name, ":"); ok {
		return t.Name + ":" + port
	}
	return t.Name
}

// refuseWidening says everything that is wider, and how to allow it.
func refuseWidening(found []wide, offer func([]wide) string) error {
	var what []string
	for _, w := range found {
		what = append(what, visible.ASCII(w.what)) // a name cannot look like another one
	}
	err := fmt.Errorf("%w: %w: %s", workspace.ErrRefused, ErrWidens, strings.Join(what, "; "))
	return diag.WithHint(err, "%s", offer(found))
}

// offerFlags names every flag that would allow what was found, and the command that
// accepts the whole file.
func offerFlags(found []wide, accept string) string {
	var flags []string
	trust, whole := fmt.Sprintf("'%s', until it changes, or --trust-project, for this run", accept), false
	for _, w := range found {
		whole = whole || w.flag == ""
		if w.flag == hostFlags { // no file takes the firewall away, trusted or not
			trust = "--trust-project " + hostFlags
		}
		name, value, _ := strings.Cut(w.flag, " ")
		if operation.Typed(value) {
			w.flag = name + " " + shellword.Quote(value)
		}
		flags = append(flags, w.flag)
	}
	if whole {
		return "read the file, then accept all of it with " + trust
	}
	slices.Sort(flags)
	return fmt.Sprintf("allow it with %s, or read the file and accept all of it with %s", strings.Join(slices.Compact(flags), " "), trust)
}

// offerInputs names the inputs of the Action that would allow what was found.
func offerInputs(found []wide) string {
	values := map[string][]string{}
	var none []string
	for _, w := range found {
		flag, value, _ := strings.Cut(w.flag, " ")
		switch flag {
		case "--allow":
			values["allowed_domains"] = append(values["allowed_domains"], value)
		case "--preset":
			values["presets"] = append(values["presets"], value)
		case "--image":
			values["image"] = append(values["image"], value)
		case "--timeout":
			if d, err := time.ParseDuration(value); err == nil {
				values["timeout_minutes"] = append(values["timeout_minutes"], strconv.FormatFloat(d.Minutes(), 'f', -1, 64))
			}
		default:
			none = append(none, w.what)
		}
	}
	var inputs []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		slices.SortFunc(values[name], func(a, b string) int { // on one line a typed entry would take what follows for its own
			typed := map[bool]int{true: 1}
			return cmp.Or(typed[operation.Typed(a)]-typed[operation.Typed(b)], strings.Compare(a, b))
		})
		inputs = append(inputs, strconv.Quote(name+": "+strings.Join(slices.Compact(values[name]), ", ")))
	}
	var parts []string
	if len(inputs) > 0 {
		parts = append(parts, fmt.Sprintf("allow it in the workflow with %s, or take it out of "+
			".devcontainer/sandbox.jsonc", strings.Join(inputs, " and ")))
	}
	if len(none) > 0 {
		parts = append(parts, "no input allows this, take it out of .devcontainer/sandbox.jsonc: "+strings.Join(none, "; "))
	}
	return strings.Join(parts, "; ")
}

func networkError(errs []firewall.EntryError) error {
	var texts []string
	hint := ""
	for _, e := range errs {
		texts = append(texts, e.Error())
		hint = cmp.Or(hint, e.Hint)
	}
	err := fmt.Errorf("%w: %s", ErrConfig, strings.Join(texts, "; "))
	if hint == "" {
		return err
	}
	return diag.WithHint(err, "%s", hint)
}

// above reports whether a project's limit exceeds base's; 0 is no limit in
// base and no wish in the project.
func above[N cmp.Ordered](project, base N) bool {
	var zero N
	return base != zero && project > base
}

// smaller returns the smaller limit of two, where 0 is none.
func smaller[N cmp.Ordered](a, b N) N {
	var zero N
	if a == zero || b == zero {
		return max(a, b)
	}
	return min(a, b)
}

// union returns the elements of both lists in order, each once.
func union[E comparable](a, b []E) []E {
	var out []E
	for _, e := range slices.Concat(a, b) {
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

func merged(base, top map[string]string) map[string]string {
	if len(base)+len(top) == 0 {
		return nil
	}
	out := maps.Clone(base)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, top)
	return out
}
