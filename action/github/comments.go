package github

import (
	"context"
	"fmt"
	"net/http"
)

// PullFile is a file that a pull request changes.
type PullFile struct {
	Path  string `json:"filename"`
	Patch string `json:"patch"` // hunks without headers; "" for a large or binary file
}

// Comment is one on an issue or a pull request, or on a line of a pull request's changes.
type Comment struct {
	ID     int64  `json:"id"`
	URL    string `json:"html_url"`
	Body   string `json:"body"`
	Path   string `json:"path"` // "" = it is on no line
	Author struct {
		Type string `json:"type"` // "Bot" for a job's token and for apps
	} `json:"user"`
}

// LineComment is a Comment on a line as it is made.
type LineComment struct {
	Path string `json:"path"`
	Line int    `json:"line"` // of the changed file
	Side string `json:"side"` // RIGHT, the changed file
	Body string `json:"body"`
}

// Bounds of a list.
const (
	pageSize = 100
	maxPages = 30 // GitHub shows no more files of a pull request
)

// list reads all pages of a list, up to maxPages of them.
func list[T any](ctx context.Context, c Client, path string) (all []T, err error) {
	for page := 1; page <= maxPages; page++ {
		var some []T
		if err := c.call(ctx, http.MethodGet, fmt.Sprintf("%s?per_page=%d&page=%d", path, pageSize, page), nil, &some); err != nil {
			return nil, err
		}
		if all = append(all, some...); len(some) < pageSize {
			break
		}
	}
	return all, nil
}

// PullFiles returns the files that a pull request changes.
func (c Client) PullFiles(ctx context.Context, number int) ([]PullFile, error) {
	return list[PullFile](ctx, c, fmt.Sprintf("/pulls/%d/files", number))
}

// Comments returns the comments on a pull request that are on no line.
func (c Client) Comments(ctx context.Context, number int) ([]Comment, error) {
	return list[Comment](ctx, c, fmt.Sprintf("/issues/%d/comments", number))
}

// LineComments returns those on lines.
func (c Client) LineComments(ctx context.Context, number int) ([]Comment, error) {
	return list[Comment](ctx, c, fmt.Sprintf("/pulls/%d/comments", number))
}

// AddComment makes a comment on a pull request.
func (c Client) AddComment(ctx context.Context, number int, body string) (made Comment, err error) {
	err = c.call(ctx, http.MethodPost, fmt.Sprintf("/issues/%d/comments", number), map[string]string{"body": body}, &made)
	return made, err
}

// ChangeComment gives a comment another text.
func (c Client) ChangeComment(ctx context.Context, id int64, body string) (made Comment, err error) {
	err = c.call(ctx, http.MethodPatch, fmt.Sprintf("/issues/comments/%d", id), map[string]string{"body": body}, &made)
	return made, err
}

// AddReview makes comments on lines of a pull request, all or none. It approves nothing and
// asks for no changes. GitHub refuses a line that the changes do not show.
func (c Client) AddReview(ctx context.Context, number int, comments []LineComment) error {
	asked := map[string]any{"event": "COMMENT", "comments": comments}
	return c.call(ctx, http.MethodPost, fmt.Sprintf("/pulls/%d/reviews", number), asked, nil)
}
