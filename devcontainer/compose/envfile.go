package compose

import (
	"strings"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// Variable returns the value of a variable of the project, which the host or .env gives.
func (p *Project) Variable(name string) (value string, ok bool) { return p.env.lookup(name) }

// Environment returns the variables of a service, each name once: its own, and
// those of the env_files that read returns (nil = none). A variable without a
// value is the host's or .env's; when neither has it, the container gets none.
func (p *Project) Environment(s *Service, read func(EnvFileName) *jsonc.Document) []Variable {
	var out []Variable
	places := map[string]int{}
	add := func(all []Variable) {
		for _, v := range all {
			if !v.Set {
				v.Value, v.Set = p.env.lookup(v.Name)
			}
			if !v.Set && p.env.strict {
				continue
			}
			i, known := places[v.Name]
			if !known {
				i = len(out)
				places[v.Name] = i
				out = append(out, Variable{})
			}
			out[i] = v
		}
	}
	own := s.Get("environment").Variables()
	env := p.env
	env.lookup = func(name string) (string, bool) {
		value, ok := p.env.lookup(name)
		for _, v := range own {
			if !ok && v.Name == name && v.Set {
				return v.Value, true
			}
		}
		if i, known := places[name]; !ok && known {
			return out[i].Value, out[i].Set
		}
		return value, ok
	}
	for _, file := range s.EnvFiles() {
		if doc := read(file); doc != nil {
			add(envFile(doc, env))
		}
	}
	add(own)
	return out
}

// envFile reads the lines of one file: NAME=value, or NAME alone. A value may be
// in quotes, go over several lines, and use env and the variables above it.
func envFile(doc *jsonc.Document, env variables) []Variable {
	above := map[string]string{}
	outside := env.lookup
	env.lookup = func(name string) (string, bool) {
		if value, ok := outside(name); ok {
			return value, true
		}
		value, ok := above[name]
		return value, ok
	}
	var out []Variable
	src := string(doc.Src)
	for at := 0; at < len(src); {
		switch rest := src[at:]; {
		case strings.ContainsRune(" \t\r\n", rune(src[at])):
			at++
			continue
		case src[at] == '#':
			line, _, _ := strings.Cut(rest, "\n")
			at += len(line)
			continue
		case strings.HasPrefix(rest, "export ") || strings.HasPrefix(rest, "export\t"):
			at += len("export ")
			continue
		}
		v, size := envLine(src[at:], env)
		v.Node = &Node{Doc: doc, Start: at, End: at + size, Text: v.Value, Null: !v.Set}
		if v.Set {
			above[v.Name] = v.Value
		}
		out = append(out, v)
		at += size
	}
	return out
}

// envLine reads the variable at the start of src; size is how many bytes that
// takes.
func envLine(src string, env variables) (v Variable, size int) {
	line, _, _ := strings.Cut(src, "\n")
	end := strings.IndexAny(line, "=:")
	if end < 0 {
		line = strings.TrimRight(line, " \t\r")
		return Variable{Name: line}, max(len(line), 1)
	}
	v = Variable{Name: strings.TrimSpace(line[:end]), Set: true}
	size = end + 1
	for size < len(line) && (line[size] == ' ' || line[size] == '\t') {
		size++
	}
	if size < len(line) && (line[size] == '"' || line[size] == '\'') {
		if text, inQuotes := quoted(src[size:]); inQuotes > 0 {
			if v.Value = text; src[size] == '"' {
				v.Value = interpolate(escapes.Replace(text), env)
			}
			return v, size + inQuotes
		}
	}
	text, _, _ := strings.Cut(line[size:], " #")
	text = strings.TrimRight(text, " \t\r")
	v.Value = interpolate(text, env)
	return v, size + len(text)
}

// quoted returns the text in the quotes that src starts with and the bytes that
// both take; 0 when the quotes are not closed. A backslash keeps a quote in it.
func quoted(src string) (text string, size int) {
	var b strings.Builder
	for i := 1; i < len(src); i++ {
		switch {
		case src[i] == src[0]:
			return b.String(), i + 1
		case src[i] == '\\' && i+1 < len(src):
			if i++; src[i] != src[0] {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(src[i])
	}
	return "", 0
}

// escapes are those in double quotes. "$$" is a dollar sign for interpolate.
var escapes = strings.NewReplacer(`\a`, "\a", `\b`, "\b", `\f`, "\f", `\n`, "\n", `\r`, "\r", `\t`, "\t", `\v`, "\v", `\$`, "$$", `\"`,
	`"`, `\\`, `\`)
