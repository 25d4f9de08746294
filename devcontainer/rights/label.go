package rights

import (
	"regexp"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// MetadataLabel is the label of an image or a container that holds metadata: the
// properties of one or several configurations, as JSON.
const MetadataLabel = "devcontainer.metadata"

// byDefault matches a variable of a build with a default.
var byDefault = regexp.MustCompile(`\$\{\w+:?-([^}]*)\}`)

// labels reads the metadata of labels that the configuration's own files give the dev
// container: by LABEL, by a service's labels and its build's, by --label. Tools obey
// that of a container that exists when they attach to it once more, hooks, variables
// and extensions among it (measured with the reference CLI 0.89: of the Dockerfile's
// label nothing counts at the first start). A configuration that names the image gets all
// of it.
func (l *lister) labels() {
	if l.Stage != nil {
		for _, i := range l.Stage.History() {
			c, ok := i.Command.(*instructions.LabelCommand)
			if !ok {
				continue
			}
			for _, kv := range c.Labels {
				key := Variable.ReplaceAllString(byDefault.ReplaceAllString(i.Expand(kv.Key), "$1"), "")
				if strings.Trim(key, `"'`) == MetadataLabel {
					l.label(byDefault.ReplaceAllString(i.Expand(kv.Value), "$1"), Place{Doc: l.Dockerfile, Start: i.Start, End: i.HeadEnd})
				}
			}
		}
	}
	for _, a := range append(l.Build[:len(l.Build):len(l.Build)], l.Args...) {
		if text, ok := strings.CutPrefix(a.Value, MetadataLabel+"="); ok && a.Flag == "label" {
			l.label(text, placeOf(l.Config, a.Node))
		}
	}
	if l.Service == nil {
		return
	}
	for _, n := range []*compose.Node{l.Service.Get("build").Get("labels"), l.Service.Get("labels")} {
		for _, v := range n.Variables() {
			if v.Name == MetadataLabel {
				l.label(v.Value, nodePlace(v.Node))
			}
		}
	}
}

// label reads the text of one: an object, or a list of them. Tools ignore one that is not
// well formed.
func (l *lister) label(text string, at Place) {
	doc, _ := jsonc.Parse(at.Doc.File, []byte(text))
	if doc == nil {
		return
	}
	if l.Fill != nil {
		l.Fill(doc.Root)
	}
	for _, n := range append([]*jsonc.Node{doc.Root}, doc.Root.Elements...) {
		if n.Kind == jsonc.Object {
			l.add(Right{Kind: Labelled, Node: n, Notation: Label, Place: at})
			l.metadata(doc, n, Right{Notation: Label, Place: at})
		}
	}
}
