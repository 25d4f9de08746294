package lsp

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/manual"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Bounds of what an editor has open.
const (
	maxOpen  = 500
	maxBytes = 64 << 20
)

// open is a file that the editor has open.
type open struct {
	uri, name string
	version   int
	*text
}

// judgement is what is known of a configuration.
type judgement struct {
	findings    map[string][]diag.Finding // by file
	corrections []lint.Proposal
	files       []string // that were read for it
	source      []byte   // of the configuration, as it was judged
}

type identifier struct {
	URI     string `json:"uri"`
	Version int    `json:"version"`
}

func (s *server) didOpen(p struct {
	Document struct {
		identifier
		Text string `json:"text"`
	} `json:"textDocument"`
}) (any, *replyError) {
	name, ok := pathOf(p.Document.URI)
	if ok && len(s.texts) < maxOpen {
		s.set(name, p.Document.identifier, p.Document.Text)
	}
	return nil, nil
}

func (s *server) didChange(p struct {
	Document identifier `json:"textDocument"`
	Changes  []struct {
		Text string `json:"text"`
	} `json:"contentChanges"`
}) (any, *replyError) {
	name, ok := pathOf(p.Document.URI)
	if ok && (s.texts[name] != nil || len(s.texts) < maxOpen) && len(p.Changes) > 0 {
		s.set(name, p.Document, p.Changes[len(p.Changes)-1].Text)
	}
	return nil, nil
}

// set keeps a text and marks what is made of it as stale. One that is too large is not kept, and nor is the one that it replaces: places
// in that are not the editor's any more.
func (s *server) set(name string, id identifier, src string) {
	before := 0
	if old := s.texts[name]; old != nil {
		before = len(old.Src)
	}
	if s.total-before+len(src) > maxBytes {
		s.forget(name)
		return
	}
	s.total += len(src) - before
	s.texts[name] = &open{uri: id.URI, name: name, version: id.Version, text: &text{Document: jsonc.Text(name, []byte(src)), bytes: s.inBytes}}
	s.markStale(s.configurations(name))
}

func (s *server) didClose(p struct {
	Document identifier `json:"textDocument"`
}) (any, *replyError) {
	if name, ok := pathOf(p.Document.URI); ok {
		s.forget(name)
	}
	return nil, nil
}

// forget takes the text of a file away, and what is known by it alone.
func (s *server) forget(name string) {
	if s.texts[name] == nil {
		return
	}
	configs := s.configurations(name)
	s.total -= len(s.texts[name].Src)
	delete(s.texts, name)
	delete(s.alone, name)
	for _, config := range configs {
		if j := s.judged[config]; j != nil && !slices.ContainsFunc(j.files, func(f string) bool { return s.texts[f] != nil }) {
			delete(s.judged, config)
		}
	}
	s.publish()
	s.markStale(slices.DeleteFunc(configs, func(config string) bool { return s.judged[config] == nil }))
}

// filesChanged judges everything again: the disk is another.
func (s *server) filesChanged() (any, *replyError) {
	clear(s.alone)
	for name := range s.texts {
		s.markStale(s.configurations(name))
	}
	s.markStale(slices.Collect(maps.Keys(s.judged)))
	return nil, nil
}

func (s *server) markStale(configs []string) {
	for _, config := range configs {
		if !slices.Contains(s.stale, config) {
			s.stale = append(s.stale, config)
		}
	}
}

// configurations returns the configurations that a file is a part of: those that read it
// before, or those near it. A Dockerfile that none reads is judged alone.
func (s *server) configurations(name string) []string {
	var out []string
	for config, j := range s.judged {
		if slices.Contains(j.files, name) {
			out = append(out, config)
		}
	}
	switch {
	case devcontainer.IsConfiguration(name):
		found, err := devcontainer.Discover(name) // a Template's is judged as one
		if err != nil {
			found = []string{name} // it is new
		}
		out = append(out, found...)
	case len(out) == 0 && !s.alone[name]:
		out = s.around(name)
		s.alone[name] = len(out) == 0
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// maxAbove bounds how far above a file its configuration is looked for.
const maxAbove = 6

// around looks for the configurations that read a file, in the folders above it.
func (s *server) around(name string) (out []string) {
	dir := filepath.Dir(name)
	for range maxAbove {
		found, err := devcontainer.Discover(dir)
		for _, config := range found {
			if j := s.judge(config); err == nil && slices.Contains(j.files, name) {
				s.judged[config] = j
				out = append(out, config)
			}
		}
		if up := filepath.Dir(dir); len(out) == 0 && up != dir {
			dir = up
			continue
		}
		break
	}
	if len(out) == 0 && devcontainer.IsDockerfile(name) {
		out = append(out, name)
	}
	return out
}

// judgeStale judges what has changed, and shows it.
func (s *server) judgeStale() {
	for _, config := range s.stale {
		s.judged[config] = s.judge(config)
	}
	s.stale = nil
	for name := range s.judged { // a Dockerfile that was judged alone, until a configuration names it
		for config, j := range s.judged {
			if config != name && !devcontainer.IsConfiguration(name) && slices.Contains(j.files, name) {
				delete(s.judged, name)
			}
		}
	}
	s.publish()
}

// judge judges one configuration with the texts of the editor. One that cannot be read has
// no findings.
func (s *server) judge(config string) *judgement {
	texts := map[string][]byte{}
	for name, t := range s.texts {
		texts[name] = t.Src
	}
	j := &judgement{findings: map[string][]diag.Finding{}, files: []string{config}}
	err := devcontainer.OpenEdited(config, texts, func(p *devcontainer.Project) error {
		files, err := s.rules(config)
		s.choiceUnread(config, err)
		findings, corrections := files.Chosen(p)
		for _, f := range findings {
			j.findings[f.File] = append(j.findings[f.File], f)
		}
		j.corrections, j.source = corrections, p.Config.Src
		for _, doc := range p.Documents() {
			j.files = append(j.files, doc.File)
		}
		return nil
	})
	if err != nil {
		return &judgement{files: []string{config}}
	}
	return j
}

// choiceUnread shows why the choice of rules for a configuration cannot be read, when that is new.
func (s *server) choiceUnread(config string, err error) {
	if err == nil {
		delete(s.unread, config)
		return
	}
	why := err.Error()
	known := slices.Contains(slices.Collect(maps.Values(s.unread)), why)
	if s.unread[config] = why; known {
		return
	}
	const warning = 2 // MessageType
	s.send(notification("window/showMessage", struct {
		Type    int    `json:"type"`
		Message string `json:"message"`
	}{warning, "all rules of sbx-devc count, because the choice of them cannot be read: " + why}))
}

// diagnostic is a finding as the protocol has it.
type diagnostic struct {
	Range    span   `json:"range"`
	Severity int    `json:"severity"`
	Code     string `json:"code"`
	About    struct {
		URI string `json:"href"`
	} `json:"codeDescription"`
	Source  string `json:"source"`
	Message string `json:"message"`
}

// shown is what the editor has of a file.
type shown struct {
	version  int
	findings []diag.Finding
}

// publish sends the findings of the files that the editor has open where it has others,
// and takes those of closed files away.
func (s *server) publish() {
	now := map[string]shown{}
	for _, name := range slices.Sorted(maps.Keys(s.texts)) {
		t := s.texts[name]
		findings := s.findings(name)
		now[t.uri] = shown{t.version, findings}
		if before, ok := s.shown[t.uri]; ok && before.version == t.version && slices.Equal(before.findings, findings) {
			continue
		}
		list := []diagnostic{}
		for _, f := range findings {
			list = append(list, t.diagnostic(f))
		}
		s.send(notification("textDocument/publishDiagnostics", struct {
			URI         string       `json:"uri"`
			Version     int          `json:"version"`
			Diagnostics []diagnostic `json:"diagnostics"`
		}{t.uri, t.version, list}))
	}
	for _, uri := range slices.Sorted(maps.Keys(s.shown)) {
		if _, open := now[uri]; !open {
			s.send(notification("textDocument/publishDiagnostics", struct {
				URI         string       `json:"uri"`
				Diagnostics []diagnostic `json:"diagnostics"`
			}{uri, []diagnostic{}}))
		}
	}
	s.shown = now
}

// findings returns those of a file, of all configurations that read it, each once.
func (s *server) findings(name string) (out []diag.Finding) {
	seen := map[diag.Finding]bool{}
	for _, config := range slices.Sorted(maps.Keys(s.judged)) {
		for _, f := range s.judged[config].findings[name] {
			if !seen[f] {
				seen[f] = true
				out = append(out, f)
			}
		}
	}
	diag.Sort(out)
	return out
}

// span returns where a finding stands.
func (t *text) span(f diag.Finding) span {
	return span{t.at(f.Line, f.Column), t.at(max(f.EndLine, f.Line), f.EndColumn)}
}

func (t *text) diagnostic(f diag.Finding) diagnostic {
	d := diagnostic{Range: t.span(f), Code: f.Rule, Source: "sbx-devc", Message: diag.Unmasked(f.Message),
		Severity: map[diag.Severity]int{diag.SeverityError: 1, diag.SeverityWarning: 2, diag.SeverityNote: 3}[f.Severity]}
	if f.Hint != "" {
		d.Message += "\n" + diag.Unmasked(f.Hint)
	}
	if r, ok := lint.LookupRule(f.Rule); ok {
		d.About.URI = manual.URI(r)
	}
	return d
}

// document parses an open JSON file; nil when it is not well formed.
func (t *open) document() *jsonc.Document {
	doc, _ := jsonc.Parse(t.name, t.Src)
	return doc
}
