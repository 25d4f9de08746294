package dockerfile

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// Warning is what one of BuildKit's own build checks says.
type Warning struct {
	Start, End int    // offsets
	Check      string // BuildKit's name of it: "FromAsCasing"
	Message    string
	line       int // where BuildKit says it, until the instruction there is read
}

// checker runs BuildKit's checks while the file is read. A "# check=skip=…" of
// the file counts, as in a build.
type checker struct {
	*linter.Linter
	found   []Warning
	refused *Problem // a "# check=" that BuildKit does not read
}

func newChecker(doc *jsonc.Document, warnings []parser.Warning) *checker {
	c := &checker{}
	config := &linter.Config{}
	if said, at, ok := directive("check", doc.Src); ok {
		parsed, err := linter.ParseLintOptions(said)
		if err == nil {
			config = parsed
		} else {
			line := at[0].Start.Line
			reason, _, _ := strings.Cut(err.Error(), ": strconv")
			c.refused = &Problem{Start: doc.LineStart(line), End: lineEnd(doc, line), Message: reason,
				Hint: "write # check=skip=NAME,NAME;error=true"}
		}
	}
	config.ExperimentalAll, config.ExperimentalRules = false, nil
	config.Warn = func(check, _, _, message string, location []parser.Range) {
		if len(location) > 0 {
			c.found = append(c.found, Warning{Check: check, Message: message, line: location[0].Start.Line})
		}
	}
	c.Linter = linter.New(config)
	for _, w := range warnings {
		if w.URL == linter.RuleNoEmptyContinuation.URL && w.Location != nil {
			c.Run(&linter.RuleNoEmptyContinuation, []parser.Range{*w.Location}, linter.RuleNoEmptyContinuation.Format())
		}
	}
	return c
}

// reserved are the names that mean something else in FROM.
var reserved = []string{"context", "scratch"}

// instruction runs those of BuildKit's checks that its conversion to a build does,
// which needs a daemon's packages: their names and messages are BuildKit's.
func (c *checker) instruction(i *Instruction, node *parser.Node) {
	at := []parser.Range{{Start: parser.Position{Line: node.StartLine}}}
	l := c.WithMergedConfigFromComments(node.PrevComment) // "# check=skip=…" above it
	switch cmd := i.Command.(type) {
	case *instructions.Stage:
		if slices.Contains(reserved, cmd.Name) {
			l.Run(&linter.RuleReservedStageName, at, linter.RuleReservedStageName.Format(cmd.Name))
		}
		platform(l, cmd, at)
	case *instructions.EnvCommand:
		spaced(l, cmd.Env, "ENV", at)
	case *instructions.LabelCommand:
		spaced(l, cmd.Labels, "LABEL", at)
	case *instructions.CmdCommand:
		shellForm(l, cmd.ShellDependantCmdLine, "CMD", at)
	case *instructions.EntrypointCommand:
		shellForm(l, cmd.ShellDependantCmdLine, "ENTRYPOINT", at)
	case *instructions.ExposeCommand:
		for _, port := range cmd.Ports {
			if strings.Contains(port, ":") && !strings.Contains(port, "$") {
				l.Run(&linter.RuleExposeInvalidFormat, at, linter.RuleExposeInvalidFormat.Format(port))
			}
			if _, protocol, ok := strings.Cut(port, "/"); ok && protocol != strings.ToLower(protocol) {
				l.Run(&linter.RuleExposeProtoCasing, at, linter.RuleExposeProtoCasing.Format(port))
			}
		}
	}
}

func platform(l *linter.Linter, from *instructions.Stage, at []parser.Range) {
	switch said := from.Platform; {
	case said == "$TARGETPLATFORM" || said == "${TARGETPLATFORM}":
		l.Run(&linter.RuleRedundantTargetPlatform, at, linter.RuleRedundantTargetPlatform.Format(said))
	case said == "" || strings.Contains(said, "$"):
	case !slices.ContainsFunc(strings.Split(said, "/"), func(part string) bool { return strings.Contains(from.Name, part) }):
		l.Run(&linter.RuleFromPlatformFlagConstDisallowed, at, linter.RuleFromPlatformFlagConstDisallowed.Format(said))
	}
}

func spaced(l *linter.Linter, pairs instructions.KeyValuePairs, name string, at []parser.Range) {
	if slices.ContainsFunc(pairs, func(kv instructions.KeyValuePair) bool { return kv.NoDelim }) {
		l.Run(&linter.RuleLegacyKeyValueFormat, at, linter.RuleLegacyKeyValueFormat.Format(name))
	}
}

func shellForm(l *linter.Linter, line instructions.ShellDependantCmdLine, name string, at []parser.Range) {
	if line.PrependShell && len(line.CmdLine) > 0 {
		l.Run(&linter.RuleJSONArgsRecommended, at, linter.RuleJSONArgsRecommended.Format(name))
	}
}

// casing reports instructions that are written in another case than most.
func (c *checker) casing(all []*Instruction) {
	lower, upper := 0, 0
	for _, i := range all {
		switch name := i.src[:min(len(i.Name), len(i.src))]; {
		case !strings.ContainsFunc(name, unicode.IsUpper):
			lower++
		case !strings.ContainsFunc(name, unicode.IsLower):
			upper++
		}
	}
	want, wanted := strings.ToUpper, "uppercase"
	if lower > upper {
		want, wanted = strings.ToLower, "lowercase"
	}
	for _, i := range all {
		if name := i.src[:min(len(i.Name), len(i.src))]; name != want(name) {
			c.Run(&linter.RuleConsistentInstructionCasing, []parser.Range{{Start: parser.Position{Line: i.line}}},
				linter.RuleConsistentInstructionCasing.Format(name, wanted))
		}
	}
}

// warnings places what was found.
func (p *reader) warnings(all []*Instruction) []Warning {
	if len(p.checks.found) == 0 {
		return nil
	}
	at := map[int]*Instruction{}
	for _, i := range all {
		at[i.line] = i
	}
	for n, w := range p.checks.found {
		if i := at[w.line]; i != nil {
			p.checks.found[n].Start, p.checks.found[n].End = i.Start, i.HeadEnd
			continue
		}
		doc, line := p.file.Doc, w.line
		empty := func() bool { return len(bytes.TrimSpace(p.src[doc.LineStart(line):doc.LineStart(line+1)])) == 0 }
		for w.Check == linter.RuleNoEmptyContinuation.Name && line > 1 && !empty() {
			line-- // BuildKit names the line where the instruction goes on
		}
		p.checks.found[n].Start, p.checks.found[n].End = doc.LineStart(line), lineEnd(doc, line)
	}
	slices.SortStableFunc(p.checks.found, func(a, b Warning) int { return a.Start - b.Start })
	return p.checks.found
}
