package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/command"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// unseen reports what a policy was not compared with: files that options name, and texts that tools read as more than they say.
func unseen(v *rule.View) (out []rule.Finding) {
	if v.Org == nil {
		return nil
	}
	for _, a := range slices.Concat(v.BuildArgs, v.RunArgs) {
		if a.Flag == "file" || a.Flag == "label-file" {
			out = append(out, v.AtValue(a.Node, fmt.Sprintf("--%s names a file that is not checked", a.Flag), hintUnchecked))
		}
	}
	said := map[string]bool{} // by unchecked itself
	for _, f := range localFeatures(v) {
		said[f.Name] = f.known
	}
	for _, r := range v.Of(rights.Installed) {
		if rights.IsLocal(r.Name) && r.Node == nil && !said[r.Name] {
			out = append(out, v.AtFeature(r, introduced(r)+" is not checked: there is no devcontainer-feature.json for it", hintUnchecked))
		}
	}
	out = append(out, unseenOfCompose(v)...)
	out = append(out, brokenTexts(v)...)
	return append(out, unseenOfDockerfile(v)...)
}

// unseenOfCompose reports files that only Compose reads.
func unseenOfCompose(v *rule.View) (out []rule.Finding) {
	if v.Composed == nil {
		return nil
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
	for _, p := range v.Composed.Project.Chosen {
		out = append(out, rule.Finding{Place: rights.Place{Doc: p.Doc, Start: p.Start, End: p.End},
			Message: p.Message + ": what another one says is not checked", Hint: "write the name without a variable"})
	}
	for _, name := range []string{"COMPOSE_DISABLE_ENV_FILE", "COMPOSE_ENV_FILES"} {
		if _, set := v.Composed.Project.Variable(name); set {
			out = append(out, v.AtMissing(v.Root.Member("dockerComposeFile"), fmt.Sprintf(".env sets %s: Compose takes its variables from "+
				"elsewhere, and they are not checked", name), "take it out of .env"))
		}
	}
	return out
}

// unseenBuild is the build of a service whose Dockerfile was not compared with the policy's registries, because it is not one of the
// project's files; nil for another one.
func unseenBuild(v *rule.View, s *compose.Service) *compose.Node {
	b := s.Get("build")
	context, _, _, builds := s.Build()
	if why, _ := v.Org.Unclear("registries", ""); why == "" || !builds || b.Get("dockerfile_inline") != nil {
		return nil
	}
	if b.Varies() || b.Get("context").Varies() || b.Get("dockerfile").Varies() {
		return b
	}
	if serviceDockerfile(v, s) != "" || remoteSource.MatchString(context) {
		return nil
	}
	return b
}

var (
	// ofTheCLI matches variables that the reference CLI fills in, and folders whose names rules know.
	ofTheCLI = lazyregexp.New(`\$\{(?:localEnv|env|localWorkspaceFolder|containerWorkspaceFolder|devcontainerId)[^}]*\}|` +
		`\$\{(?:HOME|PWD)\}|\$HOME`)
	// variableName matches a name that ENV and Compose take for one.
	variableName = lazyregexp.New(`^[\w.-]+$`)
)

// inOneLine are the properties whose texts go into lines of files that the reference CLI 0.89 makes.
var inOneLine = strings.Fields("image dockerFile context build mounts workspaceMount capAdd securityOpt containerUser remoteUser service " +
	"runServices workspaceFolder appPort")

// brokenTexts reports texts that the reference CLI writes as they are into a Dockerfile or a Compose file, where they are more than one.
func brokenTexts(v *rule.View) (out []rule.Finding) {
	const hint = "leave line breaks and signs out that have a meaning in Dockerfiles and in YAML"
	for _, name := range inOneLine {
		v.Root.Member(name).Walk(func(n *jsonc.Node) {
			if n.Kind == jsonc.String && strings.ContainsAny(n.Text, "\n\r") {
				out = append(out, v.AtValue(n, "what stands behind the line break is not checked", hint))
			}
		})
	}
	for _, m := range v.Root.Member("features").Fields() {
		if strings.ContainsAny(m.Name, "\n\r") {
			out = append(out, v.AtName(m, "what stands behind the line break is not checked", hint))
		}
	}
	for _, r := range v.Rights {
		ofCompose := r.Notation == rights.Compose || r.Notation == rights.Option
		switch {
		case ofCompose:
		case r.Kind == rights.Env && !variableName.MatchString(r.Name):
			out = append(out, v.PolicyFinding(r, fmt.Sprintf("%q is no name of a variable: what the tools make of it is not checked", r.Name), hint))
		case v.ByCompose() && !isPlain(writtenByCLI(r)):
			out = append(out, v.PolicyFinding(r, "the reference CLI writes it into a Compose file as it is, where it means more than it says; "+
				"it is not checked", hint))
		}
	}
	return out
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

// isPlain reports whether YAML and Compose take a text without quotes for that text.
func isPlain(s string) bool {
	if s == "" {
		return true
	}
	comment, key := strings.Contains(s, " #"), strings.Contains(s, ": ")
	return !strings.ContainsAny(s, "\n\r\u0085\u2028\u2029") && !comment && !key && !strings.ContainsAny(s[:1], "-?,[]{}#&*!|>'\"%@`") &&
		!strings.Contains(ofTheCLI.ReplaceAllString(s, ""), "$")
}

// harmlessTrigger matches instructions of ONBUILD that take nothing from images and set nothing.
var harmlessTrigger = lazyregexp.New(`(?i)^\s*(?:RUN\s+[^-\s]|CMD|ENTRYPOINT|WORKDIR|EXPOSE|STOPSIGNAL|(?:COPY|ADD)\s+[^-\s])`)

// variesAsMetadata reports whether a label may be the one with metadata, and a variable decides that or what it says.
func variesAsMetadata(kv instructions.KeyValuePair) bool {
	return strings.Contains(kv.Key, "$") || strings.Trim(kv.Key, `"'`) == rights.MetadataLabel && strings.Contains(kv.Value, "$")
}

// unseenOfDockerfile reports lines that other builders than BuildKit, or the Dockerfile that the reference CLI makes, read otherwise.
func unseenOfDockerfile(v *rule.View) (out []rule.Finding) {
	if v.Build == nil {
		return nil
	}
	if escape := dockerfile.Escape(v.Build.File.Doc.Src); escape != `\` {
		out = append(out, v.AtDockerfile(0, 0, "the reference CLI writes lines above this file, so that # escape is a comment: "+
			"what the lines then say is not checked", "leave # escape out"))
	}
	stages := v.Build.File.Stages
	for _, s := range stages[:max(0, len(stages)-1)] { // which others may start from
		for _, i := range s.Instructions {
			if c, ok := i.Command.(*instructions.OnbuildCommand); ok && !harmlessTrigger.MatchString(c.Expression) {
				out = append(out, v.AtDockerfile(i.Start, i.HeadEnd, "what ONBUILD does in a later stage is not checked",
					"write the instruction where it counts"))
			}
		}
	}
	for _, i := range v.Build.Instructions() {
		if c, ok := i.Command.(*instructions.LabelCommand); ok && slices.ContainsFunc(c.Labels, variesAsMetadata) {
			out = append(out, v.AtDockerfile(i.Start, i.HeadEnd, "a label with metadata depends on a variable, and is not checked",
				"write it without variables"))
		}
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
