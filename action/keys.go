package action

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/settings"
)

// lines are an input's lines without comments and empty ones.
func (p *inputParser) lines(name string) (lines []string) {
	for line := range strings.SplitSeq(p.get(name), "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

const keyHint = "write PUSH=env:APP_TOKEN for git:github.com/acme/app, one a line; APP_TOKEN: ${{ secrets.APP_TOKEN }} in the step's env"

// keys refuses keys that come from anywhere but the step's environment: what a workflow has
// of secrets is there, and commands and files could be a stranger's.
func (p *inputParser) keys(in Inputs) {
	all := in.given().Secrets
	for _, s := range all {
		if from, err := s.Reference(); err != nil || from.Kind != settings.ReferenceEnv {
			p.fail(keyHint, "input keys: %s comes from no variable of the step", s.Name)
		}
	}
	if len(all) < len(in.Keys) {
		p.fail("give each its own name, also where several have one source: PUSH=env:APP_TOKEN for …, API=env:APP_TOKEN for …",
			"input keys: two keys have the same name")
	}
}

// KeyVariables are the variables that an input keys names, as far as it can be read: main
// takes them out of the environment before anything else is done.
func KeyVariables(input string) (names []string) {
	p := &inputParser{get: func(string) string { return input }}
	for _, line := range p.lines("keys") {
		of, _, _ := strings.Cut(line, " ")
		name, from, found := strings.Cut(of, "=")
		if found {
			name = strings.TrimPrefix(from, "env:")
		}
		names = append(names, name)
	}
	return names
}

// keyValues finds the values of the keys by name. It errs for each that has none.
func (in Inputs) keyValues(getenv func(string) string) (values map[string]string, errs []error) {
	values = map[string]string{}
	for _, s := range in.given().Secrets {
		from, err := s.Reference()
		if err != nil || from.Kind != settings.ReferenceEnv { // which ParseInputs told
			continue
		}
		if values[s.Name] = strings.TrimSpace(getenv(from.Of)); values[s.Name] == "" {
			errs = append(errs, diag.WithHint(fmt.Errorf("input keys: the step has no variable %s, of which the key %s is", from.Of, s.Name),
				"set it in the step's env: %[1]s: ${{ secrets.%[1]s }}; secrets are empty in workflows that a fork's pull request starts", from.Of))
		}
	}
	return values, errs
}

// unusedKey errs for a key of the inputs that the plan does not use: a workflow means it.
func unusedKey(in Inputs, plan *runplan.Plan) error {
	var errs []error
	for _, s := range in.given().Secrets {
		if !slices.ContainsFunc(plan.Keys, func(k runplan.Key) bool { return k.Name == s.Name }) {
			errs = append(errs, diag.WithHint(fmt.Errorf("input keys: no request can have the key %s", s.Name),
				"egress has to be block, and allowed_domains needs the entry: %s", s.For))
		}
	}
	return errors.Join(errs...)
}
