package selection

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/org/claude-sandbox/internal/diag"
)

// BaselineName is the file with a project's known findings.
const BaselineName = "sbx-devc-baseline.json"

// Baseline are known findings, which are not shown again. A finding is known by its file,
// rule and message, so that it may move, and as often as the file counts it.
type Baseline struct {
	File string // as it is quoted
	left map[Known]int
}

// Known is a finding without its place. Its JSON form is the baseline's.
type Known struct {
	File    string `json:"file"` // from the baseline's folder
	Rule    string `json:"rule"`
	Message string `json:"message"`
}

type counted struct {
	Known
	Count int `json:"count"`
}

type baselineForm struct {
	SchemaVersion int       `json:"schemaVersion"`
	Findings      []counted `json:"findings"`
}

const hintAnew = "remove it, and 'sbx-devc validate --write-baseline' writes it anew"

// ParseBaseline reads a baseline. file is only quoted.
func ParseBaseline(file string, src []byte) (*Baseline, error) {
	var form baselineForm
	if err := json.Unmarshal(src, &form); err != nil {
		return nil, diag.WithHint(fmt.Errorf("the baseline %s is not valid: %w", file, err), hintAnew)
	}
	if form.SchemaVersion != 1 {
		return nil, diag.WithHint(fmt.Errorf("the baseline %s has schemaVersion %d, not 1", file, form.SchemaVersion), hintAnew)
	}
	b := &Baseline{File: file, left: map[Known]int{}}
	for _, k := range form.Findings {
		b.left[k.Known] += max(k.Count, 1)
	}
	return b, nil
}

// has reports whether a finding is known.
func (b *Baseline) has(s *Selection, f diag.Finding) bool { return b != nil && b.left[s.known(f)] > 0 }

// take reports whether a finding is known, and counts it.
func (b *Baseline) take(s *Selection, f diag.Finding) bool {
	if !b.has(s, f) {
		return false
	}
	b.left[s.known(f)]--
	return true
}

// Gone is how many known findings were not there that were looked for, which checked tells.
func (b *Baseline) Gone(checked func(Known) bool) (n int) {
	if b == nil {
		return 0
	}
	for k, left := range b.left {
		if checked(k) {
			n += left
		}
	}
	return n
}

func (s *Selection) known(f diag.Finding) Known {
	file, ok := s.relative(f.File)
	if !ok {
		file = f.File
	}
	return Known{file, f.Rule, f.Message}
}

// keep returns the known findings that are to stay.
func (b *Baseline) keep(stays func(Known) bool) map[Known]int {
	kept := map[Known]int{}
	if b == nil {
		return kept
	}
	for k, n := range b.left {
		if n > 0 && stays(k) {
			kept[k] = n
		}
	}
	return kept
}

func sum(counts map[Known]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

// NewBaseline writes the findings of a project that are known from now on, and those that still are.
func (s *Selection) NewBaseline(findings []diag.Finding, kept map[Known]int) []byte {
	counts := map[Known]int{}
	maps.Copy(counts, kept)
	for _, f := range findings {
		counts[s.known(f)]++
	}
	form := baselineForm{SchemaVersion: 1, Findings: []counted{}}
	for k, n := range counts {
		form.Findings = append(form.Findings, counted{k, n})
	}
	slices.SortFunc(form.Findings, func(a, b counted) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	text, err := json.MarshalIndent(form, "", "  ")
	if err != nil {
		panic(err) // texts and numbers
	}
	return append(text, '\n')
}
