package effective

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Origin is where a value comes from.
type Origin struct {
	Source string `json:"source"`         // "devcontainer.json", a Feature's id, "image NAME", "Compose"
	File   string `json:"file,omitempty"` // as findings quote it; "" when it is no file here
	Line   int    `json:"line,omitempty"` // 1-based
	Column int    `json:"column,omitempty"`
}

func (o Origin) String() string {
	if o.File == "" {
		return o.Source
	}
	where := fmt.Sprintf("%s:%d", o.File, o.Line)
	if o.Source == "devcontainer.json" || o.Source == "Compose" {
		return where
	}
	return o.Source + " (" + where + ")"
}

// entry is one thing that is merged.
type entry struct {
	source string
	doc    *jsonc.Document // nil for a label
	root   *jsonc.Node     // of doc
	object Object
}

// at says where the value at a pointer of the entry stands.
func (e entry) at(pointer string) Origin {
	o := Origin{Source: e.source}
	if n := e.root.Find(pointer); n != nil && e.doc != nil {
		o.File = e.doc.File
		o.Line, o.Column = e.doc.Position(n.Start)
	}
	return o
}

// members returns a function that says where the members of the object at a
// pointer of the entry stand.
func (e entry) members(pointer string) func(name string) Origin {
	values := map[string]*jsonc.Node{}
	if n := e.root.Find(pointer); n != nil && e.doc != nil {
		for _, m := range n.Members {
			values[m.Name] = m.Value // of duplicates the last wins
		}
	}
	return func(name string) Origin {
		o := Origin{Source: e.source}
		if n := values[name]; n != nil {
			o.File = e.doc.File
			o.Line, o.Column = e.doc.Position(n.Start)
		}
		return o
	}
}

// Properties of a devcontainer.json and of a Feature that are merged; the order
// is that of the reference implementation.
var (
	fromConfig = append(slices.Clone(rights.Hooks), "waitFor", "customizations", "mounts", "containerEnv", "containerUser", "init",
		"privileged", "capAdd",
		"securityOpt", "remoteUser", "userEnvProbe", "remoteEnv", "overrideCommand", "portsAttributes", "otherPortsAttributes", "forwardPorts",
		"shutdownAction", "updateRemoteUserUID", "hostRequirements")
	fromFeature = append(slices.Clone(rights.Hooks), "init", "privileged", "capAdd", "securityOpt", "entrypoint", "mounts", "customizations")
	// replaced are the properties of the file whose place others take.
	replaced = append(slices.Clone(rights.Hooks), "customizations", "entrypoint", "shutdownAction")
)

// pick leaves only the named properties.
func pick(o Object, names []string) Object {
	var out Object
	for _, name := range names {
		if o.Has(name) {
			out = append(out, Member{name, o.Get(name)})
		}
	}
	return out
}

// merger builds the merged configuration and remembers where values come from.
type merger struct {
	entries []entry
	out     Object
	origins map[string][]Origin // by RFC 6901 pointer into out
}

// merge does what the reference implementation's mergeConfiguration does.
// config is the whole file; the last of the entries is what is picked from it.
func merge(config entry, entries []entry) (Object, map[string][]Origin) {
	m := &merger{entries: entries, origins: map[string][]Origin{}}
	at := config.members("")
	for _, member := range config.object {
		if !slices.Contains(replaced, member.Name) && !slices.Contains(fromConfig, member.Name) {
			m.out = append(m.out, member)
			m.from(jsonc.Child("", member.Name), at(member.Name))
		}
	}
	m.anyTrue("init")
	m.anyTrue("privileged")
	m.union("capAdd")
	m.union("securityOpt")
	m.collect("entrypoint", "entrypoints", true)
	m.mounts()
	m.customizations()
	for _, hook := range rights.Hooks {
		m.collect(hook, hook+"s", false)
	}
	for _, name := range []string{"waitFor", "remoteUser", "containerUser", "userEnvProbe", "otherPortsAttributes", "shutdownAction"} {
		m.last(name, truthy)
	}
	for _, name := range []string{"overrideCommand", "updateRemoteUserUID"} {
		m.last(name, func(v any) bool { _, ok := v.(bool); return ok })
	}
	for _, name := range []string{"remoteEnv", "containerEnv", "portsAttributes"} {
		m.assign(name)
	}
	m.forwardPorts()
	m.hostRequirements()
	return m.out, m.origins
}

func (m *merger) from(pointer string, origins ...Origin) {
	m.origins[pointer] = append(m.origins[pointer], origins...)
}

// each calls visit for every entry that has the property.
func (m *merger) each(name string, visit func(e entry, v any, pointer string)) {
	for _, e := range m.entries {
		if e.object.Has(name) {
			visit(e, e.object.Get(name), jsonc.Child("", name))
		}
	}
}

// anyTrue: one true is enough; every text counts as true.
func (m *merger) anyTrue(name string) {
	on := false
	m.each(name, func(e entry, v any, p string) {
		if truthy(v) {
			on = true
			m.from(p, e.at(p))
		}
	})
	m.out = append(m.out, Member{name, on})
}

// union keeps the first of equal values.
func (m *merger) union(name string) {
	var values []any
	first := map[any]int{}
	m.each(name, func(e entry, v any, p string) {
		for i, x := range list(v) {
			k, again := len(values), false
			if scalar(x) {
				if k, again = first[x]; !again {
					k = len(values)
					first[x] = k
				}
			}
			if !again {
				values = append(values, x)
			}
			m.from(jsonc.Child(p, strconv.Itoa(k)), e.at(jsonc.Child(p, strconv.Itoa(i))))
		}
	})
	if len(values) > 0 {
		m.out = append(m.out, Member{name, values})
	}
}

// scalar reports whether JavaScript compares a value by what it is, and not by
// its identity.
func scalar(v any) bool {
	switch v.(type) {
	case string, bool, json.Number, nil:
		return true
	}
	return false
}

// collect puts the values of all entries into one array under a new name.
func (m *merger) collect(name, as string, omitEmpty bool) {
	values := []any{}
	m.each(name, func(e entry, v any, p string) {
		if truthy(v) {
			m.from(jsonc.Child(jsonc.Child("", as), strconv.Itoa(len(values))), e.at(p))
			values = append(values, v)
		}
	})
	if len(values) > 0 || !omitEmpty {
		m.out = append(m.out, Member{as, values})
	}
}

// mounts: of those with one target the last wins, in its own place.
func (m *merger) mounts() {
	type placed struct {
		value  any
		origin Origin
	}
	var all []placed
	m.each("mounts", func(e entry, v any, p string) {
		for i, x := range list(v) {
			all = append(all, placed{x, e.at(jsonc.Child(p, strconv.Itoa(i)))})
		}
	})
	seen := map[string]bool{}
	var kept []placed
	for _, x := range slices.Backward(all) {
		if target := mountTarget(x.value); !seen[target] {
			seen[target] = true
			kept = append(kept, x)
		}
	}
	slices.Reverse(kept)
	var values []any
	for i, x := range kept {
		values = append(values, x.value)
		m.from("/mounts/"+strconv.Itoa(i), x.origin)
	}
	if len(values) > 0 {
		m.out = append(m.out, Member{"mounts", values})
	}
}

// mountTarget returns where a mount is mounted. Only these three names count.
func mountTarget(v any) string {
	switch v := v.(type) {
	case string:
		target := ""
		for field := range strings.SplitSeq(v, ",") {
			parts := strings.Split(field, "=")
			if (parts[0] == "target" || parts[0] == "dst" || parts[0] == "destination") && len(parts) > 1 {
				target = parts[1]
			}
		}
		return target
	case Object:
		t, _ := v.Get("target").(string)
		return t
	}
	return ""
}

func (m *merger) customizations() {
	var out builder
	m.each("customizations", func(e entry, v any, p string) {
		object, _ := v.(Object)
		place := e.members(p)
		for _, tool := range object {
			values, _ := out.get(tool.Name).([]any)
			m.from(jsonc.Child(jsonc.Child(p, tool.Name), strconv.Itoa(len(values))), place(tool.Name))
			out.set(tool.Name, append(values, tool.Value))
		}
	})
	if len(out.made) > 0 {
		m.out = append(m.out, Member{"customizations", out.made})
	}
}

// last takes the last value that counts.
func (m *merger) last(name string, counts func(any) bool) {
	for _, e := range slices.Backward(m.entries) {
		if v := e.object.Get(name); e.object.Has(name) && counts(v) {
			m.out = append(m.out, Member{name, v})
			p := jsonc.Child("", name)
			m.from(p, e.at(p))
			return
		}
	}
}

// assign lets later entries overwrite single names.
func (m *merger) assign(name string) {
	out := builder{made: Object{}}
	m.each(name, func(e entry, v any, p string) {
		object, _ := v.(Object)
		place := e.members(p)
		for _, member := range object {
			out.set(member.Name, member.Value)
			m.origins[jsonc.Child(p, member.Name)] = []Origin{place(member.Name)}
		}
	})
	m.out = append(m.out, Member{name, out.made})
}

var localPort = regexp.MustCompile(`localhost:\d+`)

func (m *merger) forwardPorts() {
	first := map[string]int{}
	var values []any
	m.each("forwardPorts", func(e entry, v any, p string) {
		for i, x := range list(v) {
			key := text(x)
			if _, ok := x.(json.Number); ok {
				key = "localhost:" + key
			}
			k, again := first[key]
			if !again {
				k = len(values)
				first[key] = k
				values = append(values, portOf(key))
			}
			m.from("/forwardPorts/"+strconv.Itoa(k), e.at(jsonc.Child(p, strconv.Itoa(i))))
		}
	})
	if len(values) > 0 {
		m.out = append(m.out, Member{"forwardPorts", values})
	}
}

// portOf turns "localhost:3000" back into a number.
func portOf(key string) any {
	if !localPort.MatchString(key) {
		return key
	}
	digits := strings.TrimLeft(key[len("localhost:"):], " ")
	end := 0
	for end < len(digits) && digits[end] >= '0' && digits[end] <= '9' {
		end++
	}
	if end == 0 {
		return nil
	}
	n, _ := strconv.ParseInt(digits[:end], 10, 64)
	return json.Number(strconv.FormatInt(n, 10))
}

var bytesForm = regexp.MustCompile(`^(\d+)([tgmk]b)?$`)

func parseBytes(s string) int64 {
	m := bytesForm.FindStringSubmatch(s)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseInt(m[1], 10, 64)
	return n * map[string]int64{"": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40}[m[2]]
}

// hostRequirements takes the greatest of each.
func (m *merger) hostRequirements() {
	var cpus float64
	var memory, storage int64
	var gpu any
	m.each("hostRequirements", func(e entry, v any, p string) {
		o, _ := v.(Object)
		size := func(name string) int64 { s, _ := o.Get(name).(string); return parseBytes(s) }
		if n, ok := o.Get("cpus").(json.Number); ok {
			f, _ := n.Float64()
			cpus = max(cpus, f)
		}
		memory, storage, gpu = max(memory, size("memory")), max(storage, size("storage")), mergeGPU(gpu, o.Get("gpu"))
		m.from(p, e.at(p))
	})
	if cpus == 0 && memory == 0 && storage == 0 && !truthy(gpu) {
		delete(m.origins, "/hostRequirements")
		return
	}
	out := Object{{"cpus", json.Number(strconv.FormatFloat(cpus, 'f', -1, 64))}}
	for _, s := range []struct {
		name string
		n    int64
	}{{"memory", memory}, {"storage", storage}} {
		if s.n > 0 {
			out.set(s.name, strconv.FormatInt(s.n, 10))
		}
	}
	if gpu != nil {
		out.set("gpu", gpu)
	}
	m.out = append(m.out, Member{"hostRequirements", out})
}

func mergeGPU(a, b any) any {
	switch {
	case a == nil || a == false:
		return b
	case b == nil || b == false:
		return a
	case a == any("optional") && b == any("optional"):
		return a
	}
	x, _ := a.(Object)
	y, _ := b.(Object)
	out := Object{}
	size := func(o Object) int64 { s, _ := o.Get("memory").(string); return parseBytes(s) }
	cores := func(o Object) float64 { n, _ := o.Get("cores").(json.Number); f, _ := n.Float64(); return f }
	if n := max(cores(x), cores(y)); n > 0 {
		out.set("cores", json.Number(strconv.FormatFloat(n, 'f', -1, 64)))
	}
	if n := max(size(x), size(y)); n > 0 {
		out.set("memory", strconv.FormatInt(n, 10))
	}
	return out
}
