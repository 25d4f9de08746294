package lint_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// value is a JSON value that can be changed and written again: an object keeps
// the order of its names, and a name can stand there twice.
type value struct {
	literal string // of a scalar
	names   []string
	values  []*value
	object  bool
	array   bool
}

func valueOf(v *hujson.Value) *value {
	switch x := v.Value.(type) {
	case *hujson.Object:
		out := &value{object: true}
		for i := range x.Members {
			out.names = append(out.names, x.Members[i].Name.Value.(hujson.Literal).String())
			out.values = append(out.values, valueOf(&x.Members[i].Value))
		}
		return out
	case *hujson.Array:
		out := &value{array: true}
		for i := range x.Elements {
			out.values = append(out.values, valueOf(&x.Elements[i]))
		}
		return out
	}
	return &value{literal: string(v.Value.(hujson.Literal))}
}

func (v *value) clone() *value {
	out := *v
	out.names = slices.Clone(v.names)
	out.values = make([]*value, len(v.values))
	for i := range v.values {
		out.values[i] = v.values[i].clone()
	}
	return &out
}

func (v *value) containers(out []*value) []*value {
	if v.object || v.array {
		out = append(out, v)
	}
	for _, c := range v.values {
		out = c.containers(out)
	}
	return out
}

// write puts comments, line ends and spaces where JSON with comments has them.
func (v *value) write(b *strings.Builder, r *rand.Rand) {
	space := func() { b.WriteString([]string{"", "", "", " ", "\n", "\r\n", "\t", "// x\n", "/* \" */"}[r.IntN(9)]) }
	switch {
	case v.object, v.array:
		b.WriteByte("[{"[btoi(v.object)])
		for i := range v.values {
			if i > 0 {
				b.WriteByte(',')
			}
			space()
			if v.object {
				name, _ := json.Marshal(v.names[i])
				b.Write(name)
				space()
				b.WriteByte(':')
				space()
			}
			v.values[i].write(b, r)
			space()
		}
		b.WriteByte("]}"[btoi(v.object)])
	default:
		b.WriteString(v.literal)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// mutator changes configurations with what other configurations hold.
type mutator struct {
	*rand.Rand
	names  []string
	values []*value
	byName map[string][]*value // what real files give a name, and what is near to that
}

// oddNames and oddValues are what no real file holds: near the borders of what
// the schema accepts.
var (
	oddNames = []string{"", "x", "$schema", "additionalPropertie", "privileged", "Image", "dockerfile", "dockerFile", "dockerComposeFile",
		"image", "build", "service",
		"workspaceFolder", "workspaceMount", "runArgs", "appPort", "shutdownAction", "overrideCommand", "context", "target", "args", "cacheFrom",
		"options", "runServices",
		"secrets", "description", "documentationUrl", "forwardPorts", "portsAttributes", "otherPortsAttributes", "onAutoForward",
		"elevateIfNeeded", "label", "requireLocalPort", "protocol",
		"updateRemoteUserUID", "containerEnv", "remoteEnv", "containerUser", "remoteUser", "mounts", "type", "source", "readonly", "external",
		"init", "capAdd", "securityOpt",
		"initializeCommand", "onCreateCommand", "updateContentCommand", "postCreateCommand", "postStartCommand", "postAttachCommand",
		"waitFor", "userEnvProbe",
		"hostRequirements", "cpus", "memory", "storage", "gpu", "cores", "customizations", "extensions", "settings", "devPort", "extends",
		"features", "overrideFeatureInstallOrder", "name",
		"1A", "A-B", "ä", "a/b", "a~b", "3000", "é\n"}
	oddValues = []string{`null`, `true`, `false`, `0`, `-0`, `1`, `-1`, `1.0`, `1.5`, `1e2`, `1e99`, `-1e99`, `0.1e1`, `65535`, `65536`,
		`65535.0`, `""`, `"x"`, `"true"`, `"false"`, `"optional"`, `"none"`,
		`"stopContainer"`, `"stopCompose"`, `"notify"`, `"openBrowserOnce"`, `"http"`, `"ftp"`, `"db:80"`, `"DB:80"`, `"db:123456"`, `":80"`,
		`"db:80\n"`, `"8gb"`, `"8GB"`, `"8 gb"`, `"8"`, `"gb"`, `"٣gb"`,
		`"postAttachCommand"`, `"postStartCommand"`, `"loginShell"`, `"bind"`, `"tmpfs"`, `[]`, `{}`, `[[]]`, `[{}]`, `[null]`, `[1]`, `[""]`,
		`["a", 1]`, `[1, "a"]`, `{"a": 1}`, `{"a": null}`, `{"a": "b"}`, `{"a": []}`,
		`{"a": ["b"]}`, `{"a": [1]}`, `{"a": {}}`, `{"type": "bind", "target": "/x"}`, `{"type": "bind", "target": "/x", "source": "/y"}`,
		`{"type": "volume"}`, `{"dockerfile": "D"}`, `{"context": "."}`,
		`{"cores": 1}`, `{"cores": 0}`, `{"memory": "1gb", "cores": 2}`, `{"": {}}`, `{"": "x"}`, `"a\u0000b"`, `"\ud800"`}
)

func newMutator(t testing.TB, r *rand.Rand, corpus []*value) *mutator {
	m := &mutator{Rand: r, names: slices.Clone(oddNames), byName: map[string][]*value{}}
	for _, text := range oddValues {
		v, err := hujson.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		m.values = append(m.values, valueOf(&v))
	}
	seen := map[string]bool{}
	everything, err := hujson.Parse([]byte(everyProperty))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range append([]*value{valueOf(&everything)}, corpus...) {
		for _, v := range c.containers(nil) {
			if v.array {
				continue
			}
			for i, name := range v.names {
				m.byName[name] = append(m.byName[name], v.values[i])
				if !seen[name] && len(name) < 30 {
					seen[name] = true
					m.names = append(m.names, name)
				}
				if m.IntN(20) == 0 {
					m.values = append(m.values, v.values[i])
				}
			}
		}
	}
	return m
}

func (m *mutator) name() string {
	if m.IntN(3) > 0 {
		return oddNames[m.IntN(len(oddNames))]
	}
	return m.names[m.IntN(len(m.names))]
}

// slip misspells a word.
func (m *mutator) slip(s string) string {
	if s == "" {
		return "x"
	}
	i := m.IntN(len(s))
	switch m.IntN(5) {
	case 0:
		return strings.ToLower(s)
	case 1:
		return strings.ToUpper(s[:1]) + s[1:]
	case 2:
		return strings.ToValidUTF8(s[:i]+s[i+1:], "")
	case 3:
		return strings.ToValidUTF8(s[:i]+"_"+s[i:], "")
	}
	return s + "s"
}

// valueFor is what name may well have, or anything.
func (m *mutator) valueFor(name string) *value {
	if near := m.byName[name]; len(near) > 0 && m.IntN(3) > 0 {
		return near[m.IntN(len(near))].clone()
	}
	return m.value()
}

// made puts a configuration together from names of the specification.
func (m *mutator) made() *value {
	root := &value{object: true}
	for range 1 + m.IntN(6) {
		name := oddNames[m.IntN(len(oddNames))]
		if m.IntN(3) == 0 {
			name = sources[m.IntN(len(sources))]
		}
		if !slices.Contains(root.names, name) {
			root.names = append(root.names, name)
			root.values = append(root.values, m.valueFor(name))
		}
	}
	return root
}

var sources = []string{"image", "build", "dockerFile", "dockerComposeFile", "service", "workspaceFolder"}

// everyProperty holds each property in a form that the schema accepts; where it
// accepts several, the lists below it hold the others.
const everyProperty = `{"image": "a", "build": {"dockerfile": "D", "context": "..", "target": "t", "args": {"A": "b"}, ` +
	`"cacheFrom": ["c"], "options": ["-q"]},
	"dockerFile": "D", "context": "..", "dockerComposeFile": ["a", "b"], "service": "s", "runServices": ["s"], ` +
	`"workspaceFolder": "/w", "workspaceMount": "",
	"runArgs": ["--init"], "appPort": [1, "2:2"], "shutdownAction": "none", "overrideCommand": true, "name": "n", "features": {"a": {}}, ` +
	`"overrideFeatureInstallOrder": ["a"],
	"secrets": {"A": {"description": "d", "documentationUrl": "u"}}, "forwardPorts": [1, "db:2"], "portsAttributes": {"1": ` +
	`{"onAutoForward": "openBrowserOnce", "label": "l",
	"elevateIfNeeded": true, "requireLocalPort": false, "protocol": "https", "own": 1}}, "otherPortsAttributes": {"onAutoForward": ` +
	`"silent", "protocol": "http"},
	"updateRemoteUserUID": true, "containerEnv": {"A": ""}, "remoteEnv": {"A": null}, "containerUser": "u", "remoteUser": "u", "mounts": ` +
	`["m", {"type": "bind", "source": "/s", "target": "/t"}],
	"init": true, "privileged": false, "capAdd": ["A"], "securityOpt": ["a=b"], "initializeCommand": "c", "onCreateCommand": ["c"], ` +
	`"updateContentCommand": {"a": "c", "b": ["d"]},
	"postCreateCommand": {}, "postStartCommand": [], "postAttachCommand": "", "waitFor": "onCreateCommand", "userEnvProbe": "none",
	"hostRequirements": {"cpus": 1, "memory": "1gb", "storage": "1", "gpu": {"cores": 1, "memory": "1kb"}}, "customizations": {"a": 1}, ` +
	`"additionalProperties": {"x": 1}}`

func (m *mutator) value() *value {
	if m.IntN(2) == 0 {
		return m.values[m.IntN(len(oddValues))].clone()
	}
	return m.values[m.IntN(len(m.values))].clone()
}

// mutate makes one change somewhere in root; twice may make a name stand twice.
func (m *mutator) mutate(root *value, twice bool) {
	all := root.containers(nil)
	at := all[m.IntN(len(all))]
	if m.IntN(3) == 0 {
		at = root
	}
	i := 0
	if len(at.values) > 0 {
		i = m.IntN(len(at.values))
	}
	put := func(name string, v *value) {
		if k := slices.Index(at.names, name); at.object && k >= 0 && !twice {
			at.values[k] = v
			return
		}
		if at.object {
			at.names = slices.Insert(at.names, i, name)
		}
		at.values = slices.Insert(at.values, i, v)
	}
	switch kind := m.IntN(6); {
	case kind == 0 || len(at.values) == 0:
		name := m.name()
		put(name, m.valueFor(name))
	case kind == 1:
		if at.object {
			at.names = slices.Delete(at.names, i, i+1)
		}
		at.values = slices.Delete(at.values, i, i+1)
	case kind == 2 && at.object:
		name := m.slip(at.names[i])
		if k := slices.Index(at.names, name); k < 0 || twice {
			at.names[i] = name
		}
	case kind == 3 && at.object:
		name := at.names[i]
		if !twice {
			name = m.name()
		}
		put(name, at.values[i].clone())
	case kind == 4 && at.values[i].literal != "" && at.values[i].literal[0] == '"':
		s, err := strconv.Unquote(at.values[i].literal)
		if err == nil {
			text, _ := json.Marshal(m.slip(s))
			at.values[i] = &value{literal: string(text)}
		}
	default:
		at.values[i] = m.value()
	}
}

// parseAll reads the well-formed files among names.
func parseAll(t testing.TB, names []string) (out []*value) {
	t.Helper()
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := hujson.Parse(append(src, '\n')); err == nil {
			out = append(out, valueOf(&v))
		}
	}
	return out
}

// get returns the last value of a name, as readers do.
func (v *value) get(name string) *value {
	for i := range v.names {
		if k := len(v.names) - 1 - i; v.names[k] == name {
			return v.values[k]
		}
	}
	return &value{}
}

// listed reports what docs/checks.md lists: files on which we differ from the
// official schema.
func listed(root *value) bool {
	text := func(v *value) bool { return strings.HasPrefix(v.literal, `"`) }
	slip := slices.ContainsFunc(root.get("secrets").names, func(name string) bool { return strings.Contains(name, "additionalProperties") })
	return len(root.values) == 0 || slip || text(root.get("dockerFile")) && text(root.get("build").get("dockerfile"))
}

// Random changes of real files, one to three at a time: the official schemas
// and ours must say the same of each. SBX_MUTANTS sets their number, SBX_SEED
// the first state of the generator.
func TestMutantsAgree(t *testing.T) {
	t.Parallel()
	var configs []string
	dir := testenv.Corpus(t, "corpus")
	for _, v := range readVerdicts(t, filepath.Join(dir, "verdicts.jsonl")) {
		configs = append(configs, filepath.Join(dir, v.File))
	}
	count := number(t, "SBX_MUTANTS", 20000)
	t.Run("configurations", func(t *testing.T) {
		mutants(t, "devcontainer.json", "devContainer.base.schema.json", parseAll(t, configs), count)
	})
	t.Run("Features", func(t *testing.T) {
		mutants(t, devcontainer.FeatureName, "devContainerFeature.schema.json", parseAll(t, find(t, dir, devcontainer.FeatureName)), count/4)
	})
}

func mutants(t *testing.T, file, schemaName string, corpus []*value, count int) {
	schema := officialSchema(t, schemaName)
	m := newMutator(t, rand.New(rand.NewPCG(uint64(number(t, "SBX_SEED", 1)), 0)), corpus)
	bad, different := 0, 0
	for range count {
		root := corpus[m.IntN(len(corpus))].clone()
		if file == "devcontainer.json" && m.IntN(3) == 0 {
			root = m.made()
		}
		for range 1 + m.IntN(3) {
			m.mutate(root, m.IntN(8) == 0)
		}
		var b strings.Builder
		root.write(&b, m.Rand)
		want := official(t, schema, []byte(b.String()))
		if !want {
			bad++
		}
		findings := lint.Check(devcontainer.Parse(file, []byte(b.String())))
		if schemaOK(findings) != want && !listed(root) {
			if different++; different < 20 {
				t.Errorf("valid %v, the official schema says %v: %v\n%s", !want, want, findings, &b)
			}
		}
	}
	t.Logf("%d mutants, %d of them bad, %d differences", count, bad, different)
	if bad < count/10 || bad > count*9/10 {
		t.Errorf("%d of %d were bad: the test compares nothing", bad, count)
	}
}

func number(t testing.TB, variable string, fallback int) int {
	text := os.Getenv(variable)
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// Random bytes in real texts: well formed to us is what is well formed to a
// strict parser of JSON with comments, whatever stands at the beginning and at
// the ends of lines; and where both say so, the verdict on the schema is the
// same, too.
func TestMutantsOfTheTextAgree(t *testing.T) {
	t.Parallel()
	schema := officialSchema(t, "devContainer.base.schema.json")
	dir := testenv.Corpus(t, "corpus")
	var texts []string
	for _, v := range readVerdicts(t, filepath.Join(dir, "verdicts.jsonl")) {
		src, err := os.ReadFile(filepath.Join(dir, v.File))
		if err != nil {
			t.Fatal(err)
		}
		if len(src) > 10 && len(src) < 4000 {
			texts = append(texts, string(src))
		}
	}
	pieces := []string{"\"", "{", "}", "[", "]", ",", ":", "\\", "/", "*", "//", "/* */", "/*", "#", "'", "\n", "\r", "\r\n", "\t", " ",
		"\x00", "\x01", "\x1f", "\x7f", "\u2028", "\u00a0", "\ufeff", "\xff", "\xc3",
		"null", "true", "1", "01", "+1", "1.", ".5", "-", "1e", "NaN", "Infinity", "\\u12", "\\ud800", "\\x41", "é", "😀", "<<<<<<< a\n"}
	r := rand.New(rand.NewPCG(uint64(number(t, "SBX_SEED", 1)), 1))
	count, bad, different := number(t, "SBX_MUTANTS", 20000)/5, 0, 0
	for range count {
		text := texts[r.IntN(len(texts))]
		for range r.IntN(3) {
			at := r.IntN(len(text))
			to := min(at+r.IntN(3), len(text))
			text = text[:at] + pieces[r.IntN(len(pieces))] + text[to:]
		}
		if r.IntN(4) == 0 {
			text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
		}
		if r.IntN(8) == 0 {
			text = "\ufeff" + text
		}
		if !utf8.ValidString(text) {
			continue // no JSON (RFC 8259, section 8.1), whatever the parser thinks
		}
		_, err := hujson.Parse([]byte(strings.TrimPrefix(text, "\ufeff") + "\n"))
		findings := lint.Check(devcontainer.Parse("devcontainer.json", []byte(text)))
		if err != nil {
			bad++
		}
		if slices.ContainsFunc(findings, func(f diag.Finding) bool { return strings.Contains(f.Message, "a carriage return alone") }) {
			continue // of which tools think differently
		}
		if syntaxOK(findings) != (err == nil) {
			if different++; different < 10 {
				t.Errorf("well formed %v, to a strict parser %v (%v): %v\n%q", err != nil, err == nil, err, findings, text)
			}
			continue
		}
		if err == nil && schemaOK(findings) != official(t, schema, []byte(text)) && !strings.Contains(text, "dockerFile") {
			t.Errorf("valid %v: %v\n%q", schemaOK(findings), findings, text)
		}
	}
	t.Logf("%d texts, %d of them not well formed, %d differences", count, bad, different)
	if bad < count/10 || bad > count*9/10 {
		t.Errorf("%d of %d were bad: the test compares nothing", bad, count)
	}
}
