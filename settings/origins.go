package settings

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/internal/visible"
)

// Value is one value of settings, with the layer that it comes from.
type Value struct {
	Key    string `json:"key"`   // such as "network.allow"; each entry of a list is a value
	Text   string `json:"value"` // as people write it
	Origin string `json:"origin"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"` // 1-based; 0 = not known
}

// Layer is one source of settings.
type Layer struct {
	Origin   func(key string) string // who set the value of a key
	Settings Settings
	File     *File // where it was read; nil = in no file
}

// Origins says of each value of s from which of the layers it is, the first that has
// it; a value of none is a default. Values of Own come from the layer that has them.
func Origins(s Settings, layers []Layer) []Value {
	all := s.values()
	for i := range all {
		v := &all[i]
		v.Origin = "default"
		for _, l := range layers {
			if slices.Contains(l.Settings.values(), Value{Key: v.Key, Text: v.Text}) {
				v.Origin = l.Origin(v.Key)
				v.File, v.Line = l.File.place(v.Key, v.Text)
				break
			}
		}
	}
	for _, l := range layers {
		if l.File == nil {
			continue
		}
		for _, v := range l.File.Own.values() {
			v.Origin, v.File = l.Origin(v.Key), l.File.Path
			all = append(all, v)
		}
	}
	return all
}

// Keys of the user's own file alone.
const (
	KeyModel       = "model"
	KeySandboxMode = "sandbox_mode"
	KeyProviders   = "providers"
)

// values lists what the user's own file alone says.
func (o Own) values() (out []Value) {
	for _, v := range []Value{{Key: KeyModel, Text: o.Model}, {Key: KeySandboxMode, Text: o.SandboxMode}} {
		if v.Text != "" {
			out = append(out, v)
		}
	}
	for _, p := range o.Providers {
		out = append(out, Value{Key: KeyProviders, Text: p.Name + " at " + p.URL})
	}
	return out
}

// Missing are the values of s that other does not have, in the order of their form.
func Missing(s, other Settings) []Value {
	has := other.values()
	return slices.DeleteFunc(s.values(), func(v Value) bool { return slices.Contains(has, v) })
}

// place is where a value stands in a file, as far as that is known.
func (f *File) place(key, text string) (file string, line int) {
	if f == nil {
		return "", 0
	}
	for _, e := range f.Settings.Entries() {
		if "network."+e.List == key && e.Text == text {
			return e.File, e.Line
		}
	}
	return f.Path, 0
}

// values lists everything that the settings say, in the order of their form.
func (s *Settings) values() []Value {
	var out []Value
	add := func(key string, texts ...string) {
		for _, text := range texts {
			if text != "" {
				out = append(out, Value{Key: key, Text: text})
			}
		}
	}
	n := s.Network
	add("network.mode", string(n.Mode))
	add("network.presets", n.Presets...)
	add("network.allow", n.Allow...)
	add("network.deny", n.Deny...)
	add("network.private", n.Private...)
	add("network.guard", string(n.Guard))
	add("network.inbound", each(n.Inbound, strconv.Itoa)...)
	add("workspace.mode", s.Workspace.Mode)
	add("workspace.protect", s.Workspace.Protect...)
	add("mounts", each(s.Mounts, Mount.inWords)...)
	add("secrets", each(s.Secrets, Secret.inWords)...)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		add("env."+name, cmp.Or(s.Env[name], `""`))
	}
	add("envPrefixes", s.EnvPrefixes...)
	l := s.Limits
	for _, limit := range []struct {
		key string
		of  Limits
	}{
		{"limits.memory", Limits{Memory: l.Memory}}, {"limits.cpus", Limits{CPUs: l.CPUs}}, {"limits.pids", Limits{PIDs: l.PIDs}},
		{"limits.disk", Limits{Disk: l.Disk}}, {"limits.timeout", Limits{Timeout: l.Timeout}},
	} {
		add(limit.key, limit.of.inWords()...)
	}
	add("budgets", each(s.Budgets, spending.Budget.String)...)
	add("models", each(s.Models, modelsInWords)...)
	add("mcp.servers", each(s.MCP.Servers, MCPServer.inWords)...)
	add("instructions", s.Instructions...)
	add("image", s.Image)
	add("topology", string(s.Topology))
	return out
}

// Shown is the value safe for a terminal.
func (v Value) Shown() string { return visible.Line(v.Text) }

// modelsInWords is one list of models that may be asked.
func modelsInWords(patterns []string) string { return cmp.Or(strings.Join(patterns, ", "), "none") }
