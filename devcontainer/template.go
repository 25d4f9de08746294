package devcontainer

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

var (
	conflictMarker = regexp.MustCompile(`(?m)^(<<<<<<<|>>>>>>>)( .*)?\r?$`)
	templateOption = regexp.MustCompile(`\$\{templateOption:\s*(\w+?)\s*\}`)   // as the reference CLI replaces it
	anyOption      = regexp.MustCompile(`\$\{templateOption:\s*([^}]*?)\s*\}`) // as somebody may have meant it
	wholeVersion   = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
)

// conflicted replaces the syntax error that a conflict marker causes by what
// it is.
func conflicted(src []byte, doc *jsonc.Document, findings []diag.Finding) []diag.Finding {
	if doc != nil || len(findings) != 1 || !bytes.Contains(src, []byte("<<<<<<<")) && !bytes.Contains(src, []byte(">>>>>>>")) {
		return findings
	}
	at := conflictMarker.FindIndex(src)
	if at == nil {
		return findings
	}
	return []diag.Finding{jsonc.Text(findings[0].File, src).Finding(at[0], at[1], diag.Finding{Rule: "SBX903", Severity: diag.SeverityError,
		Message: "a conflict was left in the file", Hint: "keep one side and remove the markers"})}
}

// identity compares what a Template or Feature is called with where it lies.
func (c *pass) identity() {
	if id, ok := c.root.Member("id").Str(); ok && c.folder != "" && id != c.folder {
		c.at(c.root.Member("id"), "SBX909", fmt.Sprintf("the id %q is not the folder's name %q", id, c.folder), "give both the same name")
	}
	if v, ok := c.root.Member("version").Str(); ok && !wholeVersion.MatchString(v) {
		c.at(c.root.Member("version"), "SBX909", fmt.Sprintf("%q is no semantic version", v), "write three numbers, such as 1.0.0")
	}
}

// template judges a Template's metadata, its use of options, and what becomes
// of its configuration for each choice.
func (c *pass) template() {
	c.check(c.root, templateShape)
	options := c.root.Member("options")
	c.options(options, false)
	c.identity()
	if options != nil && options.Kind == jsonc.Object {
		for _, m := range options.Members {
			if !regexp.MustCompile(`^\w+$`).MatchString(m.Name) {
				c.name(m, "SBX904", fmt.Sprintf("the option %q can be used nowhere", m.Name), "letters, digits and _ only")
			}
			if d := m.Value.Member("default"); d != nil && d.Kind == jsonc.Bool {
				if kind, _ := m.Value.Member("type").Str(); kind != "string" {
					c.at(d, "SBX905", fmt.Sprintf("the default of %s is no text", m.Name), fmt.Sprintf("write %q", d.Text))
				}
			}
		}
	}
	if c.Tree == nil {
		return
	}
	files := c.templateFiles(c.Dir, nil)
	c.optionUse(options, files)
	c.optionalPaths(files)
	if !slices.ContainsFunc(c.reports, func(r report) bool { return r.Severity == diag.SeverityError }) {
		c.renderings(options)
	}
}

// maxTemplateFiles bounds the walk over a Template's folder.
const maxTemplateFiles = 1000

func (c *pass) templateFiles(dir string, found []string) []string {
	for _, name := range c.Tree.List(dir) {
		full := path.Join(dir, name)
		switch c.Tree.Kind(full) {
		case Folder:
			if name != ".git" && name != "node_modules" {
				found = c.templateFiles(full, found)
			}
		case File:
			found = append(found, full)
		}
		if len(found) >= maxTemplateFiles {
			break
		}
	}
	return found
}

// optionUse compares the options that are declared with those that files use.
func (c *pass) optionUse(options *jsonc.Node, files []string) {
	used := map[string]bool{}
	for _, file := range files {
		if path.Base(file) == TemplateName {
			continue
		}
		src, err := c.Tree.Read(file)
		if err != nil || !bytes.Contains(src, []byte("${templateOption:")) {
			continue
		}
		doc := jsonc.Text(c.quoted(strings.TrimPrefix(file, c.Dir+"/")), src)
		c.also(doc)
		for _, m := range anyOption.FindAllSubmatchIndex(src, -1) {
			name := string(src[m[2]:m[3]])
			used[name] = true
			if options.Member(name) == nil {
				hint := "declare it in devcontainer-template.json"
				if options != nil {
					if best := diag.Suggest(name, optionNames(options)); best != "" {
						hint = fmt.Sprintf("did you mean %q?", best)
						used[best] = true // one slip, one finding
					}
				}
				c.in(doc, m[0], m[1], "", "SBX906", fmt.Sprintf("there is no option %q", name), hint)
			}
		}
	}
	if options == nil {
		return
	}
	for _, m := range options.Members {
		if !used[m.Name] {
			c.name(m, "SBX912", fmt.Sprintf("no file uses the option %q", m.Name), "use it, or remove it")
		}
	}
}

func optionNames(options *jsonc.Node) []string {
	var out []string
	for _, m := range options.Members {
		out = append(out, m.Name)
	}
	return out
}

// describing are the files of a Template that the reference CLI never applies.
var describing = []string{TemplateName, "README.md", "NOTES.md"}

func (c *pass) optionalPaths(files []string) {
	for _, n := range texts(c.root.Member("optionalPaths")) {
		name, below := strings.CutSuffix(n.Text, "/*")
		full := path.Join(c.Dir, name)
		switch {
		case slices.Contains(describing, n.Text):
			c.at(n, "SBX910", n.Text+" is never applied", "remove it from the list")
		case !slices.ContainsFunc(files, func(f string) bool { return f == full || below && strings.HasPrefix(f, full+"/") }):
			c.at(n, "SBX910", n.Text+" names no file of the Template", `write a file, or a folder as "FOLDER/*"`)
		}
	}
}

// renderings judges the Template's configuration with the defaults and with
// each listed value of each option.
func (c *pass) renderings(options *jsonc.Node) {
	for _, name := range places(c.Tree, c.Dir) {
		src, err := c.Tree.Read(name)
		if err != nil {
			continue
		}
		defaults := map[string]string{}
		if options != nil {
			for _, m := range options.Members {
				defaults[m.Name] = m.Value.Member("default").TextOr("")
			}
		}
		if c.rendered(name, src, defaults, c.root.Member("id"), "with the defaults") || options == nil {
			continue
		}
		for _, m := range options.Members {
			values := append(texts(m.Value.Member("enum")), texts(m.Value.Member("proposals"))...)
			for _, v := range values {
				if v.Text == defaults[m.Name] {
					continue
				}
				choice := map[string]string{}
				for k, d := range defaults {
					choice[k] = d
				}
				choice[m.Name] = v.Text
				c.rendered(name, src, choice, v, fmt.Sprintf("with %s = %q", m.Name, v.Text))
			}
		}
	}
}

// rendered reports, at n, what is wrong with one choice of options.
func (c *pass) rendered(name string, src []byte, choice map[string]string, n *jsonc.Node, how string) (bad bool) {
	out := templateOption.ReplaceAllStringFunc(string(src), func(s string) string {
		return choice[templateOption.FindStringSubmatch(s)[1]]
	})
	p := Parse(name, []byte(out))
	if p.object() == nil {
		before := Parse(name, src)
		if before.object() == nil {
			return true // the file itself is broken, and is judged as such
		}
		c.at(n, "SBX908", fmt.Sprintf("%s %s is not well formed", path.Base(name), how), "values are put in as they are: no quotes, backslashes or line breaks")
		return true
	}
	inner := newPass(p)
	inner.run()
	for _, r := range inner.reports {
		if r.Severity == diag.SeverityError && (r.Rule[3] == '1' || r.Rule[3] == '2' || r.Rule[3] == '3') {
			c.at(n, "SBX907", fmt.Sprintf("%s %s: %s [%s]", path.Base(name), how, r.Message, r.Rule), r.Hint)
			return true
		}
	}
	return false
}
