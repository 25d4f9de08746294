package schema

import (
	"regexp"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// featureShape is devcontainer-feature.json
// (containers.dev/implementors/features, "devcontainer-feature.json properties").
var featureShape = object(map[string]shape{
	"id": text, "version": text, "name": text, "description": text, "documentationURL": text, "licenseURL": text,
	"keywords": list, "options": {kinds: anyObj.kinds, what: anyObj.what, rest: &featureOption},
	"containerEnv": textMap, "privileged": boolean, "init": boolean, "capAdd": list, "securityOpt": list, "entrypoint": text,
	"customizations": anyObj, "dependsOn": anyObj, "installsAfter": list, "legacyIds": list, "deprecated": boolean,
	"mounts":          {kinds: list.kinds, what: "an array of mounts", items: ref(object(mountProps, mountNeeds...))},
	"onCreateCommand": command, "updateContentCommand": command, "postCreateCommand": command,
	"postStartCommand": command, "postAttachCommand": command,
}, "id", "version")

var featureOption = object(map[string]shape{
	"type": oneOf("string", "boolean"), "description": text, "enum": list, "proposals": list,
	"default": {kinds: []jsonc.Kind{jsonc.String, jsonc.Bool}, what: "a string, or true or false for a boolean"},
}, "type", "default")

// templateShape is devcontainer-template.json
// (containers.dev/implementors/templates, "devcontainer-template.json properties").
var templateShape = object(map[string]shape{
	"$schema": text, "id": text, "version": text, "name": text, "description": text, "documentationURL": text, "licenseURL": text,
	"publisher": text, "keywords": list, "platforms": list, "optionalPaths": list, "files": list, "fileCount": number,
	"options": {kinds: anyObj.kinds, what: anyObj.what, rest: ref(object(map[string]shape{
		"type": oneOf("string", "boolean"), "description": text, "enum": list, "proposals": list,
		"default": {kinds: []jsonc.Kind{jsonc.String, jsonc.Bool}, what: "a string"},
	}, "type", "default"))},
}, "id", "version", "name")

var number = shape{kinds: []jsonc.Kind{jsonc.Number}, what: "a number"}

// lockShape is devcontainer-lock.json, as the reference CLI writes it
// (containers/dev/lockfile in the specification's proposals).
var lockShape = object(map[string]shape{
	"$schema": text,
	"features": {kinds: anyObj.kinds, what: anyObj.what, rest: ref(object(map[string]shape{
		"version": text, "resolved": text,
		"integrity": {kinds: text.kinds, what: text.what, pattern: regexp.MustCompile(`^sha256:[0-9a-f]{64}$`),
			example: `"sha256:…" with 64 digits`},
		"dependsOn": list,
	}, "version", "resolved", "integrity"))},
}, "features")

// madeShape is sandbox.lock. A newer version of it may have more members.
var madeShape = shape{kinds: anyObj.kinds, what: anyObj.what, rest: &shape{}, needs: []string{"lockVersion", "template"},
	props: map[string]shape{
		"$schema": text, "lockVersion": {kinds: number.kinds, what: "a whole number", integer: true, min: 1},
		"template": {kinds: anyObj.kinds, what: anyObj.what, rest: &shape{},
			props: map[string]shape{"id": text, "version": text, "digest": text}},
		"options": textMap, "presets": list, "allow": list, "private": list, "network": text,
		"facts": anyObj, "claude": anyObj, "sbxInit": anyObj,
		"images": {kinds: list.kinds, what: "an array of images", items: &shape{kinds: anyObj.kinds, what: anyObj.what, rest: &shape{},
			props: map[string]shape{"reference": text, "digest": text}}},
		"base": {kinds: anyObj.kinds, what: anyObj.what, rest: &list},
	}}

// options compares each option with its type.
func (c *comparison) options(options *jsonc.Node, feature bool) {
	if options == nil || options.Kind != jsonc.Object {
		return
	}
	for _, m := range options.Members {
		o := m.Value
		if o.Kind != jsonc.Object {
			continue
		}
		kind, _ := o.Member("type").Str()
		fallback := o.Member("default")
		for _, name := range []string{"enum", "proposals"} {
			if n := o.Member(name); n != nil && kind == "boolean" {
				c.at(n, "SBX206", n.Where()+" has no effect: the option is a boolean", "make its type string, or remove it")
			}
		}
		if o.Member("enum") != nil && o.Member("proposals") != nil && kind != "boolean" {
			c.at(o.Member("proposals"), "SBX206", o.Where()+" has both enum and proposals",
				"enum allows nothing else, proposals allow anything; keep one")
		}
		switch {
		case fallback == nil:
		case kind == "string" && fallback.Kind == jsonc.Bool:
			c.at(fallback, "SBX202", fallback.Where()+" must be a string, not a boolean", "the option's type is string")
		case feature && kind == "boolean" && fallback.Kind == jsonc.String:
			c.at(fallback, "SBX202", fallback.Where()+" must be true or false, not a string", "the option's type is boolean")
		}
	}
}

// policyShape is an organisation's policy.
var policyShape = object(map[string]shape{"$schema": text, "registries": policyLimits, "features": policyLists,
	"capabilities": policyLimits,
	"extensions":   policyLists, "mounts": policyLimits, "properties": object(map[string]shape{"forbid": list, "require": list}),
	"rules": {kinds: anyObj.kinds, what: anyObj.what, rest: &heldLevel}})

var (
	policyLists  = object(map[string]shape{"allow": list, "forbid": list, "require": list})
	policyLimits = object(map[string]shape{"allow": list, "forbid": list})
)

// choiceShape is the section "validate" of sbx-devc.jsonc: which rules count, and how much.
var choiceShape = object(map[string]shape{"$schema": text,
	"profile": oneOf("recommended", "strict", "correctness"),
	"categories": object(map[string]shape{"correctness": categoryLevel, "security": categoryLevel, "supply-chain": categoryLevel,
		"style": categoryLevel}),
	"rules": {kinds: anyObj.kinds, what: anyObj.what, rest: &ruleLevel},
	"overrides": {kinds: list.kinds, what: "an array of objects with files and rules", items: ref(object(map[string]shape{
		"files": list, "rules": {kinds: anyObj.kinds, what: anyObj.what, rest: &ruleLevel}}, "files", "rules"))},
	"exclude": list, "baseline": text, "policy": text, "failOn": oneOf("error", "warning", "note")})

var (
	categoryLevel = oneOf("on", "off", "note")
	ruleLevel     = oneOf("on", "off", "note", "warning", "error")
	heldLevel     = oneOf("on", "note", "warning", "error")
)

// toolShape is sbx-devc.jsonc.
var toolShape = object(map[string]shape{"$schema": text, "validate": choiceShape})
