package github

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/org/claude-sandbox/internal/visible"
)

// Client speaks to one repository's part of the API.
type Client struct {
	API        string // the base URL, as GITHUB_API_URL has it
	Token      string
	Repository string // OWNER/NAME
}

// Error is an answer that is no success.
type Error struct {
	Status  int
	Message string // GitHub's, on one line
}

func (e *Error) Error() string { return fmt.Sprintf("GitHub answers %d: %s", e.Status, e.Message) }

// Bounds of one request.
const (
	maxTime   = 30 * time.Second
	maxAnswer = 4 << 20 // bytes
)

// repositoryName is OWNER/NAME as GitHub has them.
var repositoryName = regexp.MustCompile(`^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$`)

// call makes a request below the repository's path. in and out are JSON; nil = none.
func (c Client) call(ctx context.Context, method, path string, in, out any) error {
	if !repositoryName.MatchString(c.Repository) {
		return fmt.Errorf("%q is no OWNER/NAME of a repository", c.Repository)
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.API, "/")+"/repos/"+c.Repository+path, &body)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+c.Token)
	r.Header.Set("Accept", "application/vnd.github+json")
	r.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { // the token is for one address
		return errors.New("GitHub answers with another address")
	}}
	response, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("asking GitHub: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("reading GitHub's answer: %w", err)
	}
	if response.StatusCode/100 != 2 {
		return failure(response.StatusCode, text)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("reading GitHub's answer: %w", err)
	}
	return nil
}

// failure reads an answer that is none.
func failure(status int, text []byte) error {
	var said struct {
		Message string `json:"message"`
		Errors  []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	_ = json.Unmarshal(text, &said) // a gateway answers with a page
	for _, e := range said.Errors {
		said.Message += ": " + e.Message
	}
	if said.Message == "" {
		said.Message = http.StatusText(status)
	}
	return &Error{status, visible.Line(fmt.Sprintf("%.300s", said.Message))}
}

// Permission returns what a user may do in the repository: "admin", "write", "read" or
// "none"; a role such as maintain counts as the nearest of these below it.
func (c Client) Permission(ctx context.Context, user string) (string, error) {
	var answer struct {
		Permission string `json:"permission"`
	}
	err := c.call(ctx, http.MethodGet, "/collaborators/"+url.PathEscape(user)+"/permission", nil, &answer)
	if e := (*Error)(nil); errors.As(err, &e) && e.Status == http.StatusNotFound {
		return "none", nil
	}
	if err == nil && answer.Permission == "" {
		err = errors.New("GitHub's answer has no permission")
	}
	return answer.Permission, err
}

// Pull is a pull request as it is opened.
type Pull struct {
	Title string `json:"title"`
	Head  string `json:"head"` // the branch with the changes
	Base  string `json:"base"` // the branch that they are for
	Body  string `json:"body"`
	Draft bool   `json:"draft"`
}

// Opened is a pull request that is there.
type Opened struct {
	Number int    `json:"number"`
	URL    string `json:"html_url"`
	Draft  bool   `json:"draft"`
}

// OpenPull opens a pull request.
func (c Client) OpenPull(ctx context.Context, p Pull) (opened Opened, err error) {
	err = c.call(ctx, http.MethodPost, "/pulls", p, &opened)
	if err == nil && opened.Number <= 0 {
		err = errors.New("GitHub's answer has no number of a pull request")
	}
	return opened, err
}

// ClosePull closes a pull request without merging it.
func (c Client) ClosePull(ctx context.Context, number int) error {
	return c.call(ctx, http.MethodPatch, fmt.Sprintf("/pulls/%d", number), map[string]string{"state": "closed"}, nil)
}

// RequestReview asks users and teams of the organisation to review a pull request.
func (c Client) RequestReview(ctx context.Context, number int, users, teams []string) error {
	asked := map[string][]string{"reviewers": users, "team_reviewers": teams}
	return c.call(ctx, http.MethodPost, fmt.Sprintf("/pulls/%d/requested_reviewers", number), asked, nil)
}
