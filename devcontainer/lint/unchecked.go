package lint

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/command"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

const (
	hintUnchecked = "make it a file that can be read here, or leave it out; nothing is known about what it says"
	hintTooMuch   = "shorten it; nothing is known about the rest"
)

// unchecked reports what was not looked at.
func unchecked(v *rule.View) (out []rule.Finding) {
	for _, g := range v.Gaps {
		f := v.AtMissing(g.Node, g.Message, hintUnchecked)
		f.Severity = g.Severity
		out = append(out, f)
	}
	for _, u := range unreadFiles(v) {
		if !u.missing {
			out = append(out, u.Finding)
		}
	}
	isConfig := v.Kind() == devcontainer.ConfigFile
	if n := v.Root.Member("dockerComposeFile"); isConfig && n != nil && n.Kind == jsonc.Array && len(n.Elements) == 0 {
		out = append(out, v.AtValue(n, "the list is empty: Compose looks for docker-compose.yml, its override and .env, and they are not checked",
			"name the files"))
	}
	tooMany := ""
	if v.TooMuchBrought() {
		tooMany = fmt.Sprintf("volumes_from and dependsOn bring more than %d mounts and Features", devcontainer.MaxBrought)
	}
	switch {
	case v.Composed != nil:
		if why := cmp.Or(v.Composed.Project.Incomplete(), tooMany); why != "" && len(v.Compose) > 0 {
			out = append(out, rule.Finding{Place: rights.Place{Doc: v.Compose[0]}, Message: why + ": a part of it is not checked",
				Hint: hintTooMuch})
		}
	case tooMany != "":
		out = append(out, v.AtMissing(v.Root.Member("features"), tooMany+": a part of them is not checked", hintTooMuch))
	}
	out = append(out, elsewhereNamed(v)...)
	if v.Build != nil {
		if why := v.Build.File.Incomplete(); why != "" {
			out = append(out, v.AtDockerfile(0, 0, why+": a part of it is not checked", hintTooMuch))
		}
	}
	for _, f := range localFeatures(v) {
		if f.known && v.LocalFeature(f.Name) == nil {
			out = append(out, v.AtName(f.Member, fmt.Sprintf("the Feature %s is not checked: its devcontainer-feature.json cannot be read, "+
				"is larger than %d bytes or not well formed", f.Name, jsonc.MaxSize),
				"sbx-devc validate "+f.Name+" says where; nothing is known about the rights that it brings"))
		}
	}
	for _, r := range v.Of(rights.HostCommand, rights.Hook) {
		v.EachCommand(r.Node, func(*jsonc.Node, *shell.Command) {})
		r.Node.Walk(func(n *jsonc.Node) {
			if v.Commands[n].Cut {
				r.Place = r.At(n)
				out = append(out, v.PolicyFinding(r, "these commands are too many or too deeply nested to be checked", "put them into a script"))
			}
		})
	}
	return out
}

// elsewhereNamed reports what a policy was not compared with: files that options name, and lines that a builder without BuildKit reads as
// instructions.
func elsewhereNamed(v *rule.View) (out []rule.Finding) {
	if v.Org == nil {
		return nil
	}
	for _, a := range slices.Concat(v.BuildArgs, v.RunArgs) {
		if a.Flag == "file" || a.Flag == "label-file" {
			out = append(out, v.AtValue(a.Node, fmt.Sprintf("--%s names a file that is not checked", a.Flag), hintUnchecked))
		}
	}
	for _, s := range v.ComposeServices() {
		for _, n := range s.Get("label_file").Scalars() {
			out = append(out, rule.AtCompose(n, "label_file names a file that is not checked", hintUnchecked))
		}
		if n := unseenBuild(v, s); n != nil {
			out = append(out, rule.AtCompose(n, fmt.Sprintf("the Dockerfile of %s lies outside the project, or a variable names it; "+
				"it is not checked", s.Name), hintUnchecked))
		}
	}
	for _, r := range v.Rights {
		if v.ByCompose() && r.Notation != rights.Compose && !isPlain(writtenByCLI(r)) {
			out = append(out, v.PolicyFinding(r, "the reference CLI writes it into a Compose file as it is, where it means more than one value; "+
				"it is not checked", "leave line breaks and YAML's own characters out"))
		}
	}
	for _, i := range v.Build.Instructions() {
		for _, d := range i.Documents {
			word, _, _ := strings.Cut(strings.ToLower(d.Name), " ")
			if _, instruction := command.Commands[word]; instruction {
				out = append(out, v.AtDockerfile(i.Start, i.HeadEnd, fmt.Sprintf("a builder without BuildKit reads the lines before %q as "+
					"instructions, which are not checked", d.Name), "end it with a word of its own, such as EOF"))
			}
		}
	}
	return out
}

// unseenBuild is the build of a service whose Dockerfile was not compared with the policy's registries, because it is not one of the
// project's files; nil for another one.
func unseenBuild(v *rule.View, s *compose.Service) *compose.Node {
	b := s.Get("build")
	context, file, _, builds := s.Build()
	if !builds || b.Get("dockerfile_inline") != nil || serviceDockerfile(v, s) != "" || remoteSource.MatchString(context) {
		return nil
	}
	why, _ := v.Org.Unclear("registries", "")
	varies := strings.Contains(context+file, "$")
	if why == "" || varies && v.Org.Entries("registries", "allow") == nil { // what is forbidden is looked for where it is not set
		return nil
	}
	return b
}

// writtenByCLI is the text of a right that the reference CLI 0.89 writes into a Compose file without quotes; "" for others.
func writtenByCLI(r rights.Right) string {
	switch r.Kind {
	case rights.Capability, rights.SecurityOpt, rights.User:
		return r.Value
	case rights.Mounted:
		return r.Mount.Source + ":" + r.Mount.Target
	}
	return ""
}

// isPlain reports whether YAML takes a text without quotes for that text.
func isPlain(s string) bool {
	return s == "" || !strings.ContainsAny(s, "\n\r\u0085\u2028\u2029") && !strings.Contains(s, " #") && !strings.Contains(s, ": ") &&
		!strings.ContainsAny(s[:1], "-?,[]{}#&*!|>'\"%@`")
}

// unreadFile is a file that a Compose file names and that is not there or cannot
// be read. One that lies outside the project is a warning, as for devcontainer.json.
type unreadFile struct {
	rule.Finding
	missing bool // Compose refuses to start without it
}

func unreadFiles(v *rule.View) (out []unreadFile) {
	if v.Composed == nil {
		return nil
	}
	add := func(n *compose.Node, message string, missing bool) {
		f := rule.AtCompose(n, message+"; it is not checked", hintUnchecked)
		if missing {
			f = rule.AtCompose(n, message, "Compose refuses to start without it; it is looked for relative to its Compose file")
		}
		out = append(out, unreadFile{f, missing})
	}
	for _, u := range v.Composed.Project.Unread {
		add(&compose.Node{Doc: u.Doc, Start: u.Start, End: u.End}, u.Message, u.Cause == compose.Missing)
		switch f := &out[len(out)-1]; u.Cause {
		case compose.Remote: // SBX612 asks for a pin; like an image, it is not looked into
			f.Severity, f.Hint = diag.SeverityNote, ""
		case compose.Outside:
			f.Severity = diag.SeverityWarning
		}
	}
	seen := map[string]bool{}
	for _, s := range v.ComposeServices() {
		for _, f := range s.EnvFiles() {
			full := path.Join(v.Dir, path.Dir(v.Composed.First), f.Name)
			// One below the home folder or behind a variable is the host's.
			if v.Tree == nil || seen[f.Name] || strings.ContainsAny(f.Name, "$~") || path.IsAbs(f.Name) || devcontainer.LeavesTree(full) {
				continue
			}
			seen[f.Name] = true
			src, err := v.Tree.Read(full)
			switch why := v.Unreadable(full, src, err); {
			case why != "":
				add(f.Node, f.Name+" cannot be read: "+why, false)
			case err != nil && f.Required && !madeOnHost(v, f.Name):
				add(f.Node, "there is no file "+f.Name, true)
			}
		}
	}
	return out
}
