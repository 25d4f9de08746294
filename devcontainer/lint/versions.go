package lint

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// demand is the version of a language that a file of the project asks for.
type demand struct {
	file  string
	shown string           // the demand as it is written
	least baseimage.Number // no version below is taken
	below baseimage.Number // nor one that is not below this; nil = any
}

// met reports whether a version, as far as it is said, may be what is asked for.
func (d demand) met(has baseimage.Number) bool {
	above := d.below != nil && (has.Compare(d.below) > 0 || slices.Equal(has[:min(len(has), len(d.below))], d.below))
	return has.Compare(d.least) >= 0 && !above
}

// choosyTool is a language whose commands ask for its version.
type choosyTool struct {
	tool   string
	line   *lazyregexp.Regexp // of the command's words
	demand func(v *rule.View, folder string) demand
	others string // words of texts by which the container may have another version
}

// choosy are commands that refuse to work with another version of their language than the project asks for. Each was tried with the
// program itself, or its source says so (November 2026): npm, pnpm and Yarn from 2 on only warn.
var choosy = []choosyTool{
	{"go", lazyregexp.New(`^go (mod|build|test|vet|run|generate|get|list|work|install \.)`), goDemand, "GOTOOLCHAIN golang go.dev gvm"},
	{"ruby", lazyregexp.New(`^bundle( |$)`), rubyDemand, "rbenv rvm ruby-install ruby-build ruby-"},
	{"python", lazyregexp.New(`^(pip3?|python3? -m pip) install (.* )?(-e |--editable )?\.(\[|/?$)|^(poetry|pdm) install`), pythonDemand,
		"pyenv conda deadsnakes python3. uv"},
	{"node", lazyregexp.New(`^yarn( install| add|$| --)`), nodeDemand, "nvm fnm volta nodejs nodesource ignore-engines corepack"},
	{"dotnet", lazyregexp.New(`^dotnet (restore|build|test|run|tool|workload|format|publish|watch)`), dotnetDemand,
		"dotnet-install dotnet-sdk"},
	{"java", lazyregexp.New(`^(mvnw?|\./mvnw) (.* )?(compile|package|install|verify|test|test-compile)( |$)`), javaDemand,
		"jdk sdk toolchain"},
	{"php", lazyregexp.New(`^composer (install|update|require)`), phpDemand, "ignore-platform ondrej php8"},
	{"rust", lazyregexp.New(`^cargo (build|check|test|run|clippy|doc|install --path)`), rustDemand, "rustup toolchain"},
	{"elixir", lazyregexp.New(`^mix (compile|test|setup|ecto|phx)`), elixirDemand, "kiex"},
}

// versionsRefused reports commands of hooks for which the language of the image is too old, or another one than the project's.
func versionsRefused(v *rule.View) (out []rule.Finding) {
	folder, known := workspaceOnHost(v)
	if v.Kind() != devcontainer.ConfigFile || !known || v.Tree == nil {
		return nil
	}
	tool, has := baseimage.Version(v.BaseImage())
	if tool == "php" {
		out = hookMeanings(v, extensionsMissing)
	}
	return append(out, versionRefused(v, folder, tool, v.BaseImage(), has)...)
}

// versionRefused is about the commands of one language, of which the container has a version by from.
func versionRefused(v *rule.View, folder, tool, from string, has baseimage.Number) []rule.Finding {
	at := slices.IndexFunc(choosy, func(c choosyTool) bool { return c.tool == tool })
	if at < 0 || has == nil {
		return nil
	}
	c := choosy[at]
	return hookMeanings(v, func(h *hookReading, cmd *shell.Command) (f rule.Finding) {
		here, known := folderIn(folder, cmd.Folder)
		if !h.inside() || !known || !c.line.MatchString(strings.ReplaceAll(joinedWords(cmd), "./", "")) {
			return f
		}
		d := rule.Once(v, "version in "+here, func(v *rule.View) demand {
			if rule.Once(v, "another version of "+c.tool, func(v *rule.View) bool { return anotherVersion(v, c.tool, c.others) }) {
				return demand{}
			}
			return c.demand(v, here)
		})
		if d.least == nil || d.met(has) {
			return f
		}
		return rule.Finding{Message: fmt.Sprintf("%s asks for %s %s, and %s has %s: %s refuses", d.file, languageNames[c.tool], d.shown,
			from, has, cmd.Name()), Hint: fmt.Sprintf("take the version that %s names, or change %[1]s", d.file)}
	})
}

// languageNames are the languages as people write them.
var languageNames = map[string]string{"go": "Go", "ruby": "Ruby", "python": "Python", "node": "Node.js", "dotnet": "the .NET SDK",
	"java": "Java", "php": "PHP", "rust": "Rust", "elixir": "Elixir"}

// anotherVersion reports whether something may bring another version of a language than the image's.
func anotherVersion(v *rule.View, tool, others string) bool {
	for _, m := range v.Root.Member("features").Fields() {
		name, official := strings.CutPrefix(strings.ToLower(m.Name), officialNamespace+"/")
		name, _, _ = strings.Cut(name, ":")
		keeps := m.Value.Member("version").TextOr("") == "none"
		if !official || name == tool && !keeps || name == "conda" || name == "nix" {
			return true
		}
	}
	texts := textsInside(v)
	if v.Build != nil && strings.Contains(texts, "--from") {
		return true
	}
	for _, word := range append(strings.Fields(others), "asdf", "mise", "devbox", "proto ", "GOTOOLCHAIN") {
		from := strings.Index(texts, word)
		if word == "golang" && v.Build != nil { // which its FROM says
			from = strings.Index(strings.ReplaceAll(texts, "FROM golang", ""), word)
		}
		if from >= 0 {
			return true
		}
	}
	return false
}

// textIn reads a file of the folder, "" when it is not there.
func textIn(v *rule.View, folder, name string) string {
	full := path.Join(folder, name)
	return rule.Once(v, "text of "+full, func(v *rule.View) string {
		src, err := v.Tree.Read(full)
		if err != nil || len(src) > jsonc.MaxSize {
			return ""
		}
		return string(src)
	})
}

// matched is the demand that a file makes where a pattern matches: a number, or an operator and a number.
func matched(v *rule.View, folder, file string, form *lazyregexp.Regexp) demand {
	m := form.FindStringSubmatch(textIn(v, folder, file))
	if m == nil {
		return demand{}
	}
	return bounded(file, strings.TrimSpace(m[1]))
}

// bounded reads one condition: "3.12", ">=3.12", "^8.3", "~> 3.3.0", "==3.11.*". Of several, joined by commas or blanks, the first that
// is a lower bound counts.
func bounded(file, text string) demand {
	d := demand{file: file, shown: text}
	if strings.Contains(text, "||") || strings.Contains(text, "|") {
		return demand{}
	}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		number := baseimage.ParseNumber(strings.TrimLeft(part, "><=~^! v"))
		switch {
		case number == nil, part[0] == '<', part[0] == '!':
		case part[0] == '>', part[0] == '^', part[0] == '~':
			d.least = number
		case part[0] == '=':
			d.least, d.below = number, next(number)
		}
	}
	return d
}

// exactly is a demand of one version, which the image's must be as far as both are said.
func exactly(d demand, number baseimage.Number) demand {
	d.least, d.below = number, next(number)
	return d
}

// next is the first version above all that begin with n.
func next(n baseimage.Number) baseimage.Number {
	out := slices.Clone(n)
	out[len(out)-1]++
	return out
}

var (
	goDirective = lazyregexp.New(`(?m)^go (\d+\.\d+[\d.]*)`)
	rubyLine    = lazyregexp.New(`(?m)^\s*ruby[ (]+["']([^"']+)["']\s*\)?\s*(?:#.*)?$`)
	rubyFile    = lazyregexp.New(`(?m)^\s*ruby[ (]+file:\s*["']([^"']+)["']`)
	pythonLine  = lazyregexp.New(`(?m)^requires-python\s*=\s*["']([^"']+)["']`)
	poetryLine  = lazyregexp.New(`(?m)^python\s*=\s*["']([^"']+)["']`)
	mavenLine   = lazyregexp.New(`<(?:maven\.compiler\.(?:release|source)|java\.version|release)>\s*(?:1\.)?(\d+)\s*</`)
	rustLine    = lazyregexp.New(`(?m)^rust-version\s*=\s*["']([^"']+)["']`)
	edition2024 = lazyregexp.New(`(?m)^edition\s*=\s*["']2024["']`)
	elixirLine  = lazyregexp.New(`(?m)^\s*elixir:\s*["']([^"']+)["']`)
)

// goDemand is that of go.mod. The image sets GOTOOLCHAIN=local since 1.21, before which go reads the line in another way.
func goDemand(v *rule.View, folder string) demand {
	d := matched(v, folder, "go.mod", goDirective)
	d.least = baseimage.ParseNumber(d.shown)
	if _, has := baseimage.Version(v.BaseImage()); has.Compare(baseimage.Number{1, 21}) < 0 {
		return demand{}
	}
	return d
}

func rubyDemand(v *rule.View, folder string) demand {
	d := matched(v, folder, "Gemfile", rubyLine)
	if m := rubyFile.FindStringSubmatch(textIn(v, folder, "Gemfile")); m != nil {
		d = demand{file: m[1], shown: strings.TrimPrefix(strings.TrimSpace(textIn(v, folder, m[1])), "ruby-")}
	}
	number := baseimage.ParseNumber(d.shown)
	if strings.HasPrefix(d.shown, "~>") {
		if number = baseimage.ParseNumber(strings.TrimLeft(d.shown, "~> ")); len(number) > 1 {
			d.least, d.below = number, next(number[:len(number)-1])
		}
	} else if number != nil {
		d = exactly(d, number)
	}
	return d
}

func pythonDemand(v *rule.View, folder string) demand {
	d := matched(v, folder, "pyproject.toml", pythonLine)
	if d.least == nil {
		d = matched(v, folder, "pyproject.toml", poetryLine)
	}
	return d
}

// packageJSON is what is asked of it here.
type packageJSON struct {
	Engines                       struct{ Node string }
	PackageManager                string
	Dependencies, DevDependencies map[string]string
}

func nodeDemand(v *rule.View, folder string) demand {
	var of packageJSON
	newer := strings.Contains(textIn(v, folder, ".yarnrc.yml")+textIn(v, v.Home, ".yarnrc.yml"), ":")
	if json.Unmarshal([]byte(textIn(v, folder, "package.json")), &of) != nil || newer ||
		of.PackageManager != "" && !strings.HasPrefix(of.PackageManager, "yarn@1.") {
		return demand{}
	}
	text := strings.TrimSpace(of.Engines.Node)
	d := bounded("package.json", strings.Join(strings.Fields(strings.ReplaceAll(text, "> =", ">=")), ","))
	d.shown = text
	if number := baseimage.ParseNumber(strings.TrimSuffix(text, ".x")); number != nil && d.least == nil && !strings.ContainsAny(text, " |-") {
		d = exactly(d, number)
	}
	return d
}

// dotnetDemand is that of global.json: the SDK rolls forward inside its major version unless another policy is named.
func dotnetDemand(v *rule.View, folder string) demand {
	doc, _ := jsonc.Parse("global.json", []byte(textIn(v, folder, "global.json")))
	if doc == nil || doc.Root == nil {
		return demand{}
	}
	sdk := doc.Root.Member("sdk")
	shown := sdk.Member("version").TextOr("")
	d := demand{file: "global.json", shown: shown, least: baseimage.ParseNumber(shown)}
	if len(d.least) < 2 {
		return demand{}
	}
	d.least = d.least[:2]
	if policy := sdk.Member("rollForward").TextOr(""); !strings.HasSuffix(strings.ToLower(policy), "major") {
		d.below = next(d.least[:1])
	}
	return d
}

func javaDemand(v *rule.View, folder string) demand {
	d := matched(v, folder, "pom.xml", mavenLine)
	d.least = baseimage.ParseNumber(d.shown)
	return d
}

func phpDemand(v *rule.View, folder string) demand {
	var of struct {
		Require map[string]string
		Config  struct{ Platform map[string]any }
	}
	if json.Unmarshal([]byte(textIn(v, folder, "composer.json")), &of) != nil || of.Config.Platform["php"] != nil {
		return demand{}
	}
	return bounded("composer.json", strings.TrimSpace(of.Require["php"]))
}

// notInPHP are extensions that Docker's image php has not, nor Microsoft's (their Dockerfiles, November 2026).
var notInPHP = strings.Fields("intl zip gd pdo_mysql mysqli pdo_pgsql pgsql redis imagick bcmath soap sockets exif pcntl gmp xsl ldap " +
	"amqp mongodb apcu calendar gettext")

// extensionsMissing reports composer install where composer.json requires an extension that the image has not.
func extensionsMissing(h *hookReading, cmd *shell.Command) (f rule.Finding) {
	tool, _ := baseimage.Version(h.v.BaseImage())
	folder, known := workspaceOnHost(h.v)
	installs := h.inside() && strings.HasPrefix(joinedWords(cmd), "composer install")
	if !installs || !known || tool != "php" || !h.asItIs {
		return f
	}
	name := rule.Once(h.v, "extension that is missing", func(v *rule.View) string { return extensionMissing(v, folder) })
	if name == "" {
		return f
	}
	return rule.Finding{Message: fmt.Sprintf("composer.json requires ext-%s, which %s has not: composer refuses", name, h.v.BaseImage()),
		Hint: fmt.Sprintf("build an image: RUN docker-php-ext-install %s, with the libraries that it needs", name)}
}

// extensionMissing returns an extension that composer.json requires and that the image has not; "" when there is none.
func extensionMissing(v *rule.View, folder string) string {
	var of struct{ Require map[string]string }
	if anotherVersion(v, "php", "ignore-platform docker-php-ext install-php-extensions pecl apt-get") ||
		json.Unmarshal([]byte(textIn(v, folder, "composer.json")), &of) != nil {
		return ""
	}
	at := slices.IndexFunc(notInPHP, func(name string) bool { return of.Require["ext-"+name] != "" })
	if at < 0 {
		return ""
	}
	return notInPHP[at]
}

func rustDemand(v *rule.View, folder string) demand {
	text := textIn(v, folder, "Cargo.toml")
	if text == "" || textIn(v, folder, "rust-toolchain.toml")+textIn(v, folder, "rust-toolchain") != "" {
		return demand{}
	}
	if m := rustLine.FindStringSubmatch(text); m != nil {
		return demand{file: "Cargo.toml", shown: m[1], least: baseimage.ParseNumber(m[1])}
	}
	if edition2024.MatchString(text) {
		return demand{file: "Cargo.toml", shown: "1.85 (edition 2024)", least: baseimage.Number{1, 85}}
	}
	return demand{}
}

func elixirDemand(v *rule.View, folder string) demand {
	return matched(v, folder, "mix.exs", elixirLine)
}
