// Package pages holds the page of each rule: what is wrong, why that matters, and
// two small projects, a bad one, which has a finding of this rule and of no other,
// and a good one without findings.
//
//	SBX402.txtar: title, reason, "fix: …", bad/FILE, good/FILE ─ Of ─► Page
//
// A test of package lint runs them. Images in them are those of the organisation
// "org".
package pages

import (
	"bytes"
	"embed"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/org/claude-sandbox/internal/release"
)

//go:embed *.txtar
var archives embed.FS

// Page is what people read about a rule.
type Page struct {
	Title  string // what is wrong; lower case, no full stop
	Reason string // why that matters, in sentences
	// Fix says what `fix` does about it; "" means that nothing can be done
	// without the author.
	Fix       string
	Bad, Good Example
}

// Of returns the page of a rule, empty when there is none.
func Of(id string) Page {
	src, err := archives.ReadFile(id + ".txtar")
	if err != nil {
		return Page{} // TestTableIsWhole fails
	}
	archive := txtar.Parse(bytes.ReplaceAll(src, []byte("ghcr.io/org/"), []byte("ghcr.io/"+release.Org+"/")))
	page := Page{Bad: below("bad/", archive), Good: below("good/", archive)}
	for i, text := range strings.Split(strings.TrimSpace(string(archive.Comment)), "\n\n") {
		switch fix, ok := strings.CutPrefix(text, "fix: "); {
		case i == 0:
			page.Title = text
		case ok:
			page.Fix = fix
		default:
			page.Reason = text
		}
	}
	return page
}

// Example is a small project that shows a rule: its files in the order in
// which they are shown.
type Example []txtar.File

// below returns the files of a folder.
func below(folder string, archive *txtar.Archive) (out Example) {
	for _, f := range archive.Files {
		if name, ok := strings.CutPrefix(f.Name, folder); ok {
			out = append(out, txtar.File{Name: name, Data: f.Data})
		}
	}
	return out
}

// Files returns the texts by name.
func (e Example) Files() map[string]string {
	files := map[string]string{}
	for _, f := range e {
		files[f.Name] = string(f.Data)
	}
	return files
}

// String returns the text of a devcontainer.json that is the only file, and
// otherwise the files in txtar form.
func (e Example) String() string {
	if len(e) == 1 && e[0].Name == ".devcontainer/devcontainer.json" {
		return string(e[0].Data)
	}
	return string(txtar.Format(&txtar.Archive{Files: e}))
}
