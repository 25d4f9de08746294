package lint

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/contract"
	"github.com/org/claude-sandbox/devcontainer/org"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/settings"
)

// Files checks one file after the other and collects what is found. Its zero value
// checks by our rules alone. It is not safe for concurrent use.
type Files struct {
	Org      *org.Policy          // an organisation's policy; nil = none
	Held     func(id string) bool // rules that no comment excuses; nil = those that compare with Org
	Choose   Choose               // what becomes of each finding; nil = all are kept as they are
	Findings []diag.Finding       // in the order of the files
	Checked  int                  // files, those that a configuration names among them
	Sources  map[string][]byte    // of the files that were checked
}

// Choose returns a finding as it is reported, and whether it is. contained says that its
// configuration is a sandbox or an agent's container.
type Choose func(f diag.Finding, contained bool) (diag.Finding, bool)

// Text checks a devcontainer.json that is at hand and names no files.
func (f *Files) Text(name string, src []byte) { f.project(devcontainer.Parse(name, src)) }

// Open checks files as devcontainer.DiscoverAll names them. The error holds each file that
// could not be read; the others are checked. It ends early when ctx does, with its error.
func (f *Files) Open(ctx context.Context, files []string) error {
	var failed error
	for _, file := range files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if filepath.Base(file) == devcontainer.SettingsName {
			failed = errors.Join(failed, f.settings(file))
			continue
		}
		failed = errors.Join(failed, devcontainer.Open(file, func(p *devcontainer.Project) error {
			f.project(p)
			return nil
		}))
	}
	return failed
}

func (f *Files) project(p *devcontainer.Project) {
	p.Org = f.Org
	v := rule.NewView(p)
	c := newPass(v, table())
	c.held = f.Held
	f.add(c.findings(), v.Root != nil && (v.Sandboxed() || v.Agent()))
	for _, doc := range p.Documents() {
		f.checked(doc.File, doc.Src)
	}
}

// add reports what is chosen of the findings of one configuration.
func (f *Files) add(findings []diag.Finding, contained bool) {
	for _, found := range findings {
		keep := true
		if f.Choose != nil {
			found, keep = f.Choose(found, contained)
		}
		if keep {
			f.Findings = append(f.Findings, found)
		}
	}
}

// settings checks a sandbox.jsonc on its own.
func (f *Files) settings(name string) error {
	file, err := settings.ReadFile(name)
	if err != nil {
		return err
	}
	doc, _ := jsonc.Parse(name, file.Source)
	f.add(append(file.Findings, contract.IdleSettings(doc, false)...), true)
	f.checked(name, file.Source)
	return nil
}

func (f *Files) checked(name string, src []byte) {
	if f.Sources == nil {
		f.Sources = map[string][]byte{}
	}
	f.Sources[name] = src
	f.Checked++
}
