package operationtest

import (
	"net/http"
	"strings"
)

// Case is a request.
type Case struct {
	Name   string
	Method string
	Host   string
	Target string // path and query, as they stand in the request
	Body   string
	Header http.Header
}

// URL is "HOST/PATH?QUERY".
func (c Case) URL() string { return c.Host + c.Target }

// Class is requests that some entries do not allow.
type Class struct {
	Name    string
	Entries []string
	Before  []Exchange // that come first, and are allowed
	Cases   []Case
}

// Exchange is a request and the data of its answer, as JSON.
type Exchange struct {
	Case
	Data string
}

// Classes returns all of them.
func Classes() []Class {
	return []Class{GitHub(), GitHubOfOnesOwn(), GraphQL(), GitLab(), Registries(), Disguises()}
}

// lines reads "METHOD HOST/PATH?QUERY BODY".
func lines(texts ...string) (cases []Case) {
	for _, text := range texts {
		method, rest, _ := strings.Cut(text, " ")
		url, body, _ := strings.Cut(rest, " ")
		host, target, _ := strings.Cut(url, "/")
		cases = append(cases, Case{Name: text, Method: method, Host: host, Target: "/" + target, Body: body})
	}
	return cases
}
