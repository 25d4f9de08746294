package lint

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/contract"
	"github.com/org/claude-sandbox/devcontainer/org"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/settings"
)

// GCPercent is the garbage that a program which checks files and ends lets be, in percent of what it uses: at Go's own
// 100 it collects in a third of its time.
const GCPercent = 400

// Files checks one file after the other and collects what is found. Its zero value
// checks by our rules alone. It is not safe for concurrent use.
type Files struct {
	Org    *org.Policy          // an organisation's policy; nil = none
	Held   func(id string) bool // rules that no comment excuses; nil = those that compare with Org
	Choose Choose               // what becomes of each finding; nil = all are kept as they are
	// Lessens reports whether Choose shows a finding as less than it is, or not at all: other findings do not wait for that one then.
	Lessens  func(f diag.Finding) bool
	Findings []diag.Finding    // in the order of the files
	Checked  int               // files, those that a configuration names among them
	Sources  map[string][]byte // of the files that were checked

	said map[diag.Finding]bool // Findings, once configurations share a file and perhaps its findings; nil before
}

// Choose returns a finding as it is reported, and whether it is. contained says that its
// configuration is a sandbox or an agent's container.
type Choose func(f diag.Finding, contained bool) (diag.Finding, bool)

// Text checks a devcontainer.json that is at hand and names no files.
func (f *Files) Text(name string, src []byte) { f.take(f.judge(devcontainer.Parse(name, src))) }

// Open checks files as devcontainer.DiscoverAll names them, as many at once as there are cores. The
// error holds each file that could not be read; the others are checked. It ends when ctx does, with
// its error and none of the findings; a rule that is at work by then goes on to its end, and what it finds is lost.
func (f *Files) Open(ctx context.Context, files []string) error {
	results := make([]judgement, len(files))
	var disk devcontainer.Opener
	var taken atomic.Int64
	var work sync.WaitGroup
	for range min(len(files), runtime.GOMAXPROCS(0)) {
		work.Go(func() {
			for i := int(taken.Add(1)) - 1; i < len(files) && ctx.Err() == nil; i = int(taken.Add(1)) - 1 {
				results[i] = f.judgeFile(&disk, files[i])
			}
		})
	}
	done := make(chan struct{})
	go func() {
		work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var failed error
	for _, r := range results {
		failed = errors.Join(failed, r.err)
		f.take(r)
	}
	return failed
}

// Misplaced reports a configuration that no tool finds; nothing of it is judged.
func (f *Files) Misplaced(m *devcontainer.Misplaced, hint string) {
	severity := diag.SeverityError
	if filepath.Dir(m.File) == filepath.Clean(m.Folder) { // the folder may be put into projects as their .devcontainer
		severity = diag.SeverityWarning
	}
	doc := jsonc.Text(m.File, nil)
	f.take(judgement{sources: []*jsonc.Document{doc}, findings: []diag.Finding{doc.Finding(0, 0, diag.Finding{Rule: "SBX315",
		Severity: severity, Message: "no tool reads this file here, and the folder has no other dev container", Hint: hint})}})
}

// judgement is what the rules say of one configuration.
type judgement struct {
	findings  []diag.Finding
	contained bool              // it is a sandbox or an agent's container
	sources   []*jsonc.Document // that were read
	err       error             // why it could not be read
}

func (f *Files) judgeFile(disk *devcontainer.Opener, file string) (j judgement) {
	if filepath.Base(file) == devcontainer.SettingsName {
		return judgeSettings(file)
	}
	err := disk.Open(file, func(p *devcontainer.Project) error {
		j = f.judge(p)
		return nil
	})
	j.err = err
	return j
}

func (f *Files) judge(p *devcontainer.Project) judgement {
	p.Org = f.Org
	v := rule.NewView(p)
	c := newPass(v, table())
	c.held, c.lessens = f.Held, f.Lessens
	found := c.findings()
	return judgement{findings: found, contained: v.Root != nil && (v.Sandboxed() || v.Agent()), sources: p.Documents()}
}

// take adds what is said of a configuration, without findings that another one has already.
func (f *Files) take(j judgement) {
	shared := slices.ContainsFunc(j.sources, func(doc *jsonc.Document) bool { return f.Sources[doc.File] != nil })
	f.addOnce(j.findings, j.contained, shared)
	for _, doc := range j.sources {
		if f.Sources == nil {
			f.Sources = map[string][]byte{}
		}
		f.Sources[doc.File] = doc.Src
		f.Checked++
	}
}

// addOnce is add without findings that another configuration has already: shared says that one of its files was checked before.
func (f *Files) addOnce(findings []diag.Finding, contained, shared bool) {
	before := len(f.Findings)
	f.add(findings, contained)
	if f.said == nil && !shared {
		return
	}
	if f.said == nil {
		f.said = map[diag.Finding]bool{}
		for _, found := range f.Findings[:before] {
			f.said[found] = true
		}
	}
	added := f.Findings[before:]
	f.Findings = append(f.Findings[:before], slices.DeleteFunc(added, func(found diag.Finding) bool {
		again := f.said[found]
		f.said[found] = true
		return again
	})...)
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

// judgeSettings checks a sandbox.jsonc on its own.
func judgeSettings(name string) judgement {
	file, err := settings.ReadFile(name)
	if err != nil {
		return judgement{err: err}
	}
	doc, _ := jsonc.Parse(name, file.Source)
	return judgement{findings: append(file.Findings, contract.IdleSettings(doc, false)...), contained: true,
		sources: []*jsonc.Document{jsonc.Text(name, file.Source)}}
}
