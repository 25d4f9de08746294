package operation

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

// Bounds of a document, so that none costs more to judge than to answer.
const (
	maxGraphTokens = 20_000
	maxGraphFields = 20_000 // with fragments spread
	maxGraphDepth  = 40

	maxGraphFragments = 200 // and variables
)

var (
	errGraphMany     = errors.New("the document holds more than one operation")
	errGraphKind     = errors.New("the document's operation is neither a query nor a mutation")
	errGraphDeep     = errors.New("the document is too deep or too long")
	errGraphFragment = errors.New("the document's fragments cannot be told")
	errGraphAlias    = errors.New("the document gives two fields one name")
	errGraphInput    = errors.New("a mutation has one input, and each of its members is known")
	errGraphMixed    = errors.New("the document changes more than one repository")
)

// graphReach is how far a document may go from an object.
type graphReach int

const (
	graphRepository graphReach = iota // a repository of an entry
	graphItem                         // an issue or a pull request of it
	graphPart                         // what is below
	graphElsewhere                    // what may be of another
	graphSchema                       // the schema itself
)

// graphShape is what a document asks for, as the response will have it.
type graphShape struct {
	names    map[string]string // of fields, by the name in the response
	children map[string]*graphShape
	repo     []string // of objects whose ids are worth remembering
}

func newGraphShape(repo []string) *graphShape {
	return &graphShape{names: map[string]string{}, children: map[string]*graphShape{}, repo: repo}
}

// graphDocument is a document while it is judged.
type graphDocument struct {
	fragments ast.FragmentDefinitionList
	operation *ast.OperationDefinition
	variables map[string]any
	ids       siteIDs
	fields    int

	repo  []string // that it changes
	reads [][]string
	names []string // of the operations
	shape *graphShape
}

func (g *github) judgeGraphQL(d *Decision, site githubSite, m *Memory, req *Request, body *Body) {
	d.Operation = "github graphql"
	doc, err := readGraph(m.idsAt(site), req, body)
	if err == nil {
		err = doc.walkRoot()
	}
	if err != nil {
		d.Reason = err.Error()
		return
	}
	for _, repo := range doc.reads {
		if g.allow(d, site, repo, githubRead); !d.Allowed {
			return
		}
	}
	if len(doc.names) > 0 {
		g.allow(d, site, doc.repo, doc.names...)
	} else if len(doc.reads) == 0 {
		g.allowCommon(d, site)
	}
	if d.Allowed {
		d.Observe = doc.shape.observer(doc.ids, body)
	}
}

func readGraph(ids siteIDs, req *Request, body *Body) (*graphDocument, error) {
	if req.Method != http.MethodPost || req.Query != "" || len(req.Header["Content-Encoding"]) > 0 {
		return nil, errors.New("this is no request of GraphQL that clients send")
	}
	text, err := body.Whole(maxAPIBody)
	if err != nil {
		return nil, err
	}
	members, err := parseGitHubBody(req, body, text)
	if err != nil {
		return nil, err
	}
	for name := range members {
		if !slices.Contains([]string{"query", "variables", "operationName"}, name) {
			return nil, fmt.Errorf("the request's member %q is not known here", name)
		}
	}
	query, _ := members["query"].(string)
	variables, ok := members["variables"].(map[string]any)
	if !ok && members["variables"] != nil {
		return nil, errors.New("the request's variables are no object")
	}
	return parseGraph(ids, query, variables)
}

func parseGraph(ids siteIDs, query string, variables map[string]any) (*graphDocument, error) {
	parsed, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: query}, maxGraphTokens)
	switch {
	case err != nil:
		return nil, errors.New("the document cannot be read")
	case len(parsed.Operations) != 1:
		return nil, errGraphMany
	case len(parsed.Fragments) > maxGraphFragments || len(parsed.Operations[0].VariableDefinitions) > maxGraphFragments:
		return nil, errGraphDeep
	}
	doc := &graphDocument{fragments: parsed.Fragments, operation: parsed.Operations[0], variables: variables, ids: ids}
	doc.shape = newGraphShape(nil)
	seen := map[string]bool{}
	for _, f := range parsed.Fragments {
		if seen[f.Name] {
			return nil, errGraphFragment
		}
		seen[f.Name] = true
	}
	for _, v := range doc.operation.VariableDefinitions {
		if seen["$"+v.Variable] {
			return nil, errGraphInput
		}
		seen["$"+v.Variable] = true
	}
	return doc, nil
}

// eachField calls visit for the fields of a selection, with those of its fragments.
// Conditions on types and directives are no limits: they only leave out.
func (d *graphDocument) eachField(set ast.SelectionSet, depth int, visit func(*ast.Field) error) error {
	if d.fields += len(set); d.fields > maxGraphFields || depth > maxGraphDepth {
		return errGraphDeep
	}
	for _, selection := range set {
		var err error
		switch s := selection.(type) {
		case *ast.Field:
			err = visit(s)
		case *ast.InlineFragment:
			err = d.eachField(s.SelectionSet, depth+1, visit)
		case *ast.FragmentSpread:
			f := d.fragments.ForName(s.Name)
			if f == nil {
				return errGraphFragment
			}
			err = d.eachField(f.SelectionSet, depth+1, visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *graphDocument) walkRoot() error {
	switch d.operation.Operation {
	case ast.Query:
		return d.eachField(d.operation.SelectionSet, 0, d.walkQuery)
	case ast.Mutation:
		return d.eachField(d.operation.SelectionSet, 0, d.walkMutation)
	}
	return errGraphKind
}

// walkQuery judges a field of the query itself.
func (d *graphDocument) walkQuery(f *ast.Field) error {
	switch f.Name {
	case "repository":
		owner, err := d.argument(f, "owner")
		if err != nil {
			return err
		}
		name, err := d.argument(f, "name")
		if err != nil {
			return err
		}
		repo := []string{lowerASCII(owner), lowerASCII(name)}
		d.reads = append(d.reads, repo)
		return d.walkInto(d.shape, f, graphRepository, repo)
	case "node":
		id, err := d.argument(f, "id")
		if err != nil {
			return err
		}
		repo, err := d.repositoryOf(id)
		if err != nil {
			return err
		}
		d.reads = append(d.reads, repo)
		return d.walkInto(d.shape, f, graphPart, nil)
	case "viewer", "rateLimit":
		return d.walkInto(d.shape, f, graphElsewhere, nil)
	case "__type", "__schema", "__typename":
		return d.walkInto(d.shape, f, graphSchema, nil)
	}
	return fmt.Errorf("the query's field %q does not say which repository it is about", f.Name)
}

// walkInto judges a field's selection, and notes where its ids will be.
func (d *graphDocument) walkInto(at *graphShape, f *ast.Field, reach graphReach, repo []string) error {
	child, err := at.child(f, repo)
	if err != nil {
		return err
	}
	return d.walk(child, f.SelectionSet, reach, 0)
}

// child is the shape below a field; fields of one name in the response share it.
func (s *graphShape) child(f *ast.Field, repo []string) (*graphShape, error) {
	key := f.Alias
	if name, taken := s.names[key]; taken && name != f.Name {
		return nil, errGraphAlias
	}
	s.names[key] = f.Name
	child := s.children[key]
	if child == nil {
		child = newGraphShape(repo)
		s.children[key] = child
	}
	if !slices.Equal(child.repo, repo) {
		return nil, errGraphAlias
	}
	return child, nil
}

func (d *graphDocument) walk(at *graphShape, set ast.SelectionSet, reach graphReach, depth int) error {
	return d.eachField(set, depth, func(f *ast.Field) error {
		next, repo := reach, at.repo
		if len(f.SelectionSet) > 0 {
			var ok bool
			if next, ok = reach.through(f.Name); !ok {
				return fmt.Errorf("the document's field %q may lead to other repositories", f.Name)
			}
		} else if reach == graphElsewhere && !graphWho[f.Name] {
			return fmt.Errorf("the document's field %q may be another repository's", f.Name)
		}
		if next != graphRepository && next != graphItem {
			repo = nil
		}
		child, err := at.child(f, repo)
		if err != nil {
			return err
		}
		return d.walk(child, f.SelectionSet, next, depth+1)
	})
}

// through says how far a field with a selection leads.
func (r graphReach) through(field string) (next graphReach, ok bool) {
	switch {
	case r == graphSchema:
		return r, true
	case r == graphElsewhere:
		return r, graphOutside[field] || graphPages[field]
	case r == graphRepository && graphItems[field]:
		return graphItem, true
	case graphOutside[field] && !graphParts[field]:
		return graphElsewhere, true
	case graphPages[field] && r != graphRepository:
		return r, true
	}
	return graphPart, graphParts[field]
}

// walkMutation judges a field of the mutation itself.
func (d *graphDocument) walkMutation(f *ast.Field) error {
	known, ok := githubMutations[f.Name]
	if !ok {
		return fmt.Errorf("no entry can allow the mutation %q", f.Name)
	}
	if len(f.Arguments) != 1 || f.Arguments[0].Name != "input" {
		return errGraphInput
	}
	value, err := d.value(f.Arguments[0].Value, 0)
	if err != nil {
		return err
	}
	input, ok := value.(map[string]any)
	if !ok {
		return errGraphInput
	}
	if err := d.checkInput(known, input); err != nil {
		return err
	}
	name := known.name
	if known.check != nil {
		if name, err = known.check(d.repo, input); err != nil {
			return err
		}
	}
	d.names = append(d.names, name)
	return d.walkPayload(f)
}

// checkInput takes an input whose ids are all of one repository.
func (d *graphDocument) checkInput(known githubMutation, input map[string]any) error {
	if input[known.ids[0]] == nil {
		return errGraphInput
	}
	for member, value := range input {
		switch {
		case slices.Contains(known.other, member) || member == "clientMutationId":
			continue
		case !slices.Contains(known.ids, member):
			return errGraphInput
		}
		id, ok := value.(string)
		if !ok {
			return errGraphInput
		}
		repo, err := d.repositoryOf(id)
		if err != nil {
			return err
		}
		if d.repo != nil && !slices.Equal(d.repo, repo) {
			return errGraphMixed
		}
		d.repo = repo
	}
	return nil
}

// walkPayload judges what a mutation gives back: the item that it made, or parts.
func (d *graphDocument) walkPayload(f *ast.Field) error {
	at, err := d.shape.child(f, nil)
	if err != nil {
		return err
	}
	return d.eachField(f.SelectionSet, 0, func(f *ast.Field) error {
		if f.Name == "pullRequest" || f.Name == "issue" {
			return d.walkInto(at, f, graphItem, d.repo)
		}
		reach := graphPart
		if len(f.SelectionSet) > 0 && !graphParts[f.Name] {
			reach = graphElsewhere
		}
		return d.walkInto(at, f, reach, nil)
	})
}

func (d *graphDocument) repositoryOf(id string) ([]string, error) {
	if repo := d.ids.repositoryOf(id); repo != nil {
		return repo, nil
	}
	return nil, errors.New("the document names an id that this sandbox did not see in an allowed repository")
}

// argument returns the one argument of a name, which must be a text.
func (d *graphDocument) argument(f *ast.Field, name string) (string, error) {
	text, found := "", false
	for _, a := range f.Arguments {
		if a.Name != name {
			continue
		}
		value, err := d.value(a.Value, 0)
		if err != nil {
			return "", err
		}
		again := found
		if text, found = value.(string); !found || again {
			return "", fmt.Errorf("the argument %q of %q is no one text", name, f.Name)
		}
	}
	if !found || strings.Contains(text, "/") {
		return "", fmt.Errorf("the argument %q of %q is no one text", name, f.Name)
	}
	return text, nil
}

// value returns a value with its variables.
func (d *graphDocument) value(v *ast.Value, depth int) (any, error) {
	if v == nil || depth > maxGraphDepth {
		return nil, errGraphInput
	}
	switch v.Kind {
	case ast.Variable:
		return d.variable(v.Raw)
	case ast.StringValue, ast.BlockValue, ast.EnumValue:
		return v.Raw, nil
	case ast.NullValue:
		return nil, nil
	case ast.IntValue, ast.FloatValue, ast.BooleanValue:
		return json.Number(v.Raw), nil
	}
	if v.Kind == ast.ListValue {
		values := []any{}
		for _, child := range v.Children {
			one, err := d.value(child.Value, depth+1)
			if err != nil {
				return nil, err
			}
			values = append(values, one)
		}
		return values, nil
	}
	members := map[string]any{}
	for _, child := range v.Children {
		one, err := d.value(child.Value, depth+1)
		if _, twice := members[child.Name]; twice || err != nil {
			return nil, errGraphInput
		}
		members[child.Name] = one
	}
	return members, nil
}

func (d *graphDocument) variable(name string) (any, error) {
	definition := d.operation.VariableDefinitions.ForName(name)
	if definition == nil {
		return nil, errGraphInput
	}
	if value, given := d.variables[name]; given {
		return value, nil
	}
	if definition.DefaultValue == nil {
		return nil, nil
	}
	if definition.DefaultValue.Kind == ast.Variable {
		return nil, errGraphInput
	}
	return d.value(definition.DefaultValue, 1)
}
