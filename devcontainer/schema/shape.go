package schema

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// shape says what a value may be. The tables below were written from the
// property reference of the dev container specification
// (containers.dev/implementors/json_reference) and are compared with the
// official schema by a test.
type shape struct {
	kinds   []jsonc.Kind     // accepted JSON types
	what    string           // the same in words
	props   map[string]shape // of an object; nil = any name
	rest    *shape           // of an object: values of names that props lacks; with props nil, of all
	names   *regexp.Regexp   // of an object: what names must look like
	needs   []string         // of an object: names that it must have
	items   *shape           // of an array
	enum    []string         // of a string
	pattern *regexp.Regexp   // of a string
	example string           // for a pattern's hint
	form    string           // for the hint of names
	min     int              // of an integer; math.MinInt = no limit
	max     int              // of an integer; 0 = no limit
	integer bool
}

var (
	text    = shape{kinds: []jsonc.Kind{jsonc.String}, what: "a string"}
	boolean = shape{kinds: []jsonc.Kind{jsonc.Bool}, what: "true or false"}
	list    = shape{kinds: []jsonc.Kind{jsonc.Array}, what: "an array of strings", items: &text}
	anyObj  = shape{kinds: []jsonc.Kind{jsonc.Object}, what: "an object"}
	textMap = shape{kinds: []jsonc.Kind{jsonc.Object}, what: "an object of strings", rest: &text}
	textOr  = shape{kinds: []jsonc.Kind{jsonc.String, jsonc.Null}, what: "a string or null"}
	oneMany = shape{kinds: []jsonc.Kind{jsonc.String, jsonc.Array}, what: "a string or an array of strings", items: &text}
	command = shape{kinds: []jsonc.Kind{jsonc.String, jsonc.Array, jsonc.Object},
		what: "a string, an array of strings or an object of those", items: &text, rest: &oneMany}
	size = shape{kinds: []jsonc.Kind{jsonc.String}, what: "a string", pattern: regexp.MustCompile(`^\d+([tgmk]b)?$`), example: `"8gb"`}
	port = shape{kinds: []jsonc.Kind{jsonc.Number, jsonc.String}, what: "a port or \"host:port\"", integer: true, max: 65535,
		pattern: regexp.MustCompile(`^[a-z0-9-]+:\d{1,5}$`), example: `3000 or "db:5432"`}
	appPort = shape{kinds: []jsonc.Kind{jsonc.Number, jsonc.String}, what: "a port or a string", integer: true, min: math.MinInt}
)

var (
	mountProps = map[string]shape{"type": oneOf("bind", "volume"), "source": text, "target": text}
	mountNeeds = []string{"type", "target"}
)

// hint says how to write what does not have the pattern.
func (s shape) hint(text string) string {
	hint := "write it like " + s.example
	switch isPort := s.example == port.example; {
	case isPort && strings.Contains(text, "_"):
		hint += ": the specification lets a host's name have small letters, digits and -"
	case isPort && portRange.MatchString(text):
		hint = "write each port as an element of its own"
	}
	return hint
}

var portRange = regexp.MustCompile(`^\d+(-|, ?)\d+$`)

func oneOf(values ...string) shape {
	return shape{kinds: text.kinds, what: text.what, enum: values}
}

func object(props map[string]shape, needs ...string) shape {
	return shape{kinds: anyObj.kinds, what: anyObj.what, props: props, needs: needs}
}

func portAttributes(autoForward ...string) map[string]shape {
	return map[string]shape{
		"onAutoForward": oneOf(autoForward...), "elevateIfNeeded": boolean, "label": text,
		"requireLocalPort": boolean, "protocol": oneOf("http", "https"),
	}
}

func ref(s shape) *shape { return &s }

// common holds the properties of every kind of configuration.
var common = map[string]shape{
	"$schema": text, "name": text, "features": anyObj, "overrideFeatureInstallOrder": list,
	"secrets": {kinds: anyObj.kinds, what: anyObj.what, names: regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`),
		form: "letters, digits and _, not starting with a digit",
		rest: ref(object(map[string]shape{"description": text, "documentationUrl": text}))},
	"forwardPorts": {kinds: list.kinds, what: "an array of ports", items: &port},
	"portsAttributes": {kinds: anyObj.kinds, what: anyObj.what, names: regexp.MustCompile(`.`),
		form: "a port, a range of ports or a pattern of command lines", rest: &shape{kinds: anyObj.kinds, what: anyObj.what,
			props: portAttributes("notify", "openBrowser", "openBrowserOnce", "openPreview", "silent", "ignore"), rest: &shape{}}},
	"otherPortsAttributes": object(portAttributes("notify", "openBrowser", "openPreview", "silent", "ignore")),
	"updateRemoteUserUID":  boolean, "containerEnv": textMap, "containerUser": text,
	"mounts": {kinds: list.kinds, what: "an array of mounts", items: &shape{kinds: []jsonc.Kind{jsonc.String, jsonc.Object},
		what:  "a string or an object with type, source and target",
		props: mountProps, needs: mountNeeds}},
	"init": boolean, "privileged": boolean, "capAdd": list, "securityOpt": list,
	"remoteEnv":  {kinds: anyObj.kinds, what: anyObj.what, rest: &textOr},
	"remoteUser": text, "initializeCommand": command, "onCreateCommand": command, "updateContentCommand": command,
	"postCreateCommand": command, "postStartCommand": command, "postAttachCommand": command,
	"waitFor":      oneOf("initializeCommand", "onCreateCommand", "updateContentCommand", "postCreateCommand", "postStartCommand"),
	"userEnvProbe": oneOf("none", "loginShell", "loginInteractiveShell", "interactiveShell"),
	"hostRequirements": object(map[string]shape{
		"cpus": {kinds: []jsonc.Kind{jsonc.Number}, what: "a whole number", integer: true, min: 1}, "memory": size, "storage": size,
		"gpu": {kinds: []jsonc.Kind{jsonc.Bool, jsonc.String, jsonc.Object}, what: `true, false, "optional" or an object`,
			enum:  []string{"optional"},
			props: map[string]shape{"cores": {kinds: []jsonc.Kind{jsonc.Number}, what: "a whole number", integer: true, min: 1}, "memory": size}},
	}),
	"customizations": anyObj,
	// Named so by a slip in the official schema, which readers therefore accept.
	"additionalProperties": anyObj,
}

// single holds what only a configuration without Compose can say.
var single = map[string]shape{
	"appPort": {kinds: []jsonc.Kind{jsonc.Number, jsonc.String, jsonc.Array}, what: "a port, a string or an array of those",
		integer: true, min: math.MinInt, items: &appPort},
	"runArgs": list, "shutdownAction": oneOf("none", "stopContainer"), "overrideCommand": boolean,
	"workspaceFolder": text, "workspaceMount": text,
}

var buildOptions = map[string]shape{"target": text, "args": textMap, "cacheFrom": oneMany, "options": list}

// kinds of configuration, by the properties that decide it.
var (
	imageKind = merged(common, single, map[string]shape{"image": text})
	buildKind = merged(common, single, map[string]shape{"build": object(merged(buildOptions, map[string]shape{"dockerfile": text,
		"context": text}))})
	dockerFileKind = merged(common, single, map[string]shape{"dockerFile": text, "context": text,
		"build": {kinds: anyObj.kinds, what: anyObj.what, props: buildOptions, rest: &shape{}}})
	composeKind = merged(common, map[string]shape{"dockerComposeFile": oneMany, "service": text, "runServices": list,
		"workspaceFolder": text, "shutdownAction": oneOf("none", "stopCompose"), "overrideCommand": boolean})
)

// everyKind holds the properties that some kind has.
var (
	everyKind = merged(imageKind, buildKind, dockerFileKind, composeKind)
	everyName = slices.Sorted(maps.Keys(everyKind))
)

// unfinishedKind is what has a build that names no Dockerfile: dockerFile may be
// what is missing, so nothing is out of place.
var unfinishedKind = merged(everyKind, map[string]shape{"build": buildKind["build"]})

func merged(tables ...map[string]shape) map[string]shape {
	out := map[string]shape{}
	for _, t := range tables {
		maps.Copy(out, t)
	}
	return out
}

// check compares n with s and reports the first thing wrong on each path.
func (c *comparison) check(n *jsonc.Node, s shape) {
	if s.kinds != nil && !slices.Contains(s.kinds, n.Kind) {
		c.wrongType(n, s)
		return
	}
	switch n.Kind {
	case jsonc.Object:
		c.members(n, s)
		c.require(n, s.needs...)
	case jsonc.Array:
		for _, e := range n.Elements {
			if s.items != nil {
				c.check(e, *s.items)
			}
		}
	case jsonc.String:
		if len(s.enum) > 0 && !slices.Contains(s.enum, n.Text) {
			c.at(n, "SBX203", fmt.Sprintf("%s cannot be %q", n.Where(), n.Text), DidYouMean(n.Text, s.enum))
		}
		if s.pattern != nil && !s.pattern.MatchString(n.Text) {
			c.at(n, "SBX203", fmt.Sprintf("%s cannot be %q", n.Where(), n.Text), s.hint(n.Text))
		}
	case jsonc.Number:
		if !s.integer {
			return
		}
		v, err := strconv.ParseFloat(n.Text, 64)
		if err != nil || v != math.Trunc(v) {
			c.at(n, "SBX202", n.Where()+" must be a whole number", "")
		} else if s.min != math.MinInt && v < float64(s.min) || s.max > 0 && v > float64(s.max) {
			c.at(n, "SBX203", fmt.Sprintf("%s is out of range", n.Where()), "")
		}
	}
}

func (c *comparison) members(n *jsonc.Node, s shape) {
	for _, m := range inForce(n) {
		if s.names != nil && !s.names.MatchString(m.Name) {
			c.name(m, "SBX203", fmt.Sprintf("%s: %q is not accepted as a name", n.Where(), m.Name), s.form)
			continue
		}
		if p, ok := s.props[m.Name]; ok {
			c.check(m.Value, p)
		} else if s.rest != nil {
			c.check(m.Value, *s.rest)
		} else if s.props != nil {
			c.unknown(n, m, s.props)
		}
	}
}

// inForce returns the members that count: the last of those with one name. SBX102
// reports the ones that it hides.
func inForce(n *jsonc.Node) []jsonc.Member {
	last := make(map[string]int, len(n.Members))
	for i, m := range n.Members {
		last[m.Name] = i
	}
	if len(last) == len(n.Members) {
		return n.Members
	}
	var out []jsonc.Member
	for i, m := range n.Members {
		if last[m.Name] == i {
			out = append(out, m)
		}
	}
	return out
}

func (c *comparison) unknown(n *jsonc.Node, m jsonc.Member, props map[string]shape) {
	if strings.HasPrefix(n.Pointer, "/mounts/") && (m.Name == "readonly" || m.Name == "ro") {
		return // SBX302 says what becomes of it
	}
	known := slices.Sorted(maps.Keys(props))
	best := diag.Suggest(m.Name, known)
	hint := meant(best, known)
	if n.Pointer == "" && slices.Contains([]string{"vscode", "codespaces", "jetbrains"}, m.Name) {
		hint = "move it into customizations"
	}
	r := c.name(m, "SBX201", fmt.Sprintf("unknown property %q", m.Name), hint)
	switch {
	case best == "" || c.count(n)[best] > 0 || c.count(n)[m.Name] != 1:
	case sameButForCase(best, m.Name) && !slices.Contains(Opening, best):
		r.fix(jsonc.Rename(m, best))
	default:
		r.offer(jsonc.Rename(m, best))
	}
}

// count returns how often each name stands in n. It keeps that of the last n: each of its
// many unknown names asks for it.
func (c *comparison) count(n *jsonc.Node) map[string]int {
	if c.counted != n {
		c.counted, c.counts = n, make(map[string]int, len(n.Members))
		for _, m := range n.Members {
			c.counts[m.Name]++
		}
	}
	return c.counts
}

// DidYouMean is the hint about a name that is not among those known.
func DidYouMean(word string, known []string) string { return meant(diag.Suggest(word, known), known) }

// meant is DidYouMean for a name of which best is known to be the nearest; "" = none is near.
func meant(best string, known []string) string {
	if best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	if len(known) > 12 {
		return "the dev container tools ignore it"
	}
	return "accepted: " + strings.Join(known, ", ")
}

func (c *comparison) wrongType(n *jsonc.Node, s shape) {
	if n.Kind == jsonc.String && len(s.kinds) == 1 && s.kinds[0] == jsonc.Bool {
		what := fmt.Sprintf("%s is the text %q, and every text that is not empty counts as true", n.Where(), n.Text)
		if n.Pointer == "/privileged" && rights.Truthy(n) {
			what += ": the container is privileged"
		}
		r := c.at(n, "SBX301", what, "write true or false without quotes")
		if n.Text == "true" || n.Text == "false" {
			r.fix(jsonc.Replace(n, n.Text))
		}
		return
	}
	if n.Kind == jsonc.Null && strings.HasPrefix(n.Pointer, "/containerEnv/") {
		c.at(n, "SBX303", n.Where()+" would hold the text \"null\"", "leave it out, or set it to null in remoteEnv")
		return
	}
	c.at(n, "SBX202", fmt.Sprintf("%s must be %s, not %s", n.Where(), s.what, n.Kind.WithArticle()), "")
}
