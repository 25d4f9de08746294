package lint

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

func pipRefuses(c *atStep) refusal {
	_, breaks := c.Flag("--break-system-packages")
	old := slices.Contains([]string{"10", "11", "18.04", "20.04", "22.04"}, c.image.Release)
	if breaks && old && c.image.Lacks("pip3") && !c.before("get-pip", "install --upgrade pip", "install -U pip", "venv", "conda", "pyenv") {
		return refusal{message: fmt.Sprintf("pip of %s has no option --break-system-packages", c.name), hint: "leave it out"}
	}
	if list, ok := c.Value("-r", "--requirement"); ok && c.verb() == "install" {
		for _, line := range listedIn(c, list.Text) {
			if oneEquals.MatchString(line.Text) {
				return refusal{message: fmt.Sprintf("pip refuses the line %q of %s", line.Text, path.Base(list.Text)),
					hint: "write == in front of a version; a list of conda's is no list of pip's"}
			}
		}
	}
	return nativeRefused(c)
}

// oneEquals matches a version behind one equals sign, as conda writes it.
var oneEquals = lazyregexp.New(`^[A-Za-z0-9][\w.-]*(\[[^\]]*\])?\s*=[^=]`)

// fromSource are packages that come as source alone, and need a compiler, by the program that installs them (PyPI and RubyGems,
// November 2026).
var fromSource = map[string][]string{
	"pip": {"psycopg2", "mysqlclient", "uwsgi", "pycairo", "python-ldap", "pygraphviz", "dbus-python", "pycups", "pylibmc"},
	"gem": {"rails", "puma", "jekyll", "pg", "mysql2", "bcrypt", "nio4r", "bootsnap", "unf_ext", "eventmachine"},
}

// nativeRefused is about packages that come as source, in an image without a compiler.
func nativeRefused(c *atStep) refusal {
	language, kind := "python", "pip"
	if c.Is("gem") {
		language, kind = "ruby", "gem"
	}
	if c.verb() != "install" || !c.official(language) || !c.image.Lacks("g++") || c.opaque() ||
		c.before("gcc", "build-essential", "build-base", "clang", "g++", "alpine-sdk", "--from", "--mount", "build-dep") {
		return refusal{}
	}
	names := c.Operands()
	if list, ok := c.Value("-r", "--requirement"); ok {
		names = append(names, listedIn(c, list.Text)...)
	}
	for _, w := range names {
		name := strings.FieldsFunc(strings.ToLower(w.Text)+"=", func(r rune) bool { return strings.ContainsRune("[<>=~!;@ ", r) })
		if len(name) > 0 && slices.Contains(fromSource[kind], name[0]) {
			r := refusal{message: fmt.Sprintf("%s comes as source, and %s has no compiler", name[0], c.name),
				hint: "install a compiler and the libraries above, or take the image without slim or alpine", warn: true} // an index changes
			if name[0] == "psycopg2" {
				r.hint = "install psycopg2-binary, which is compiled; or a compiler and libpq-dev above"
			}
			return r
		}
	}
	return refusal{}
}

func gemRefuses(c *atStep) refusal { return nativeRefused(c) }

// listedIn returns the lines of a list of packages that a COPY of the stage brings.
func listedIn(c *atStep, name string) (out []shell.Word) {
	context, known := buildContext(c.v)
	if !known {
		return nil
	}
	folder := "/"
	for _, i := range c.history {
		folder = workdirAfter(folder, i)
		copied, ok := i.Command.(*instructions.CopyCommand)
		if !ok || copied.From != "" {
			continue
		}
		for _, source := range copied.SourcePaths {
			if path.Base(source) != path.Base(name) || strings.ContainsAny(source, "$*?[") || c.reading.Spent() {
				continue
			}
			src, err := c.v.Tree.Read(path.Join(context, path.Clean("/"+source)))
			if err != nil || !c.reading.Spend(perLookup+16*len(src)) { // each line becomes a word
				return nil
			}
			for line := range strings.Lines(string(src)) {
				if text := strings.TrimSpace(line); text != "" && text[0] != '#' && text[0] != '-' {
					out = append(out, shell.Word{Text: text})
				}
			}
		}
	}
	return out
}

func uvRefuses(c *atStep) refusal {
	words := c.Operands()
	if len(words) < 2 {
		return refusal{}
	}
	switch first, second := words[0].Text, words[1].Text; {
	case first == "pip" && (second == "install" || second == "sync"):
		elsewhere := hasFlag(c.Command, "--system", "--python", "-p", "--target", "-t", "--prefix")
		if elsewhere || !c.image.Official() || c.opaque() || c.before("venv", "VIRTUAL_ENV", "UV_", "conda") {
			return refusal{}
		}
		return refusal{message: "uv pip installs into a virtual environment, and there is none",
			hint: "add --system, or write ENV UV_SYSTEM_PYTHON=1 above; or make one with uv venv"}
	case first == "tool" && second == "install" && len(words) > 3 && len(words) == len(c.Args()):
		return refusal{message: "uv tool install takes one package", hint: "write it once for each package"}
	}
	return refusal{}
}

// goRefuses is about packages outside of a module.
func goRefuses(c *atStep) refusal {
	words := c.Operands()
	if len(words) < 2 || !c.official("golang") || c.opaque() ||
		c.before("go mod init", "git clone", "go.mod", "GO111MODULE", "COPY ", "ADD ", "--mount", "cd ", "tar ") {
		return refusal{}
	}
	version := lazyVersion.FindStringSubmatch(c.name)
	minor := 99
	if version != nil {
		minor, _ = strconv.Atoi(version[1])
	}
	remote := slices.ContainsFunc(words[1:], func(w shell.Word) bool {
		host, _, slash := strings.Cut(w.Text, "/")
		return slash && strings.Contains(host, ".") && host[0] != '.'
	})
	at := slices.ContainsFunc(words[1:], func(w shell.Word) bool { return strings.Contains(w.Text, "@") })
	switch {
	case !remote || minor < 18:
	case words[0].Text == "get":
		return refusal{message: "go get works only inside a module, and there is no go.mod", hint: "write go install PACKAGE@latest"}
	case words[0].Text == "install" && !at:
		return refusal{message: "outside of a module go install wants a version", hint: "write @latest, or a version, behind the package"}
	}
	return refusal{}
}

var lazyVersion = lazyregexp.New(`:1\.(\d+)`)

func playwrightRefuses(c *atStep) refusal {
	words := joinedWords(c.Command)
	if !strings.Contains(words, "playwright") || !strings.Contains(words, " install") {
		return refusal{}
	}
	packages := strings.Contains(words, "--with-deps") || strings.Contains(words, "install-deps")
	lacks, _ := c.image.LacksSudo()
	byUser := c.step.User != "" && !rule.IsRoot(c.step.User) && c.User == ""
	switch {
	case c.image.Family == baseimage.Alpine:
		return refusal{message: "Playwright's browsers need glibc, and Alpine has musl", hint: "take an image of Debian or Ubuntu", warn: true}
	case packages && c.image.Family == baseimage.RedHat:
		return refusal{message: fmt.Sprintf("Playwright installs packages with apt-get, which %s does not have", c.name), warn: true,
			hint: "install the libraries with dnf, and leave --with-deps out; or take an image of Debian or Ubuntu"}
	case packages && lacks && byUser && !c.before(" sudo"):
		return refusal{message: fmt.Sprintf("Playwright installs packages as root, and %s is not", c.step.User), warn: true,
			hint: "write USER root above npx playwright install-deps, and the other user below"}
	}
	return refusal{}
}

// phpNeeds are the libraries that extensions of PHP are built with, by the part that is in the names of their packages.
var phpNeeds = map[string][]string{"zip": {"libzip"}, "gd": {"libpng"}, "intl": {"icu"}, "pgsql": {"libpq", "postgresql"},
	"pdo_pgsql": {"libpq", "postgresql"}, "soap": {"libxml2"}, "xsl": {"libxslt"}, "gmp": {"gmp"}, "bz2": {"bz2", "bzip2"}, "ldap": {"ldap"},
	"tidy": {"tidy"}, "snmp": {"snmp"}, "ffi": {"libffi"}}

func phpRefuses(c *atStep) refusal {
	if !c.official("php") || c.opaque() || c.before("--from", "install-php-extensions", "$PHPIZE", "ADD ") && c.before("--from",
		"install-php-extensions") {
		return refusal{}
	}
	for _, w := range c.Args() {
		if needs := phpNeeds[w.Text]; needs != nil && !c.before(needs...) {
			return refusal{message: fmt.Sprintf("the extension %s is built with %s, which %s lacks", w.Text, needs[0], c.name),
				hint: "install the library with its headers above", warn: true}
		}
	}
	return refusal{}
}
