package lsp

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/manual"
	"github.com/org/claude-sandbox/devcontainer/schema"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/schemas"
)

// fixAll is the kind of the action that corrects everything that is safe; an editor can
// run it when a file is saved.
const fixAll = "source.fixAll.sbx-devc"

// maxActions bounds the changes that are offered at once, for a whole file perhaps.
const maxActions = 100

type place struct {
	Document identifier `json:"textDocument"`
	Position position   `json:"position"`
}

// opened returns the file that a request is about, judged as it is now; nil when it is not open.
func (s *server) opened(id identifier) *open {
	if len(s.stale) > 0 {
		s.judgeStale()
	}
	name, _ := pathOf(id.URI)
	return s.texts[name]
}

// hover explains the findings at a place, or says what a property accepts.
func (s *server) hover(p place) (any, *replyError) {
	t := s.opened(p.Document)
	if t == nil {
		return nil, nil
	}
	at := span{p.Position, p.Position}
	var parts []string
	for _, f := range s.findings(t.name) {
		if r, ok := lint.LookupRule(f.Rule); ok && t.span(f).touches(at) && len(parts) < 5 {
			part := fmt.Sprintf("**%s %s** (%s): %s.\n\n%s", r.ID, r.Name, f.Severity, r.Title, r.Reason)
			if f.Hint != "" {
				part += "\n\nHint: " + diag.Unmasked(f.Hint) + "."
			}
			if good := r.Good.String(); len(good) < 600 {
				part += "\n\nRight:\n```\n" + strings.TrimSpace(good) + "\n```"
			}
			parts = append(parts, part+fmt.Sprintf("\n\n[More about %s](%s)", r.ID, manual.URI(r)))
		}
	}
	if accepts := acceptsOf(t.name); accepts != nil && len(parts) == 0 {
		where := cursorAt(t.Src, t.offset(p.Position))
		if where.known && len(where.path) > 0 {
			if accepted := accepts(where.path); accepted.What != "" {
				part := fmt.Sprintf("`%s`: %s.", where.path[len(where.path)-1], strings.TrimSuffix(accepted.What, "."))
				if len(accepted.Values) > 0 {
					part += " Accepted: `" + strings.Join(accepted.Values, "`, `") + "`."
				}
				parts = append(parts, part)
			}
		}
	}
	if len(parts) == 0 {
		return nil, nil
	}
	return map[string]any{"contents": map[string]string{"kind": "markdown", "value": strings.Join(parts, "\n\n---\n\n")}}, nil
}

// acceptsOf returns what says which names and values a file accepts; nil when nothing does.
func acceptsOf(name string) func(path []string) schema.Accepted {
	of := func(table schema.Table) func([]string) schema.Accepted {
		return func(path []string) schema.Accepted { return schema.Accepts(table, path) }
	}
	switch base := filepath.Base(name); {
	case base == devcontainer.FeatureName:
		return of(schema.FeatureTable)
	case base == devcontainer.TemplateName:
		return of(schema.TemplateTable)
	case devcontainer.IsConfiguration(name):
		return of(schema.ConfigTable)
	case schemas.Has(base):
		return func(path []string) schema.Accepted { return schema.Accepted(schemas.Accepts(base, path)) }
	}
	return nil
}

type textEdit struct {
	Range span   `json:"range"`
	Text  string `json:"newText"`
}

type completionItem struct {
	Label  string   `json:"label"`
	Kind   int      `json:"kind"`
	Detail string   `json:"detail,omitempty"`
	Filter string   `json:"filterText"`
	Edit   textEdit `json:"textEdit"`
}

// Kinds of completion items.
const (
	kindProperty = 10
	kindValue    = 12
)

// completion offers the names and values that may stand at a place.
func (s *server) completion(p place) (any, *replyError) {
	items := []completionItem{}
	t := s.opened(p.Document)
	if t == nil {
		return items, nil
	}
	accepts := acceptsOf(t.name)
	where := cursorAt(t.Src, t.offset(p.Position))
	if accepts == nil || !where.known {
		return items, nil
	}
	at := span{t.place(where.start), t.place(where.end)}
	if !where.atName {
		accepted := accepts(where.path)
		for _, value := range accepted.Values {
			items = append(items, completionItem{value, kindValue, accepted.What, value, textEdit{at, value}})
		}
		return items, nil
	}
	object := where.path[:len(where.path)-1]
	for _, name := range accepts(object).Names {
		if name == "additionalProperties" { // accepted for a slip of the official schema
			continue
		}
		if slices.Contains(where.names, name) {
			continue
		}
		what := accepts(append(slices.Clone(object), name)).What
		text := jsonc.Quote(name)
		if !where.hasValue {
			text += ": "
		}
		items = append(items, completionItem{name, kindProperty, what, jsonc.Quote(name), textEdit{at, text}})
	}
	return items, nil
}

type codeAction struct {
	Title       string         `json:"title"`
	Kind        string         `json:"kind"`
	Diagnostics []diagnostic   `json:"diagnostics,omitempty"`
	Preferred   bool           `json:"isPreferred,omitempty"`
	Edit        map[string]any `json:"edit"`
}

func editing(uri string, edits []textEdit) map[string]any {
	return map[string]any{"changes": map[string][]textEdit{uri: edits}}
}

// codeActions offers corrections of the findings in a range, a comment that excuses each,
// and all safe corrections of the file at once.
func (s *server) codeActions(p struct {
	Document identifier `json:"textDocument"`
	Range    span       `json:"range"`
	Context  struct {
		Only []string `json:"only"`
	} `json:"context"`
}) (any, *replyError) {
	actions := []codeAction{}
	t := s.opened(p.Document)
	if t == nil {
		return actions, nil
	}
	wants := func(kind string) bool {
		return len(p.Context.Only) == 0 || slices.ContainsFunc(p.Context.Only, func(only string) bool {
			return only == kind || strings.HasPrefix(kind, only+".")
		})
	}
	if j := s.judged[t.name]; j != nil && string(j.source) == string(t.Src) {
		for _, c := range j.corrections {
			if wants("quickfix") && len(actions) < maxActions && t.span(c.Finding).touches(p.Range) {
				actions = append(actions, codeAction{Title: titleOf(c), Kind: "quickfix", Preferred: c.Safe,
					Diagnostics: []diagnostic{t.diagnostic(c.Finding)}, Edit: editing(t.uri, t.edits(c.Edits))})
			}
		}
		if fixed := s.fixed(t); wants(fixAll) && fixed != nil {
			whole := textEdit{span{position{}, t.place(len(t.Src))}, string(fixed)}
			actions = append(actions, codeAction{Title: "Correct all that is safe (sbx-devc fix)", Kind: fixAll,
				Edit: editing(t.uri, []textEdit{whole})})
		}
	}
	if wants("quickfix") {
		for _, f := range s.findings(t.name) {
			if !t.span(f).touches(p.Range) || len(actions) >= maxActions {
				continue
			}
			if edit, ok := t.excuse(f); ok {
				actions = append(actions, codeAction{Title: fmt.Sprintf("Excuse %s here (a reason must follow)", f.Rule), Kind: "quickfix",
					Diagnostics: []diagnostic{t.diagnostic(f)}, Edit: editing(t.uri, []textEdit{edit})})
			}
		}
	}
	return actions, nil
}

// titleOf says what a correction does.
func titleOf(c lint.Proposal) (title string) {
	if c.Hint != "" {
		title = fmt.Sprintf("%s (%s)", diag.Unmasked(c.Hint), c.Rule)
	} else {
		title = fmt.Sprintf("Correct %s: %s", c.Rule, diag.Unmasked(c.Message))
	}
	if costs := c.Text(); costs != "" {
		title += "; this would " + diag.Unmasked(costs)
	}
	return title
}

func (t *text) edits(edits []jsonc.Edit) []textEdit {
	var out []textEdit
	for _, e := range edits {
		out = append(out, textEdit{span{t.place(e.Start), t.place(e.End)}, e.Text})
	}
	return out
}

// fixed returns the text of an open configuration after all corrections, nil when it stays
// as it is.
func (s *server) fixed(t *open) (out []byte) {
	if !slices.ContainsFunc(s.judged[t.name].corrections, func(c lint.Proposal) bool { return c.Safe }) {
		return nil
	}
	texts := map[string][]byte{}
	for name, open := range s.texts {
		texts[name] = open.Src
	}
	err := devcontainer.OpenEdited(t.name, texts, func(p *devcontainer.Project) error {
		if after, fixed, _ := lint.Fix(p, nil, nil); len(fixed) > 0 {
			out = after
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return out
}

// excuse is the comment that switches a rule off, in a line of its own above the finding.
// The reason is left to the author: until it is there, SBX107 asks for it.
func (t *open) excuse(f diag.Finding) (textEdit, bool) {
	if f.Rule == "SBX107" || f.Rule == "SBX108" || f.Line < 1 {
		return textEdit{}, false
	}
	marker := "#"
	if strings.HasSuffix(t.name, ".json") || strings.HasSuffix(t.name, ".jsonc") {
		if marker = "//"; t.document() == nil {
			return textEdit{}, false
		}
	}
	line := string(t.line(f.Line - 1))
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	at := position{f.Line - 1, 0}
	return textEdit{span{at, at}, fmt.Sprintf("%s%s sbx-ignore %s: %s", indent, marker, f.Rule, t.NewLine())}, true
}
