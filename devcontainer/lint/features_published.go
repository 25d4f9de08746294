package lint

import (
	_ "embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// features.txt has the Features of five collections, each below the collection's name (November 2026): name, newest version,
// options, of which those with ? are a yes or no, and behind | those of older versions and those that the script reads
// undeclared. A Feature with - is published no longer.
//
//go:embed features.txt
var publishedList string

// published is what is known of a Feature.
type published struct {
	newest   string // "-" = it is only in the registry
	options  []string
	switches []string // those of options that are a yes or no
	old      []string // options of older versions
}

const officialNamespace = "ghcr.io/devcontainers/features"

// collections are they by the collection's name and their own.
var collections = sync.OnceValue(func() map[string]map[string]published {
	out := map[string]map[string]published{}
	var current map[string]published
	for line := range strings.Lines(publishedList) {
		now, old, _ := strings.Cut(line, "|")
		words := strings.Fields(now)
		if strings.Contains(words[0], "/") {
			current = map[string]published{}
			out[words[0]] = current
			continue
		}
		p := published{newest: words[1], old: strings.Fields(old)}
		for _, o := range words[2:] {
			name, isSwitch := strings.CutSuffix(o, "?")
			if p.options = append(p.options, name); isSwitch {
				p.switches = append(p.switches, name)
			}
		}
		current[words[0]] = p
	}
	return out
})

// broughtBy are programs for which people look for an official Feature, and what brings them.
var broughtBy = map[string]string{"maven": `java with "installMaven": true`, "gradle": `java with "installGradle": true`, "npm": "node",
	"pnpm": "node", "yarn": "node", "pip": "python", "kubectl": "kubectl-helm-minikube", "helm": "kubectl-helm-minikube",
	"minikube": "kubectl-helm-minikube", "zsh": "common-utils", "docker": "docker-in-docker", "docker-compose": "docker-in-docker",
	"composer": "php", "cargo": "rust", "golang": "go", "cuda": "nvidia-cuda", "jdk": "java", "openjdk": "java", "ssh": "sshd"}

// officialMeant matches names that are slips for that of the official collection.
var officialMeant = lazyregexp.New(`^((ghcr|gcr|docker)\.io/|mcr\.microsoft\.com/|github\.com/)?(devcontainers?|dev-containers?)` +
	`(/features?(/src)?|/src|/images|/templates|/devcontainers)?$`)

// plainTag matches the tags that the reference CLI gives to a Feature when it publishes it.
var plainTag = lazyregexp.New(`^(latest|\d+(\.\d+){0,2}(-[\w.-]+)?)$`)

// publishedFeature reports what is not so of a Feature that a collection has: its name and version, its options and their values.
// All names and options of the official collection are known; others may have newer ones, so that only a near miss is one.
func publishedFeature(v *rule.View, m jsonc.Member) []rule.Finding {
	id, tag, tagged := strings.Cut(m.Name, ":")
	id = strings.ToLower(id) // as the reference CLI reads it
	namespace, name := path.Dir(id), path.Base(id)
	list, is := collections()[namespace]
	if strings.ContainsAny(m.Name, "@$") || strings.HasPrefix(name, ".") {
		return nil
	}
	official := namespace == officialNamespace
	if !is {
		if _, known := collections()[officialNamespace][name]; known && officialMeant.MatchString(namespace) {
			return []rule.Finding{v.AtName(m, fmt.Sprintf("the Feature %s is not published in %s", name, namespace),
				fmt.Sprintf("write %s/%s", officialNamespace, name))}
		}
		return nil
	}
	known, is := list[name]
	if !is {
		best := diag.Suggest(name, slices.Collect(maps.Keys(list)))
		message := fmt.Sprintf("there is no Feature %s in %s", name, namespace)
		other := otherCollection(name)
		switch {
		case other != "":
			return []rule.Finding{v.AtName(m, message, fmt.Sprintf("%s has one", other)).Offering(jsonc.Rename(m, other+"/"+name))}
		case broughtBy[name] != "" && official:
			return []rule.Finding{v.AtName(m, message, "write "+officialNamespace+"/"+broughtBy[name])}
		case best != "":
			better := strings.Replace(m.Name, name, best, 1)
			return []rule.Finding{v.AtName(m, message, fmt.Sprintf("did you mean %q?", better)).Offering(jsonc.Rename(m, better))}
		case official:
			return []rule.Finding{v.AtName(m, message, "the Features of others are listed at https://containers.dev/features")}
		}
		return nil
	}
	if known.newest == "-" {
		return nil
	}
	if official && tagged && (farAbove(tag, known.newest) || !plainTag.MatchString(tag)) {
		major, _, _ := strings.Cut(known.newest, ".")
		hint := fmt.Sprintf("write %s/%s:%s", namespace, name, major)
		if slices.Contains(known.options, "version") && plainTag.MatchString(tag) {
			hint += fmt.Sprintf(` with the option "version": %q`, tag)
		}
		return []rule.Finding{v.AtName(m, fmt.Sprintf("%s is no version of the Feature %s, whose newest is %s", tag, name, known.newest), hint)}
	}
	var out []rule.Finding
	if official {
		out = refusesImage(v, m, name)
	} else if namespace == "ghcr.io/devcontainers-extra/features" {
		out = wantsBash(v, m)
	}
	if text, ok := m.Value.Str(); ok && official && slices.Contains(known.options, "version") {
		out = append(out, noVersion(v, name, "version", m.Value, text)...)
	}
	for _, o := range m.Value.Fields() {
		out = append(out, publishedOption(v, name, o, known, official, m.Value)...)
	}
	return out
}

// otherCollection returns a collection that has a Feature of a name, the official one first; "" for none.
func otherCollection(name string) string {
	has := func(collection string) bool {
		known, is := collections()[collection][name]
		return is && known.newest != "-"
	}
	all := append([]string{officialNamespace}, slices.Sorted(maps.Keys(collections()))...)
	if i := slices.IndexFunc(all, has); i >= 0 {
		return all[i]
	}
	return ""
}

// nearOption returns the option of a Feature that was probably meant by one that it lacks, or "". Words count, not letters: the name of
// the Feature among them says nothing.
func nearOption(feature, name string, options []string) (best string) {
	of := partsOf(path.Base(feature))
	words := func(name string) []string {
		return slices.DeleteFunc(partsOf(name), func(w string) bool { return slices.Contains(of, w) })
	}
	asked, most := words(name), 0.5
	for _, option := range options[:min(len(options), maxCandidates)] {
		both, has := 0, words(option)
		for _, w := range has {
			if slices.Contains(asked, w) {
				both++
			}
		}
		if alike := float64(both) / float64(len(asked)+len(has)-both); both > 0 && alike > most {
			best, most = option, alike
		}
	}
	if near := nearest(name, options); best == "" && near != "" && isSlip(asked, words(near)) {
		return near
	}
	return best
}

// likeFirst returns options with those in front that have a word of a name, or its beginning.
func likeFirst(name string, options []string) []string {
	asked := partsOf(name)
	unlike := func(option string) int {
		for _, w := range partsOf(option) {
			if slices.ContainsFunc(asked, func(a string) bool { return a == w || len(w) > 3 && strings.HasPrefix(a, w) }) {
				return 0
			}
		}
		return 1
	}
	return slices.SortedStableFunc(slices.Values(options), func(a, b string) int { return unlike(a) - unlike(b) })
}

// isSlip reports whether each word of a name was probably meant by the one at its place: short words that differ in a letter are others.
func isSlip(written, meant []string) bool {
	if len(written) < 2 {
		return true
	}
	return slices.EqualFunc(written, meant, func(w, m string) bool {
		return w == m || min(len(w), len(m)) > 3 && nearest(w, []string{m}) != ""
	})
}

// wordInName matches the words of a name.
var wordInName = lazyregexp.New(`[A-Z]*[a-z\d]+|[A-Z]+`)

func partsOf(name string) []string {
	words := wordInName.FindAllString(name, -1)
	for n, w := range words {
		words[n] = strings.ToLower(w)
	}
	return words
}

// publishedOption reports an option that the Feature does not have, and a value that its script refuses.
func publishedOption(v *rule.View, feature string, o jsonc.Member, known published, whole bool, all *jsonc.Node) []rule.Finding {
	text, isText := o.Value.Str()
	isSwitch := slices.Contains(known.switches, o.Name)
	switch {
	case strings.HasPrefix(o.Name, "x-") || strings.Contains(text, "$") || slices.Contains(known.old, o.Name):
	case !slices.Contains(known.options, o.Name):
		best := nearOption(feature, o.Name, known.options)
		message := fmt.Sprintf("the Feature %s has no option %q", feature, o.Name)
		if best != "" && all.Member(best) == nil {
			return []rule.Finding{v.AtName(o, message, fmt.Sprintf("did you mean %q?", best)).Offering(jsonc.Rename(o, best))}
		}
		if whole {
			return []rule.Finding{v.AtName(o, message, "it has "+strings.Join(likeFirst(o.Name, known.options), ", "))}
		}
	case isSwitch && isText && text != "true" && text != "false":
		return []rule.Finding{v.AtValue(o.Value,
			fmt.Sprintf("the option %s of %s is a yes or no, and its script takes this for no", o.Name, feature), "write true or false")}
	case whole && !isSwitch && o.Value.Kind == jsonc.Bool && slices.Contains(versionOptions, o.Name):
		return []rule.Finding{v.AtValue(o.Value,
			fmt.Sprintf("the option %s of %s is a version, and there is none called %s", o.Name, feature, o.Value.Text), `write "none" or "latest"`)}
	case whole && isText:
		for _, wrong := range wrongValues {
			if wrong.feature == feature && wrong.option == o.Name && wrong.form.MatchString(text) {
				return []rule.Finding{v.AtValue(o.Value, fmt.Sprintf("the Feature %s refuses the %s %q", feature, o.Name, text), wrong.hint)}
			}
		}
		return noVersion(v, feature, o.Name, o.Value, text)
	}
	return nil
}

// versionOptions are options of official Features that name a version.
var versionOptions = strings.Fields("version helm minikube tflint terragrunt npmVersion pnpmVersion nvmVersion golangciLintVersion " +
	"bicepVersion gradleVersion mavenVersion antVersion groovyVersion mobyBuildxVersion cudaVersion cudnnVersion noVncVersion")

// wrongValues are values of options that the scripts of official Features end with or pass on to a program that does
// (devcontainers/features, 2026-07-14).
var wrongValues = []struct {
	feature, option string
	form            *lazyregexp.Regexp
	hint            string
}{
	{"dotnet", "version", lazyregexp.New(`^\d+$|^net`), `write "latest", "lts" or a version such as "8.0"`},
	{"node", "version", lazyregexp.New(`^node-?v?\d`), `write only the number, such as "22"`},
	{"python", "version", lazyregexp.New(`^(python|py)-?\d|^\d.*x$`), `write only the number, such as "3.12"`},
	{"go", "version", lazyregexp.New(`^(go|v)\d`), `write only the number, such as "1.24"`},
	{"java", "version", lazyregexp.New(`^(java|jdk|openjdk|temurin)-?\d`), `write only the number, such as "21"`},
	{"ruby", "version", lazyregexp.New(`^ruby-?\d`), `write only the number, such as "3.4"`},
	{"php", "version", lazyregexp.New(`^php-?\d`), `write only the number, such as "8.4"`},
	{"rust", "version", lazyregexp.New(`^rust-?\d`), `write only the number, such as "1.87"`},
	{"java", "jdkDistro", lazyregexp.New(`(?i)^(temurin|adoptium|adoptopenjdk|eclipse|microsoft|openjdk|corretto|amazon|liberica|graalvm)$`),
		`write the word of SDKMAN: "tem", "ms", "open", "amzn", "librca" or "graalce"`},
	{"common-utils", "userUid", lazyregexp.New(`^([b-zA-Z]|a[^u])`), `write a number, or "automatic"`},
	{"common-utils", "userGid", lazyregexp.New(`^([b-zA-Z]|a[^u])`), `write a number, or "automatic"`},
	{"sshd", "gatewayPorts", lazyregexp.New(`^(true|false|on|off)$`), `write "no", "yes" or "clientspecified"`},
}

// noVersions are numbers that no version of a tool begins with.
var noVersions = []struct {
	feature string
	form    *lazyregexp.Regexp
	tool    string
	hint    string
}{
	{"node", lazyregexp.New(`^[1-3](\.\d+)*$`), "Node.js", `write that of Node.js, such as "22"; the Feature's own is in its name`},
	{"python", lazyregexp.New(`^([04-9]|\d\d+)(\.\d+)*$`), "Python", `write the version of Python, such as "3.12"`},
	{"go", lazyregexp.New(`^([02-9]|\d\d+)(\.\d+)*$`), "Go", `write the version of Go, such as "1.24"`},
}

// noVersion reports a version that the tool of an official Feature never had.
func noVersion(v *rule.View, feature, option string, n *jsonc.Node, text string) []rule.Finding {
	for _, no := range noVersions {
		if no.feature == feature && option == "version" && no.form.MatchString(text) {
			return []rule.Finding{v.AtValue(n, fmt.Sprintf("there is no version %s of %s", text, no.tool), no.hint)}
		}
	}
	return nil
}
