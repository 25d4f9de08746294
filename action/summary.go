package action

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/firewall/learn"
	"github.com/org/claude-sandbox/firewall/report"
	"github.com/org/claude-sandbox/internal/visible"
)

// Bounds of the step summary. GitHub drops a summary beyond 1 MiB as a whole,
// and a page of several steps has to stay readable.
const (
	maxSummaryResult = 8 << 10 // bytes of the closing text
	maxSummaryRows   = 100     // rows of the egress table
	maxSummaryModels = 20
)

// writeSummary writes the step summary in Markdown.
func (r reported) writeSummary(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### Claude in the sandbox: %s\n\n", r.Outcome.Conclusion)
	if r.Result != nil || r.TokensIn+r.TokensOut > 0 {
		r.writeFigures(&b)
	}
	if r.Outcome.Message != "" {
		b.WriteString(fenced(truncate(cmp.Or(r.explained, r.Outcome.Message), maxSummaryResult)))
	}
	if r.Result != nil && r.Result.Text != "" && r.Result.Text != r.Outcome.Message {
		b.WriteString("#### Result\n\n" + inert(truncate(r.clean(r.Result.Text), maxSummaryResult)))
	}
	if r.Result != nil || len(r.changed.rows)+len(r.changed.warnings) > 0 {
		r.changed.writeSummary(&b)
	}
	if r.Egress != nil {
		if err := writeEgress(&b, r.Egress); err != nil {
			return err
		}
		writeLearned(&b, r.Learned)
	}
	r.writeModels(&b)
	r.writeNotes(&b)
	r.writeSteps(&b)
	r.writeFacts(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeFigures writes the table of an agent that came to ask the model.
func (r reported) writeFigures(b *strings.Builder) {
	// Duration, tokens and the metered cost are measured outside the sandbox.
	b.WriteString("| Turns | Cost (Claude's figure) | Cost (metered) | Tokens in, out (metered) | Duration | Model | Session " +
		"|\n|--:|--:|--:|--:|--:|---|---|\n")
	turns, cost, session := "", "", ""
	if r.Result != nil {
		turns, cost, session = fmt.Sprint(r.Result.Turns), fmt.Sprintf("$%.4f", r.Result.CostUSD), r.Result.SessionID
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s |\n\n", turns, cost, r.metered(), r.tokens(), r.duration.Round(100*time.Millisecond),
		inlineCode(r.events.model), inlineCode(session))
}

// writeModels writes what each model cost, as the proxy outside of the sandbox counted it.
func (r reported) writeModels(b *strings.Builder) {
	if len(r.Models) < 2 { // one is in the first table
		return
	}
	b.WriteString("#### Models, as metered\n\n| Model | Input | Cache written | Cache read | Output | Cost |\n|---|--:|--:|--:|--:|--:|\n")
	for _, m := range r.Models[:min(len(r.Models), maxSummaryModels)] {
		fmt.Fprintf(b, "| %s | %d | %d | %d | %d | $%.4f |\n", inlineCode(m.Model), m.Input, m.CacheWrite, m.CacheRead, m.Output, m.USD)
	}
	b.WriteString("\n")
}

// writeSteps writes what the agent did, folded.
func (r reported) writeSteps(b *strings.Builder) {
	steps, more := r.events.shown()
	if len(steps) == 0 {
		return
	}
	if more > 0 {
		steps = append(steps, fmt.Sprintf("and %d more, which are in the transcript", more))
	}
	folded(b, "What the agent did: "+inlineHTML(r.clean(r.events.toolLine())), fenced(strings.Join(steps, "\n")))
}

// writeNotes writes what the run left closed or unread, and the like.
func (r reported) writeNotes(b *strings.Builder) {
	if len(r.Notes) == 0 {
		return
	}
	b.WriteString("#### Notes\n\n")
	for _, n := range r.Notes[:min(len(r.Notes), maxSummaryWarnings)] {
		b.WriteString("- " + inlineText(NeutralLine(n, maxWarning)) + "\n")
	}
	b.WriteString("\n")
}

// writeFacts writes what the sandbox was, folded.
func (r reported) writeFacts(b *strings.Builder) {
	facts := r.Facts
	if r.events.claude != "" {
		facts = append(facts, "Claude Code "+NeutralLine(r.events.claude, 60))
	}
	if c := r.Canaries; c != nil && c.Broken == "" {
		facts = append(facts, fmt.Sprintf("canaries: %d tried, all held%s", c.Tried, map[bool]string{
			true: "; one of the packets went to a listener of this step's",
		}[c.Listener]))
	}
	if len(facts) > 0 {
		folded(b, "Sandbox", fenced(strings.Join(facts, "\n")))
	}
}

// clean is text without secrets, also those with invisible characters inside: as references in
// HTML or Markdown they would not be found any more.
func (r reported) clean(text string) string { return r.events.clean.String(lines(text)) }

// folded writes a part that opens when somebody clicks on its title, which is HTML.
func folded(b *strings.Builder, title, content string) {
	fmt.Fprintf(b, "<details><summary>%s</summary>\n\n%s</details>\n\n", title, content)
}

// inlineHTML shows text inside of HTML. It is code, because GitHub looks for mentions elsewhere.
func inlineHTML(text string) string { return "<code>" + references(NeutralLine(text, 500)) + "</code>" }

// writeEgress writes the egress table, denied hosts first, and the lines that
// would allow them.
func writeEgress(b *strings.Builder, egress *report.Report) error {
	b.WriteString("#### Egress\n\n")
	shown := egress.First(maxSummaryRows)
	if err := shown.WriteTable(b); err != nil {
		return err
	}
	// A project's own file opens nothing in a workflow.
	writeInputs(b, "To open what was denied, add to the step:", shown.Fixes)
	b.WriteString("\n")
	return nil
}

// writeLearned writes the way from egress: audit to a list.
func writeLearned(b *strings.Builder, lesson *learn.Lesson) {
	if lesson == nil {
		return
	}
	writeInputs(b, "With `egress: block` this run needs these; look at each one first:", lesson.Entries)
	b.WriteString("\n")
}

// writeInputs writes lines for the step, of the entries of each list of the network.
func writeInputs(b *strings.Builder, lead string, entries func(list string) []string) {
	var lines strings.Builder
	for _, list := range []struct{ name, input string }{{"allow", "allowed_domains"}, {"private", "private_domains"}} {
		for i, entry := range entries(list.name) {
			if i == 0 {
				lines.WriteString(list.input + ": |\n")
			}
			lines.WriteString("  " + entry + "\n")
		}
	}
	if lines.Len() > 0 {
		fmt.Fprintf(b, "\n%s\n\n```yaml\n%s```\n", lead, &lines)
	}
}

// fenced shows text as it is, inside a fence longer than any run of backticks
// in it: no line of it can close the fence, and Markdown and HTML are inert.
func fenced(text string) string {
	text = lines(text)
	longest, run := 0, 0
	for _, r := range text {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", max(3, longest+1))
	return fence + "text\n" + text + "\n" + fence + "\n\n"
}

// inlineCode shows short text in a table cell; nothing in it can end the code.
func inlineCode(text string) string {
	if text == "" {
		return ""
	}
	return "`" + strings.NewReplacer("`", "'", "|", "/").Replace(NeutralLine(text, 500)) + "`"
}

// tokens says what was metered; "" when the model API answered nothing.
func (r reported) tokens() string {
	if r.TokensIn+r.TokensOut == 0 {
		return ""
	}
	return fmt.Sprintf("%d, %d", r.TokensIn, r.TokensOut)
}

// metered is what the run cost by the tokens of tokens; "" when there are none.
func (r reported) metered() string {
	if r.TokensIn+r.TokensOut == 0 {
		return ""
	}
	return fmt.Sprintf("$%.4f", r.MeteredUSD)
}

// headline is the closing line of the log and the text of the annotation.
func (r reported) headline() string {
	line := fmt.Sprintf("conclusion: %s", r.Outcome.Conclusion)
	if r.Outcome.Message != "" {
		line += ": " + NeutralLine(r.Outcome.Message, 1000)
	}
	if r.Outcome.Conclusion == agent.Success && r.Result != nil {
		line += fmt.Sprintf(", %s, $%.4f", visible.Count(r.Result.Turns, "turn"), r.Result.CostUSD)
	}
	return line
}
