package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/action/github"
	"github.com/org/claude-sandbox/action/review"
	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/filekind"
)

// Commented says that Comment has written to the pull request.
const Commented agent.Conclusion = "commented"

// CommentInputs are the inputs of comment/action.yml, by their names there.
type CommentInputs struct {
	Review      string `input:"review"` // the agent's answer, by review.Schema
	Title       string `input:"title"`
	MaxComments int    `input:"max_comments"` // on lines; the others stand in the summary
	Pull        int    `input:"pull_request"` // its number
	Token       string `input:"github_token"`
}

// ParseCommentInputs reads them with get, and the rest from the event's payload.
func ParseCommentInputs(get, getenv func(string) string) (CommentInputs, []error) {
	p := &inputParser{get: get}
	in := CommentInputs{
		Review: get("review"), Title: NeutralLine(get("title"), maxTitle), MaxComments: orCount(p.count("max_comments"), 20),
		Pull: p.count("pull_request"), Token: p.secret("github_token"),
	}
	if in.Title == "" {
		in.Title = "Review by an agent"
	}
	if in.Token == "" {
		p.fail("it is ${{ github.token }} unless the workflow gives another one", "input github_token is empty")
	}
	if in.Pull == 0 {
		in.Pull = pullOf(getenv("GITHUB_EVENT_PATH"))
	}
	if in.Pull == 0 {
		p.fail("name its number with pull_request", "the event is about no pull request")
	}
	return in, p.errs
}

// pullOf is the number of the pull request that an event's payload is about; 0 = none.
func pullOf(payload string) int {
	const most = 32 << 20 // bytes; GitHub's own bound is 25 MB
	type item struct {
		Number int `json:"number"`
	}
	var event struct {
		PullRequest item `json:"pull_request"`
		Issue       struct {
			item
			Pull *struct{} `json:"pull_request"`
		} `json:"issue"`
	}
	if text, err := filekind.Read(payload, most); err != nil || json.Unmarshal(text, &event) != nil {
		return 0
	}
	if event.Issue.Pull != nil {
		return event.Issue.Number
	}
	return event.PullRequest.Number
}

// commented is what Comment came to.
type commented struct {
	outcome
	url   string // of the summary
	lines int    // comments on lines that were made
}

// Comment is the step of a job that has a token and no agent: it writes an agent's review to
// a pull request, as comments on lines and as one comment that later runs change. Nothing of
// the agent's is a link, an image, a mention or HTML there, and no review approves.
func Comment(ctx context.Context, o ApplyOptions) agent.Conclusion {
	s := o.step()
	in, errs := ParseCommentInputs(s.github.GetInput, o.Getenv)
	var c commented
	s.carryOut("comment", in.Token, errs, &c.outcome, func() error { return c.comment(ctx, s, in) })
	return s.tell(c.outcome, map[string]func(io.Writer) error{
		"GITHUB_OUTPUT": func(w io.Writer) error { return writePairs(w, c.pairs()) },
	})
}

func (c commented) pairs() []pair {
	return []pair{
		{"conclusion", string(c.conclusion)},
		{"result", truncate(c.message, maxOutput)},
		{"comment", c.url},
		{"line_comments", strconv.Itoa(c.lines)},
	}
}

// comment writes the review.
func (c *commented) comment(ctx context.Context, s *step, in CommentInputs) error {
	said, err := review.Parse([]byte(in.Review))
	if err != nil {
		return diag.WithHint(fmt.Errorf("input review: %w", err), "it is structured_output of the agent's job, with json_schema: review")
	}
	client := github.Client{API: s.Getenv("GITHUB_API_URL"), Token: in.Token, Repository: s.Getenv("GITHUB_REPOSITORY")}
	changed, err := client.PullFiles(ctx, in.Pull)
	if err != nil {
		return diag.WithHint(err, "the job needs pull-requests: write")
	}
	files := make([]review.File, len(changed))
	for i, f := range changed {
		files[i] = review.File(f)
	}
	shown, others := said.Place(files, in.MaxComments)
	if err := c.onLines(ctx, s, client, in.Pull, shown); err != nil {
		err = fmt.Errorf("the summary has all remarks, because none could stand on its line: %w", err)
		s.annotate("warning", "claude-sandbox comment", err)
		others = append(shown, others...)
	}
	return c.sticky(ctx, s, client, in, said.Summary, others)
}

// onLines makes the comments on lines that are not there from an earlier run. With an error
// none is made.
func (c *commented) onLines(ctx context.Context, s *step, client github.Client, pull int, remarks []review.Remark) error {
	if len(remarks) == 0 {
		return nil
	}
	there, err := client.LineComments(ctx, pull)
	if err != nil {
		return err
	}
	var comments []github.LineComment
	for _, r := range remarks {
		body := s.inert(r.Body)
		said := func(t github.Comment) bool { return t.Author.Type == "Bot" && t.Path == r.Path && same(t.Body, body) }
		if !slices.ContainsFunc(there, said) {
			comments = append(comments, github.LineComment{Path: r.Path, Line: r.Line, Side: "RIGHT", Body: body})
		}
	}
	if len(comments) == 0 {
		return nil
	}
	if err := client.AddReview(ctx, pull, comments); err != nil {
		return err
	}
	c.lines = len(comments)
	return nil
}

// inert is the agent's Markdown without secrets, which as references to characters would not
// be found any more.
func (s *step) inert(text string) string { return inert(s.clean.String(lines(text))) }

// same compares texts as GitHub keeps them.
func same(a, b string) bool {
	return strings.TrimSpace(strings.ReplaceAll(a, "\r\n", "\n")) == strings.TrimSpace(b)
}

// sticky makes the summary, or changes that of an earlier run.
func (c *commented) sticky(ctx context.Context, s *step, client github.Client, in CommentInputs, text string, rest []review.Remark) error {
	mark := "<!-- claude-sandbox: " + strings.NewReplacer("<", "", ">", "", "--", "").Replace(in.Title) + " -->"
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n### %s\n\n%s", mark, references(in.Title), s.inert(text))
	if len(rest) > 0 {
		b.WriteString("#### On lines that the changes do not show\n\n")
	}
	for _, r := range rest {
		entry := inlineCode(s.clean.String(r.Place())) + "\n\n" + s.inert(r.Body)
		if b.Len()+len(entry) > maxPull {
			b.WriteString("More is in the run's outputs.\n")
			break
		}
		b.WriteString(entry)
	}
	b.WriteString("\nAn agent in a sandbox wrote this; no person has checked it.\n")
	there, err := client.Comments(ctx, in.Pull)
	if err != nil {
		return err
	}
	body := b.String()
	// A person who writes the mark into a comment gets nothing by it: only a bot's counts.
	i := slices.IndexFunc(there, func(t github.Comment) bool { return t.Author.Type == "Bot" && strings.HasPrefix(t.Body, mark) })
	var made github.Comment
	if i >= 0 {
		made, err = client.ChangeComment(ctx, there[i].ID, body)
	}
	if e := (*github.Error)(nil); i < 0 || errors.As(err, &e) { // another bot's
		made, err = client.AddComment(ctx, in.Pull, body)
	}
	if err != nil {
		return err
	}
	c.conclusion, c.url = Commented, made.URL
	c.message = fmt.Sprintf("the review is %s, with %d new comments on lines", made.URL, c.lines)
	return nil
}
