package trigger

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/org/claude-sandbox/internal/filekind"
)

// Event is what started a workflow.
type Event struct {
	Name    string
	Actors  []string // everybody behind it: who caused it, who ran it again, and who caused the run before it
	Fork    bool     // it is about a commit of another repository, or its repository is not known
	Pull    bool     // it is about a pull request, and the workflow may check its commit out
	Text    string   // what somebody wrote: a comment, a review, or an issue's or pull request's title and text
	HasText bool
	Labels  []string // of the issue or pull request
	HasItem bool     // there is an issue or pull request
	// Base is a commit of the repository's own, on the branch that the event is about: a pull
	// request's base, or the default branch's. "" = unknown.
	Base string
}

// maxPayload bounds a payload, in bytes. GitHub's own bound is 25 MB.
const maxPayload = 32 << 20

// trusted are events that only people and programs with write access cause.
var trusted = []string{"push", "schedule", "workflow_dispatch", "repository_dispatch", "release", "merge_group"}

// isTrusted reports whether the event needs no question. "" is no workflow of GitHub's.
func (e Event) isTrusted() bool {
	return e.Name == "" || slices.Contains(trusted, e.Name) || e.Name == "pull_request" && !e.Fork
}

// Untrusted reports whether the commit that is checked out may be by somebody without write
// access. head is that commit, "" = unknown, and sha the one that GitHub gives the
// workflow, GITHUB_SHA.
func (e Event) Untrusted(head, sha string) bool {
	if e.isTrusted() || !e.Fork && !e.Pull {
		return false
	}
	return !slices.Contains(ofBase, e.Name) || head == "" || head != sha
}

// ofBase are events for which GITHUB_SHA is a commit of the repository's own branch.
var ofBase = []string{"issue_comment", "pull_request_target", "workflow_run"}

// payload is what is read of an event's.
type payload struct {
	Sender      user  `json:"sender"`
	Comment     *body `json:"comment"`
	Review      *body `json:"review"`
	Issue       *item `json:"issue"`
	PullRequest *item `json:"pull_request"`
	WorkflowRun *struct {
		Actor      user        `json:"actor"`
		Triggering user        `json:"triggering_actor"`
		Head       *repository `json:"head_repository"`
	} `json:"workflow_run"`
	Repository repository `json:"repository"`
}

type user struct {
	Login string `json:"login"`
}

type repository struct {
	Name string `json:"full_name"`
}

type body struct {
	Body string `json:"body"`
}

type item struct {
	Title  string `json:"title"`
	Body   string `json:"body"`
	Labels []struct {
		Name string `json:"name"`
	} `json:"labels"`
	Base struct {
		SHA string `json:"sha"`
	} `json:"base"`
	Head *struct {
		Repo *repository `json:"repo"` // null when the fork is gone
	} `json:"head"`
	PullRequest any `json:"pull_request"` // of an issue that is one
}

// Read reads the event of the step's environment. It errs when the payload cannot be read,
// unless the event needs none.
func Read(getenv func(string) string) (Event, error) {
	e := Event{Name: getenv("GITHUB_EVENT_NAME")}
	e.addActors(getenv("GITHUB_ACTOR"), getenv("GITHUB_TRIGGERING_ACTOR"))
	if e.Name != "pull_request" && e.isTrusted() {
		return e, nil
	}
	e.Fork = true // until the payload says otherwise
	var p payload
	text, err := filekind.Read(getenv("GITHUB_EVENT_PATH"), maxPayload)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return e, fmt.Errorf("reading the payload of the event %s: %w", e.Name, err)
	}
	if name := getenv("GITHUB_REPOSITORY"); name == "" || p.Repository.Name != name {
		return e, errors.New("the event's payload is not of this repository")
	}
	e.addActors(p.Sender.Login)
	e.Fork = false
	if slices.Contains(ofBase, e.Name) {
		e.Base = getenv("GITHUB_SHA")
	}
	if p.PullRequest != nil {
		e.Base = p.PullRequest.Base.SHA
	}
	if i := p.item(); i != nil {
		e.HasItem, e.Text = true, i.Title+"\n"+i.Body
		e.HasText = e.Name == "issues" || e.Name == "pull_request" || e.Name == "pull_request_target"
		e.Pull = p.PullRequest != nil || i.PullRequest != nil
		for _, l := range i.Labels {
			e.Labels = append(e.Labels, l.Name)
		}
		if i.Head != nil {
			e.Fork = i.Head.Repo == nil || i.Head.Repo.Name != p.Repository.Name
		}
	}
	for _, b := range []*body{p.Comment, p.Review} {
		if b != nil {
			e.HasText, e.Text = true, b.Body
		}
	}
	if e.Name == "pull_request" && p.PullRequest == nil || e.Name == "workflow_run" && p.WorkflowRun == nil {
		return e, fmt.Errorf("the payload of the event %s lacks what it is about", e.Name)
	}
	if r := p.WorkflowRun; r != nil {
		e.addActors(r.Actor.Login, r.Triggering.Login)
		e.Fork = r.Head == nil || r.Head.Name != p.Repository.Name
	}
	return e, nil
}

// item is what the event is about; nil = no issue and no pull request.
func (p payload) item() *item {
	if p.PullRequest != nil {
		return p.PullRequest
	}
	return p.Issue
}

func (e *Event) addActors(logins ...string) {
	for _, login := range logins {
		if login != "" && !slices.Contains(e.Actors, login) {
			e.Actors = append(e.Actors, login)
		}
	}
}
