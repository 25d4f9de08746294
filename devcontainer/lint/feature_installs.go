package lint

import (
	"fmt"
	"path"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// maxInstalls bounds the scripts of Features that are read for what one of them brings to another.
const maxInstalls = 10

// install is the script of a Feature of the project, which root runs in the Feature's own folder.
type install struct {
	folder string // in the tree
	doc    *jsonc.Document
	step   *dockerfile.Instruction
}

// localInstalls returns the scripts of the project's Features. Others may bring anything: known is then false, and so it is
// where there are too many.
func localInstalls(v *rule.View) (out []install, known bool) {
	all := rule.Once(v, "scripts of Features", func(v *rule.View) installs {
		list, known := readInstalls(v)
		return installs{list, known}
	})
	return all.list, all.known
}

// installs are the scripts of a configuration.
type installs struct {
	list  []install
	known bool
}

func readInstalls(v *rule.View) (out []install, known bool) {
	list := v.Root.Member("features").Fields()
	known = v.Kind() == devcontainer.ConfigFile && v.Tree != nil && len(list) <= maxInstalls
	for _, m := range list {
		if len(out) == maxLocalFeatures {
			return out, false
		}
		name := path.Join(m.Name, "install.sh")
		full, inside := v.Path(name)
		doc := v.FeatureMetadata(m.Name)
		if !rights.IsLocal(m.Name) || !inside || doc == nil || len(doc.Root.Member("dependsOn").Fields()) > 0 {
			known = false
			continue
		}
		if doc = v.Readable(name); doc == nil || len(doc.Src) > dockerfile.MaxSize {
			known = false
			continue
		}
		step := dockerfile.Script(doc.File, doc.Src).Stages[0].Instructions[0]
		known = known && !step.Unread
		out = append(out, install{path.Dir(full), doc, step})
	}
	return out, known
}

// programsOfInstalls reports programs that a Feature's script calls and that neither the image nor another Feature has.
func programsOfInstalls(v *rule.View, p *programs) (out []rule.Finding) {
	all, known := localInstalls(v)
	for n, in := range all {
		here := p.inherited()
		here.any = here.any || !known
		for other := range all {
			if !known || other == n {
				continue
			}
			for _, cmd := range all[other].step.Commands {
				here.run(cmd)
			}
		}
		for _, cmd := range in.step.Commands {
			f := here.missing(cmd)
			may := here.any || here.unknown || here.brought["sudo"]
			if lacks, sure := here.known.LacksSudo(); lacks && sure && !may && f.Message == "" {
				f = sudoOfInstall(in.step, cmd, here.image)
			}
			if f.Message != "" {
				v.Also(in.doc)
				f.Place = rights.Place{Doc: in.doc, Start: cmd.Words[0].Start, End: cmd.Words[0].End}
				out = append(out, f)
			}
			here.run(cmd)
		}
	}
	return out
}

// sudoOfInstall is the finding, without its place, about a command that sudo runs.
func sudoOfInstall(step *dockerfile.Instruction, cmd *shell.Command, image string) (f rule.Finding) {
	if _, ok := sudoWord(step, cmd); !ok || cmd.OnFailure == shell.Open {
		return f
	}
	f = rule.Finding{Message: fmt.Sprintf("%s has no sudo, and root runs install.sh anyway", image), Hint: "leave it out"}
	if cmd.OnFailure == shell.Unheard {
		f.Severity = diag.SeverityWarning
		f.Message += "; the script goes on without it"
	}
	return f
}

// filesOfInstalls reports files that a Feature's script copies, reads or runs, and that the Feature does not have.
func filesOfInstalls(v *rule.View) (out []rule.Finding) {
	all, _ := localInstalls(v)
	for _, in := range all {
		times := namesIn(in.step.Source())
		for _, cmd := range in.step.Commands {
			name, at := fileOfInstall(cmd)
			full := path.Join(in.folder, name)
			asked := name != "" && cmd.OnFailure != shell.Open && times[path.Clean(name)] == 1
			if asked && !devcontainer.LeavesTree(full) && v.Tree.Kind(full) == devcontainer.Nothing && !devcontainer.HasEntry(v.Tree, full) {
				v.Also(in.doc)
				f := rule.Finding{Place: rights.Place{Doc: in.doc, Start: at.Start, End: at.End},
					Message: fmt.Sprintf("the Feature has no file %s", name), Hint: "install.sh runs in the Feature's own folder"}
				if cmd.OnFailure == shell.Unheard {
					f.Severity = diag.SeverityWarning
				}
				out = append(out, f)
			}
			if cmd.Is(before...) && !cmd.Is("echo", "printf", "cat") && name == "" {
				break // it may make files here, or go elsewhere
			}
		}
	}
	return out
}

// namesIn counts the words of a script that may be paths: a file that is named twice may be made by one of the two.
func namesIn(script string) map[string]int {
	times := map[string]int{}
	for _, word := range strings.FieldsFunc(script, func(c rune) bool { return strings.ContainsRune(" \t\r\n\"'`;|&<>()=", c) }) {
		times[path.Clean(word)]++
	}
	return times
}

// fileOfInstall returns a file that a command cannot do without, by its path from the folder that it runs in; "" for none.
func fileOfInstall(cmd *shell.Command) (name string, at shell.Word) {
	words := cmd.Operands()
	switch {
	case cmd.Is("cp", "mv", "install") && len(words) == 2 && !hasFlag(cmd, "-d", "-t", "-m", "-o", "-g"):
		at = words[0]
	case (cmd.Is("source", ".") || cmd.Is("sh", "bash") && !hasFlag(cmd, "-c", "-s", "-o")) && len(words) > 0:
		at = words[0]
	case strings.HasPrefix(cmd.Words[0].Text, "./"):
		at = cmd.Words[0]
	default:
		return "", at
	}
	if name = at.Text; !at.Literal || path.IsAbs(name) || strings.ContainsAny(name, "*?[{~$<>") || name == "" || strings.HasPrefix(name, "-") {
		return "", at
	}
	return name, at
}
