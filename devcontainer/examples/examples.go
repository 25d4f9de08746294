// Package examples holds two small projects for each rule: a bad one, which has a
// finding of this rule and of no other, and a good one without findings.
//
//	SBX402.txtar ─► Bad, Good ─► Example: files, as a Tree or as text
package examples

import (
	"bytes"
	"embed"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/release"
)

// exampleArchives holds one txtar archive per rule, with the files of its two
// examples below bad/ and good/. Images in them are those of the organisation
// "org".
//
//go:embed *.txtar
var exampleArchives embed.FS

// Example is a small project that shows a rule: its files in the order in
// which they are shown.
type Example []txtar.File

// Bad returns the example that has a finding of this rule and no other.
func Bad(r rule.Rule) Example { return example(r, "bad/") }

// Good returns the example without a finding.
func Good(r rule.Rule) Example { return example(r, "good/") }

// example returns the files below a folder of the rule's archive, nil when it
// has none.
func example(r rule.Rule, folder string) Example {
	archive, err := exampleArchives.ReadFile(r.ID + ".txtar")
	if err != nil {
		return nil // TestTableIsWhole fails
	}
	archive = bytes.ReplaceAll(archive, []byte("ghcr.io/org/"), []byte("ghcr.io/"+release.Org+"/"))
	var out Example
	for _, f := range txtar.Parse(archive).Files {
		if name, ok := strings.CutPrefix(f.Name, folder); ok {
			out = append(out, txtar.File{Name: name, Data: f.Data})
		}
	}
	return out
}

// Files returns the example as a tree to check.
func (e Example) Files() devcontainer.Memory {
	files := devcontainer.Memory{}
	for _, f := range e {
		files[f.Name] = string(f.Data)
	}
	return files
}

// String returns the text of a devcontainer.json that is the only file, and
// otherwise the files in txtar form.
func (e Example) String() string {
	if len(e) == 1 && e[0].Name == exampleFile {
		return string(e[0].Data)
	}
	return string(txtar.Format(&txtar.Archive{Files: e}))
}

// exampleFile is the name that an example's only file need not show.
const exampleFile = ".devcontainer/devcontainer.json"
