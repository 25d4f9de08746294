package lint

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// verbs are the words that managers of packages know, by apt 2.6 and 3.0 and the documentation of apk 2 and 3.
var verbs = map[string][]string{
	"apt-get": strings.Fields("update install upgrade dist-upgrade full-upgrade dselect-upgrade remove purge autoremove auto-remove " +
		"autopurge auto-purge clean autoclean auto-clean distclean dist-clean download source build-dep check changelog indextargets " +
		"satisfy reinstall markauto unmarkauto moo help"),
	"apt": strings.Fields("update install upgrade dist-upgrade full-upgrade remove purge autoremove auto-remove autopurge auto-purge clean " +
		"autoclean auto-clean distclean dist-clean download source build-dep list search show showsrc policy depends rdepends changelog " +
		"satisfy reinstall edit-sources modernize-sources why why-not moo help info history-list history-info history-undo history-redo " +
		"history-rollback showpkg stats dump check"),
	"apk": strings.Fields("add del update upgrade cache fetch info list search fix verify audit policy stats index manifest dot version " +
		"query extract mkndx mkpkg adbdump adbgen adbsign convndx"),
}

// verbRefused is about a word that a manager of packages does not know.
func verbRefused(c *atStep) refusal {
	known := verbs[c.Name()]
	words := c.Operands()
	at := slices.IndexFunc(words, func(w shell.Word) bool { return !strings.ContainsAny(w.Text, "=:/$") })
	if known == nil || at < 0 || !words[at].Literal || slices.Contains(known, words[at].Text) || at > 0 {
		return refusal{}
	}
	for _, w := range words { // an option may have its value in front of the verb
		if slices.Contains(known, w.Text) {
			return refusal{}
		}
	}
	hint := map[string]string{"apk": "write apk add", "apt": "write apt-get install", "apt-get": "write apt-get install"}[c.Name()]
	if best := nearest(words[at].Text, known); best != "" {
		hint = fmt.Sprintf("did you mean %q?", best)
	}
	return refusal{message: fmt.Sprintf("%s knows no %s", c.Name(), words[at].Text), hint: hint, warn: c.Is("apk")}
}

// listAsPackage is about a list of packages that pip takes for the name of one.
func listAsPackage(c *atStep) refusal {
	words := c.Operands()
	at := slices.IndexFunc(words, func(w shell.Word) bool { return strings.HasSuffix(w.Text, "requirements.txt") })
	if c.verb() != "install" || at < 1 || hasFlag(c.Command, "-r", "--requirement", "-c", "--constraint") {
		return pipRefuses(c)
	}
	return refusal{message: fmt.Sprintf("pip takes %s for the name of a package", words[at].Text), hint: "write -r in front of it"}
}

// newestNpm is about an npm that does not run with the Node.js of an image (npm 12 wants Node.js 22.22 or 24.15).
func newestNpm(c *atStep) refusal {
	words := c.Operands()
	newest := slices.ContainsFunc(words, func(w shell.Word) bool { return w.Text == "npm@latest" || w.Text == "npm" })
	major, err := strconv.Atoi(majorOfNode.FindString(strings.TrimPrefix(c.name, "node:")))
	old := err == nil && (major <= 20 || major == 21 || major == 23)
	if newest && hasFlag(c.Command, "-g", "--global") && old && c.official("node") && len(words) == 2 {
		return refusal{message: fmt.Sprintf("the newest npm does not run with the Node.js of %s, and npm refuses to install it", c.name),
			hint: "leave it out, or name a version for this Node.js, such as npm@10", warn: major < 18}
	}
	return endlessStep(c)
}

var majorOfNode = lazyregexp.New(`^\d+`)

// usualFolders are folders of official images in which nothing is.
var usualFolders = lazyregexp.New(`^/(opt|srv|app|data|workspace|workspaces|code)/`)

// mkdirRefuses is about a folder in one that is not there.
func mkdirRefuses(c *atStep) refusal {
	if !c.image.Official() || c.image.Family == "" || hasFlag(c.Command, "-p", "--parents") {
		return refusal{}
	}
	for _, w := range c.Operands() {
		parent := path.Dir(path.Clean(w.Text))
		below := w.Literal && usualFolders.MatchString(parent+"/") && strings.Count(parent, "/") > 1 && !strings.ContainsAny(w.Text, "$*{")
		if below && !c.before(parent) && !c.opaque() {
			return refusal{message: fmt.Sprintf("there is no folder %s yet, and mkdir makes one folder at a time", parent), hint: "write mkdir -p"}
		}
	}
	return refusal{}
}

// activateRefuses is about a file that a shell reads, and that is no program.
func activateRefuses(c *atStep) refusal {
	if !strings.HasSuffix(c.Words[0].Text, "/bin/activate") {
		return refusal{}
	}
	return refusal{message: "activate is no program: a shell reads it",
		hint: "write . in front of it, or call the programs of the environment by their path"}
}

// fileAsFolder is about a file that gets the name of the folder which the next instruction wants.
func fileAsFolder(v *rule.View, s *dockerfile.Stage, i *dockerfile.Instruction, c *instructions.CopyCommand,
	next *dockerfile.Instruction) []rule.Finding {
	workdir, ok := next.Command.(*instructions.WorkdirCommand)
	to := i.Expand(c.DestPath)
	plain := ok && c.From == "" && len(c.SourcePaths) == 1 && len(c.SourceContents) == 0 && path.IsAbs(to)
	if !plain || strings.HasSuffix(to, "/") || !within(path.Clean(i.Expand(workdir.Path)), path.Clean(to)) {
		return nil
	}
	context, known := buildContext(v)
	full := path.Join(context, path.Clean("/"+i.Expand(c.SourcePaths[0])))
	image, _ := baseimage.Of(s.Base().Image)
	if !known || v.Tree.Kind(full) != devcontainer.File || !image.Official() || strings.Contains(full, "*") {
		return nil
	}
	for _, before := range s.History() {
		if before == i {
			break
		}
		if strings.Contains(before.Source(), path.Clean(to)) {
			return nil
		}
	}
	start, end := i.FindBehind(i.Start+len("COPY"), c.DestPath)
	return []rule.Finding{v.AtDockerfile(start, end, fmt.Sprintf("this makes a file %s, and WORKDIR wants a folder of that name", to),
		fmt.Sprintf("end it with a slash: %s/", to))}
}
