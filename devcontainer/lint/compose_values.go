package lint

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/budget"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// changedValues reports values of Compose files that reach the container otherwise than they are written.
func changedValues(v *rule.View) (out []rule.Finding) {
	if v.Composed == nil || !v.ByCompose() {
		return nil
	}
	comparing := budget.New(maxCompared)
	for _, s := range v.Composed.Project.Services() {
		own := s.Get("environment").Variables()
		for _, variable := range slices.Concat(own, s.Get("build").Get("args").Variables()) {
			if f := changedValue(variable); f.Message != "" {
				out = append(out, f)
			}
		}
		out = append(out, filledByHost(s, own, comparing)...)
	}
	return append(out, slices.Concat(dollarsInEnvFile(v), otherEnvFile(v))...)
}

// written is the source of a value. A text in a block is all lines that are indented as deep.
func written(n *compose.Node) string {
	text := string(n.Doc.Src[n.Start:n.End])
	if !strings.HasPrefix(text, "|") && !strings.HasPrefix(text, ">") {
		return text
	}
	rest := string(n.Doc.Src[n.End:min(len(n.Doc.Src), n.End+(64<<10))])
	end := 0
	for line := range strings.Lines(rest) {
		if trimmed := strings.TrimLeft(line, " "); strings.TrimSpace(line) != "" && len(line)-len(trimmed) < 4 && end > 0 || end > 4<<10 {
			break
		}
		end += len(line)
	}
	return rest[:end]
}

var (
	// ofSecret matches names of variables whose value may have any character.
	ofSecret = lazyregexp.New(`(?i)pass|secret|token|pwd|key|_ur[il]$`)
	// gluedDollar matches a dollar sign within a word, with the name that Compose takes for a variable's.
	gluedDollar = lazyregexp.New(`[A-Za-z0-9!@#%^&*]\$([a-z][A-Za-z0-9_]*)`)
)

// changedValue is about one variable of a service; its message is "" when the value stays as it is.
func changedValue(variable compose.Variable) (f rule.Finding) {
	n := variable.Node
	if !variable.Set || n.Doc == nil {
		return f
	}
	text, value := string(n.Doc.Src[n.Start:n.End]), variable.Value
	listed := strings.HasPrefix(text, variable.Name+"=")
	switch {
	case listed && len(value) > 1 && strings.Trim(value[:1], `"'`) == "" && value[0] == value[len(value)-1]:
		return rule.AtCompose(n, "the quotes are a part of the value here", fmt.Sprintf(`put them around all of it: "%s=…"`, variable.Name))
	case listed && strings.TrimSpace(variable.Name) != variable.Name, listed && strings.HasPrefix(value, " "):
		return rule.AtCompose(n, "the spaces around = are a part of the name and of the value", "take them out")
	case !listed && text == value && !strings.Contains(text, "_") && number(n.Type(), text) != text:
		return rule.AtCompose(n, fmt.Sprintf("YAML reads the number %s here, and passes it for %s", number(n.Type(), text), text),
			"put it into quotes")
	}
	if m := gluedDollar.FindStringSubmatch(text); m != nil && ofSecret.MatchString(variable.Name) && strings.Contains(value, "$"+m[1]) &&
		!strings.HasPrefix(text, "'$") {
		return rule.AtCompose(n, fmt.Sprintf("Compose takes $%s for a variable, and nothing sets it", m[1]), "write $$ for a dollar sign")
	}
	return f
}

// number is a number as Compose writes it; text of another type stays as it is.
func number(kind, text string) string {
	switch plain := strings.ReplaceAll(text, "_", ""); kind {
	case "int":
		if n, err := strconv.ParseInt(plain, 0, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
	case "float":
		if n, err := strconv.ParseFloat(plain, 64); err == nil {
			return fmt.Sprint(n)
		}
	}
	return text
}

// shellName matches a variable without a default, as a shell and Compose write it, and an escaped dollar sign.
var shellName = lazyregexp.New(`\$\$|\$\{?([A-Za-z_]\w*)(\}|\b)`)

// filledByHost reports a command or a health check that means a variable of its service: Compose fills in the host's.
func filledByHost(s *compose.Service, own []compose.Variable, comparing *budget.Budget) (out []rule.Finding) {
	set := map[string]bool{}
	for _, variable := range own {
		if variable.Set && !fromHost(variable) {
			set[variable.Name] = true
		}
	}
	if len(set) == 0 {
		return nil
	}
	for _, n := range []*compose.Node{s.Get("healthcheck").Get("test"), s.Get("command"), s.Get("entrypoint")} {
		for _, item := range n.Scalars() {
			if !strings.Contains(item.Text, "$") {
				continue
			}
			text := written(item)
			for _, m := range shellName.FindAllStringSubmatchIndex(text, -1) {
				if m[2] < 0 {
					continue
				}
				name := text[m[2]:m[3]]
				braced := text[m[0]+1] == '{'
				if set[name] && braced == (text[m[1]-1] == '}') && comparing.Spend(len(item.Text)) && strings.Contains(item.Text, text[m[0]:m[1]]) {
					message := fmt.Sprintf("Compose fills in the host's %s, which may be empty, and not that of %s", name, s.Name)
					out = append(out, rule.AtCompose(item, message, fmt.Sprintf("write $$%s", name)))
					break
				}
			}
		}
	}
	return out
}

// namesSet are the names in front of = in the lines of a .env.
func namesSet(src []byte) map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(string(src)) {
		if name, _, ok := strings.Cut(line, "="); ok {
			out[name] = true
		}
	}
	return out
}

// dollarsInEnvFile reports a value of .env that Compose cuts at a dollar sign.
func dollarsInEnvFile(v *rule.View) (out []rule.Finding) {
	doc := v.Readable(path.Join(path.Dir(v.Composed.First), ".env"))
	if doc == nil || !strings.Contains(string(doc.Src), "$") {
		return nil
	}
	at, names := 0, namesSet(doc.Src)
	for line := range strings.Lines(string(doc.Src)) {
		name, value, ok := strings.Cut(line, "=")
		m := gluedDollar.FindStringSubmatch(value)
		isSecret := ok && ofSecret.MatchString(name) && !strings.HasPrefix(strings.TrimSpace(name), "#") && !strings.HasPrefix(value, "'")
		if m != nil && isSecret && !names[m[1]] {
			v.Also(doc)
			out = append(out, rule.Finding{Place: rights.Place{Doc: doc, Start: at, End: at + len(strings.TrimRight(line, "\r\n"))},
				Message: fmt.Sprintf("Compose takes $%s for a variable, and nothing sets it", m[1]), Hint: "put the value into single quotes"})
		}
		at += len(line)
	}
	return out
}

// otherEnvFile reports a variable of a Compose file that is in the .env of the project's folder, while Compose reads the one
// next to its first file.
func otherEnvFile(v *rule.View) []rule.Finding {
	folder := path.Join(v.Dir, path.Dir(v.Composed.First))
	if v.Tree == nil || folder == v.Home || v.Root.Member("initializeCommand") != nil {
		return nil
	}
	name := path.Join(v.Home, ".env")
	if v.Tree.Kind(name) != devcontainer.File || devcontainer.HasEntry(v.Tree, path.Join(folder, ".env")) {
		return nil
	}
	src, err := v.Tree.Read(name)
	if err != nil || len(src) > maxEnvFiles {
		return nil
	}
	var found []rule.Finding
	names := namesSet(src)
	v.Composed.Project.Root.Walk(func(n *compose.Node) {
		if len(found) > 0 || !strings.Contains(n.Text, "$") {
			return
		}
		text := written(n)
		for _, m := range shellName.FindAllStringSubmatchIndex(text, -1) {
			if m[2] >= 0 && names[text[m[2]:m[3]]] && strings.Contains(n.Text, text[m[0]:m[1]]) &&
				(text[m[0]+1] == '{') == (text[m[1]-1] == '}') {
				found = []rule.Finding{rule.AtCompose(n,
					fmt.Sprintf("%s is empty here: Compose reads the .env next to its first file, not that of the project", text[m[2]:m[3]]),
					"move .env there, or give the variable a default: ${NAME:-value}")}
				return
			}
		}
	})
	return found
}
