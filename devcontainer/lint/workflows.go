package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// maxWorkflows bounds the workflows of a collection that are read.
const maxWorkflows = 20

var (
	publishStep = lazyregexp.New(`(?m)^[ \t-]*uses:[ \t]*["']?devcontainers/action@`)
	basePath    = lazyregexp.New(`(?m)^[ \t]*base-path-to-(features|templates):[ \t]*["']?([^"'\s#]+)`)
	// permissionsOf matches a list of permissions; a token has none that it leaves out.
	permissionsOf = lazyregexp.New(`(?m)^[ \t]*permissions:[ \t]*(\{[^}]*\})?[ \t]*(?:#.*)?$`)
	packagesWrite = lazyregexp.New(`packages["']?:[ \t]*["']?write|permissions:[ \t]*write-all`)
	testedFeature = lazyregexp.New(`(?m)features test[^\n]*?[ \t](?:-f|--features)[ \t]+([\w-]+)`)
	matrixList    = lazyregexp.New(`(?m)^([ \t]*)features:[ \t]*(\[[^\]\n]*\])?[ \t]*\n`)
)

// workflowsOf reports mistakes of the workflows that publish and test a collection: a folder that is not there, a token that may not
// publish, a Feature that src does not have.
func workflowsOf(v *rule.View, src string, features []string) (out []rule.Finding) {
	top := path.Dir(src)
	folder := path.Join(top, ".github", "workflows")
	if v.Tree == nil || v.Tree.Kind(folder) != devcontainer.Folder {
		return nil
	}
	for n, name := range v.Tree.List(folder) {
		ext := path.Ext(name)
		if n > maxWorkflows || ext != ".yml" && ext != ".yaml" {
			continue
		}
		doc := v.Readable(path.Join("../..", ".github", "workflows", name))
		if doc == nil || len(doc.Src) > jsonc.MaxSize {
			continue
		}
		text := string(doc.Src)
		say := func(start, end int, message, hint string) {
			v.Also(doc)
			out = append(out, rule.Finding{Place: rights.Place{Doc: doc, Start: start, End: end}, Message: message, Hint: hint})
		}
		if strings.Contains(text, "devcontainers/action@") {
			if at := publishStep.FindStringIndex(text); at != nil {
				publishes(v, top, text, at, say)
			}
		}
		if strings.Contains(text, "features test") {
			testedFeatures(text, features, say)
		}
	}
	return out
}

func publishes(v *rule.View, top, text string, step []int, say func(start, end int, message, hint string)) {
	for _, m := range basePath.FindAllStringSubmatchIndex(text, mostAsked) {
		kind, given := text[m[2]:m[3]], text[m[4]:m[5]]
		full := path.Join(top, given)
		one := devcontainer.FeatureName
		if kind == "templates" {
			one = devcontainer.TemplateName
		}
		switch {
		case strings.Contains(given, "$") || devcontainer.LeavesTree(full):
		case v.Tree.Kind(full) != devcontainer.Folder && isMissing(v, full):
			say(m[4], m[5], fmt.Sprintf("there is no folder %s, so nothing is published", given), "name the folder of all "+kind+", mostly ./src")
		case v.Tree.Kind(path.Join(full, one)) == devcontainer.File:
			say(m[4], m[5], fmt.Sprintf("%s is one of the %s: the action looks for them in folders below", given, kind), "name the folder above it")
		}
	}
	if permissions := permissionsOf.FindStringIndex(text); permissions != nil && !packagesWrite.MatchString(text) &&
		strings.Contains(text, "secrets.GITHUB_TOKEN") && strings.Contains(text, "publish-") && !strings.Contains(text, "oci-registry") {
		say(permissions[0], permissions[1], "these permissions leave packages out, and the registry denies what the action publishes",
			"add packages: write")
	}
}

// testedFeatures reports names of Features that a workflow tests, and that src does not have.
func testedFeatures(text string, features []string, say func(start, end int, message, hint string)) {
	unknown := func(start, end int) {
		if name := text[start:end]; !slices.Contains(features, name) {
			say(start, end, fmt.Sprintf("src has no Feature %s, and the reference CLI refuses to test", name), "name a folder of src")
		}
	}
	for _, m := range testedFeature.FindAllStringSubmatchIndex(text, mostAsked) {
		unknown(m[2], m[3])
	}
	m := matrixList.FindSubmatchIndex([]byte(text))
	if m == nil || !strings.Contains(text, "matrix.features") || m[4] >= 0 {
		return
	}
	indent := text[m[2]:m[3]]
	offset, asked := m[1], 0
	for line := range strings.Lines(text[m[1]:]) {
		item := strings.TrimLeft(line, " \t")
		name, isItem := strings.CutPrefix(item, "- ")
		name = strings.Trim(strings.TrimSpace(strings.SplitN(name, "#", 2)[0]), `"'`)
		if asked++; asked > maxCandidates || !isItem || len(line)-len(item) < len(indent) {
			break
		}
		if start := offset + strings.Index(line, name); name != "" && !strings.ContainsAny(name, "${}: ") {
			unknown(start, start+len(name))
		}
		offset += len(line)
	}
}

// nestedFeatures reports Features of a collection that lie a folder too deep, where publishing looks for none.
func nestedFeatures(v *rule.View, src string, entries []string) (out []rule.Finding) {
	for n, entry := range entries {
		folder := path.Join(src, entry)
		if n > maxCandidates || v.Tree.Kind(path.Join(folder, devcontainer.FeatureName)) == devcontainer.File {
			continue
		}
		for _, below := range v.Tree.List(folder) {
			name := path.Join("..", entry, below, devcontainer.FeatureName)
			if v.Tree.Kind(path.Join(folder, below, devcontainer.FeatureName)) != devcontainer.File {
				continue
			}
			if doc := v.Readable(name); doc != nil {
				v.Also(doc)
				out = append(out, rule.Finding{Place: rights.Place{Doc: doc, End: min(1, len(doc.Src))},
					Message: "nothing publishes this Feature: the reference CLI looks only in the folders of src",
					Hint:    fmt.Sprintf("move it to src/%s", below)})
			}
		}
	}
	return out
}
