package action

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/firewall/report"
)

// Bounds of the step summary. GitHub drops a summary beyond 1 MiB as a whole,
// and a page of several steps has to stay readable.
const (
	maxSummaryResult = 8 << 10 // bytes of the closing text
	maxSummaryRows   = 100     // rows of the egress table
)

// writeSummary writes the step summary in Markdown.
func (r reported) writeSummary(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### Claude in the sandbox: %s\n\n", r.Outcome.Conclusion)
	// Of these, duration, tokens and the metered cost are measured outside the sandbox.
	b.WriteString("| Turns | Cost (Claude's figure) | Cost (metered) | Tokens in, out (metered) | Duration | Model | Session " +
		"|\n|--:|--:|--:|--:|--:|---|---|\n")
	turns, cost, session := "", "", ""
	if r.Result != nil {
		turns, cost, session = fmt.Sprint(r.Result.Turns), fmt.Sprintf("$%.4f", r.Result.CostUSD), r.Result.SessionID
	}
	fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n\n", turns, cost, r.metered(), r.tokens(), r.duration.Round(100*time.Millisecond),
		inlineCode(r.events.model), inlineCode(session))
	if r.Outcome.Message != "" {
		b.WriteString(fenced(truncate(r.Outcome.Message, maxSummaryResult)))
	}
	if r.Result != nil && r.Result.Text != "" && r.Result.Text != r.Outcome.Message {
		b.WriteString("#### Result\n\n" + fenced(truncate(r.Result.Text, maxSummaryResult)))
	}
	r.changed.writeSummary(&b)
	if c := r.Canaries; c != nil && c.Broken == "" {
		fmt.Fprintf(&b, "Firewall: canaries held %d times%s.\n\n", c.Tried, map[bool]string{
			true: ": packets that the policy refuses, one of them to a listener of this step's, and a comparison of the kernel's rules",
		}[c.Listener])
	}
	if tools := r.events.toolLine(); tools != "" {
		b.WriteString("Tools: " + inlineCode(tools) + "\n\n")
	}
	if r.Egress != nil {
		if err := writeEgress(&b, r.Egress); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeEgress writes the egress table, denied hosts first, and the lines that
// would allow them.
func writeEgress(b *strings.Builder, egress *report.Report) error {
	b.WriteString("#### Egress\n\n")
	shown := egress.First(maxSummaryRows)
	if err := shown.WriteMarkdown(b); err != nil {
		return err
	}
	if entries := shown.Fixes("allow"); len(entries) > 0 {
		b.WriteString("\nor to the step:\n\n```yaml\nallowed_domains: |\n")
		for _, entry := range entries {
			b.WriteString("  " + entry + "\n")
		}
		b.WriteString("```\n")
	}
	b.WriteString("\n")
	return nil
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
		line += fmt.Sprintf(", %d turns, $%.4f", r.Result.Turns, r.Result.CostUSD)
	}
	return line
}
