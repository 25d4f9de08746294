package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/budget"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// featureTests reports tests of a collection's Feature that "devcontainer features test" refuses, and those that never fail. A
// collection has its Features in src and a folder of the same name for each in test.
func featureTests(v *rule.View) (out []rule.Finding) {
	const tests = "../../test"
	src := path.Dir(v.Dir)
	top := path.Join(path.Dir(src), "test")
	if v.Tree == nil || path.Base(src) != "src" {
		return nil
	}
	features := v.Tree.List(src)
	slices.Sort(features)
	own := path.Base(v.Dir)
	folders := []string{own}
	first := slices.IndexFunc(features, func(name string) bool {
		return v.Tree.Kind(path.Join(src, name, devcontainer.FeatureName)) == devcontainer.File
	})
	if first >= 0 && features[first] == own { // it speaks for what is no Feature's
		out = append(workflowsOf(v, src, features), nestedFeatures(v, src, features)...)
		for _, name := range v.Tree.List(top) {
			script := path.Join(tests, name, "test.sh")
			if slices.Contains(features, name) || v.Tree.Kind(path.Join(top, name, "test.sh")) != devcontainer.File {
				continue
			}
			if doc := v.Readable(script); doc != nil {
				v.Also(doc)
				out = append(out, rule.Finding{Place: rights.Place{Doc: doc, End: min(1, len(doc.Src))},
					Message: fmt.Sprintf("src has no Feature %s, and the reference CLI refuses its test", name), Hint: "give both folders the same name"})
			}
		}
		folders = append(folders, "_global")
	}
	for _, name := range folders {
		folder := path.Join(tests, name)
		if doc := v.Readable(path.Join(folder, "test.sh")); doc != nil && name == own {
			out = append(out, unreportedChecks(v, doc)...)
		}
		if doc := v.Readable(path.Join(folder, "scenarios.json")); doc != nil {
			out = append(out, scenarios(v, doc, path.Join(top, name), src)...)
		}
	}
	return out
}

var (
	checkCall = lazyregexp.New(`(?m)^[ \t]*check[ \t]+\S`)
	// pipedCheck matches a check with a pipe that is in no quotes.
	pipedCheck = lazyregexp.New(`(?m)^[ \t]*check[ \t]+("[^"\n]*"|'[^'\n]*')([ \t]+("[^"\n]*"|'[^'\n]*'|[^"'|;&#\s]+))+[ \t]*\|[ \t]*\w`)
	reportCall = lazyregexp.New(`(?m)^[ \t]*reportResults\b`)
)

// unreportedChecks reports a test that calls check and that does not read the library, or does not report at its end.
func unreportedChecks(v *rule.View, doc *jsonc.Document) []rule.Finding {
	at := checkCall.FindSubmatchIndex(doc.Src)
	if at == nil {
		return nil
	}
	text := string(doc.Src)
	place := rights.Place{Doc: doc, Start: at[0], End: at[1] - 1}
	switch {
	case !strings.Contains(text, "source") && !strings.Contains(text, "\n. ") && !strings.Contains(text, "check()"):
		v.Also(doc)
		return []rule.Finding{{Place: place, Message: "nothing defines check", Hint: "write above it: source dev-container-features-test-lib"}}
	case strings.Contains(text, "dev-container-features-test-lib") && !reportCall.MatchString(text):
		v.Also(doc)
		return []rule.Finding{{Place: place, Message: "the test succeeds whatever its checks find", Hint: "write reportResults at its end"}}
	}
	if at := pipedCheck.FindSubmatchIndex(doc.Src); at != nil && !strings.Contains(text, "set -") {
		v.Also(doc)
		return []rule.Finding{{Place: rights.Place{Doc: doc, Start: at[0], End: at[1]},
			Message: "check ends in front of the pipe, and without set -e nothing counts what the program behind it says",
			Hint:    `write check "…" bash -c "… | …"`}}
	}
	return nil
}

// scenarios reports scenarios without their script, and with Features or options that the collection does not have.
func scenarios(v *rule.View, text *jsonc.Document, folder, src string) (out []rule.Finding) {
	doc, _ := jsonc.Parse(text.File, text.Src)
	if doc == nil || doc.Root == nil || len(text.Src) > jsonc.MaxSize {
		return nil
	}
	add := func(m jsonc.Member, message, hint string) {
		v.Also(doc)
		out = append(out, rule.Finding{Place: rights.Place{Doc: doc, Start: m.NameStart, End: m.NameEnd}, Message: message, Hint: hint})
	}
	comparing := budget.New(maxCompared)
	for _, scenario := range doc.Root.Fields() {
		if v.Tree.Kind(path.Join(folder, scenario.Name+".sh")) == devcontainer.Nothing {
			add(scenario, fmt.Sprintf("the scenario has no script %s.sh, and the reference CLI refuses to test", scenario.Name),
				"add the script, or take the scenario out")
		}
		if n := scenario.Value; n.Kind == jsonc.Object && n.Member("image") == nil && n.Member("build") == nil &&
			n.Member("dockerComposeFile") == nil && n.Member("dockerFile") == nil {
			add(scenario, "the scenario names no image, so its container is not built", `add "image"`)
		}
		for _, m := range scenario.Value.Member("features").Fields() {
			if strings.ContainsAny(m.Name, "/:$") {
				continue
			}
			of := rule.Once(v, "tested Feature "+m.Name, func(v *rule.View) testedOf { return readTested(v, path.Join(src, m.Name)) })
			if !of.there {
				add(m, fmt.Sprintf("src has no Feature %s, and the reference CLI refuses to test", m.Name), "name a folder of src")
				continue
			}
			for _, o := range m.Value.Fields() {
				if of.options == nil || of.options[o.Name] || !comparing.Spend(len(of.script)) {
					continue
				}
				if !names(of.script, optionVariable(o.Name)) { // the CLI passes what is not declared, too
					add(o, fmt.Sprintf("the Feature %s has no option %q", m.Name, o.Name), "declare it, or take it out")
				}
			}
		}
	}
	return out
}

// testedOf is what a scenario may ask of a Feature of the collection.
type testedOf struct {
	there   bool
	options map[string]bool // nil when the metadata is not well formed
	script  string          // its install.sh
}

func readTested(v *rule.View, folder string) (of testedOf) {
	metadata, err := v.Tree.Read(path.Join(folder, devcontainer.FeatureName))
	if err != nil {
		return of
	}
	of.there = true
	if feature := devcontainer.Parse(devcontainer.FeatureName, metadata).Object(); feature != nil {
		of.options = map[string]bool{}
		for _, o := range feature.Member("options").Fields() {
			of.options[o.Name] = true
		}
	}
	script, _ := v.Tree.Read(path.Join(folder, "install.sh"))
	of.script = string(script)
	return of
}
