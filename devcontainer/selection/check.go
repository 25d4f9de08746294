package selection

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/diag"
)

// Check is one check of many files, each by the choice that holds for it. It is not safe
// for concurrent use.
type Check struct {
	Choices *Choices
	FailOn  diag.Severity // which findings are bad: these or worse; "" = as the projects' files say, or warnings

	// Record makes the findings known from now on: they go to the new baselines and are not
	// in Files, except for those that an organisation's policy holds. Findings that are known
	// already are found again.
	Record bool

	Files lint.Files // what was checked and found
	Bad   int        // findings in Files at FailOn or worse

	limit    diag.Severity // the mildest at which a project's findings are bad
	recorded map[*Choice][]diag.Finding
}

// NewBaseline is a baseline to write.
type NewBaseline struct {
	File     string
	Text     []byte
	Findings int // found now
	Kept     int // known before, of what was not checked
}

// Text checks a devcontainer.json that is at hand and names no files.
func (k *Check) Text(ctx context.Context, name string, src []byte) error {
	c, err := k.Choices.Of(ctx, name)
	if err != nil {
		return err
	}
	return k.by(c, func() error { k.Files.Text(name, src); return nil })
}

// Misplaced reports a configuration that no tool finds.
func (k *Check) Misplaced(ctx context.Context, m *devcontainer.Misplaced, hint string) error {
	c, err := k.Choices.Of(ctx, m.File)
	if err != nil {
		return err
	}
	return k.by(c, func() error { k.Files.Misplaced(m, hint); return nil })
}

// Open checks files as lint.Files.Open does. It ends at the first file whose choice of
// rules cannot be read, because the others most likely have the same.
func (k *Check) Open(ctx context.Context, files []string) error {
	var failed error
	for len(files) > 0 && ctx.Err() == nil {
		c, err := k.Choices.Of(ctx, files[0])
		if err != nil {
			return errors.Join(failed, err)
		}
		n := 1
		for n < len(files) {
			if other, err := k.Choices.Of(ctx, files[n]); err != nil || other != c {
				break
			}
			n++
		}
		failed = errors.Join(failed, k.by(c, func() error { return k.Files.Open(ctx, files[:n]) }))
		files = files[n:]
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return failed
}

// by runs a check by a choice, and takes its findings into account.
func (k *Check) by(c *Choice, check func() error) error {
	before := len(k.Files.Findings)
	chosen := c.Files()
	if k.Record {
		chosen.Choose = c.JudgeKnown
	}
	k.Files.Org, k.Files.Held, k.Files.Choose, k.Files.Lessens = chosen.Org, chosen.Held, chosen.Choose, chosen.Lessens
	err := check()
	if k.Record {
		k.record(c, before)
	}
	limit := cmp.Or(k.FailOn, c.FailOn, diag.SeverityWarning)
	if k.limit == "" || diag.Worst([]diag.Finding{{Severity: limit}}, k.limit) == 0 {
		k.limit = limit
	}
	k.Bad += diag.Worst(k.Files.Findings[before:], limit)
	if k.FailOn == "" && !diag.SeverityWarning.AtLeast(limit) { // a project's file makes nothing good that the policy holds
		for _, f := range k.Files.Findings[before:] {
			if c.Holds(f.Rule) && f.Severity == diag.SeverityWarning {
				k.Bad, k.limit = k.Bad+1, diag.SeverityWarning
			}
		}
	}
	return err
}

// record moves the findings from an index on to the baseline of a choice.
func (k *Check) record(c *Choice, from int) {
	if k.recorded == nil {
		k.recorded = map[*Choice][]diag.Finding{}
	}
	found := k.Files.Findings[from:]
	k.Files.Findings = k.Files.Findings[:from:from]
	for _, f := range found {
		if c.Holds(f.Rule) {
			k.Files.Findings = append(k.Files.Findings, f)
		} else {
			k.recorded[c] = append(k.recorded[c], f)
		}
	}
}

// Limit is the mildest severity at which a finding was bad.
func (k *Check) Limit() diag.Severity { return cmp.Or(k.FailOn, k.limit, diag.SeverityWarning) }

// Baselines are the new ones of the projects that were checked. They keep what the old ones know of
// what was not: rules that were not asked for, and files, unless they are gone or below one of folders.
func (k *Check) Baselines(folders ...string) (all []NewBaseline) {
	checked := k.checked()
	for _, c := range k.Choices.All() {
		kept := c.Known.keep(func(known Known) bool {
			full, err := filepath.Abs(filepath.Join(c.Root, filepath.FromSlash(known.File)))
			if err != nil {
				return false
			}
			if _, err := os.Stat(full); err != nil {
				return false
			}
			ofOthers := !c.run.asks(known.Rule) || c.run.Holds(known.Rule)
			return ofOthers || !checked[full] && !slices.ContainsFunc(folders, func(dir string) bool { return within(dir, full) })
		})
		found := k.recorded[c]
		all = append(all, NewBaseline{c.BaselineFile(), c.NewBaseline(found, kept), len(found), sum(kept)})
	}
	return all
}

// within reports whether a file lies below a folder.
func within(dir, full string) bool {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(dir, full)
	return err == nil && filepath.IsLocal(rel)
}

// checked are the absolute names of the files that were read.
func (k *Check) checked() map[string]bool {
	checked := map[string]bool{}
	for name := range k.Files.Sources {
		if full, err := filepath.Abs(name); err == nil {
			checked[full] = true
		}
	}
	return checked
}

// Gone counts, by baseline, the known findings that are no longer in the files that were
// checked. each is called for those baselines that have some.
func (k *Check) Gone(each func(baseline string, findings int)) {
	checked := k.checked()
	for _, c := range k.Choices.All() {
		gone := c.Known.Gone(func(known Known) bool {
			full, err := filepath.Abs(filepath.Join(c.Root, filepath.FromSlash(known.File)))
			return err == nil && checked[full] && c.run.asks(known.Rule) && !c.run.Holds(known.Rule) // which a policy shows all the same
		})
		if gone > 0 {
			each(c.Known.File, gone)
		}
	}
}
