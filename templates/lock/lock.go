package lock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/templates"
)

// Path is where the lock lies in a project.
const Path = ".devcontainer/sandbox.lock"

// version is the form of the file. A later form gets a higher number, and this
// program then refuses the file rather than misread it.
const version = 1

// Lock is the content of the file. Its JSON form is stable: equal locks are
// equal bytes, members are added and never change their meaning.
type Lock struct {
	Version  int      `json:"lockVersion"`
	Template Template `json:"template"`
	// Options are those that somebody chose; all others follow the template.
	Options map[string]string `json:"options"`
	Tools   []string          `json:"tools,omitempty"` // of further languages, as templates.AddTools takes them
	Presets []string          `json:"presets"`         // added to the template's
	Allow   []string          `json:"allow"`
	Private []string          `json:"private,omitempty"` // names of Allow that lead to private addresses
	Network string            `json:"network,omitempty"` // of the engine, in which these are; "" = none is joined
	// Facts are what init found in the project, so that an update does not
	// depend on whose clone it runs in.
	Facts    templates.Facts `json:"facts"`
	Workflow bool            `json:"workflow,omitempty"`
	Claude   Claude          `json:"claude"`
	SbxInit  SbxInit         `json:"sbxInit"`
	// Images are what the files build on, sorted by name.
	Images []Image `json:"images"`
	// Base is what the template wrote, by path, in lines: the third side of the
	// merge when it writes something else one day.
	Base map[string][]string `json:"base"`
}

// Template says which template wrote the files.
type Template struct {
	ID      string `json:"id"`
	Version string `json:"version"`
	Digest  string `json:"digest"` // of the template's archive, as it is published
}

// Claude is the Claude Code that the image installs.
type Claude struct {
	Version   string            `json:"version"`
	Integrity map[string]string `json:"integrity"` // npm's, by npm's name of the architecture
}

// SbxInit is the binary that the image copies.
type SbxInit struct {
	Image  string            `json:"image"`
	SHA256 map[string]string `json:"sha256"` // by Go's name of the architecture; empty when this program carries none, or another
}

// Image is one image that the files name.
type Image struct {
	Reference string `json:"reference"`
	Digest    string `json:"digest"` // "" = not looked up yet
}

// Input is what init was asked for.
type Input struct {
	Template       string
	Options        map[string]string
	Tools          []string // of further languages, as templates.AddTools takes them
	Presets, Allow []string
	Private        []string // names of Allow that lead to private addresses
	Network        string   // of the engine, in which these are, as devcontainer.json names it; "" = none is joined
	Facts          templates.Facts
	Workflow       bool
}

// New renders what the input asks for and describes it. initSHA256 are the sums
// of the sbx-init binaries by architecture. It is pure; the error wraps
// templates.ErrUnknown or templates.ErrOption when the input is the reason.
func New(in Input, initSHA256 map[string]string) (*Lock, []templates.File, error) {
	t, err := templates.Load(in.Template)
	if err != nil {
		return nil, nil, err
	}
	files, err := t.Render(in.Options)
	if err == nil && len(in.Tools) > 0 {
		files, err = templates.AddTools(files, in.Tools)
	}
	if err == nil {
		files, err = templates.Adapt(files, in.Facts, settings.Lists{Presets: in.Presets, Allow: in.Allow, Private: in.Private}, in.Network)
	}
	if err == nil && in.Workflow {
		var w templates.File
		w, err = templates.Workflow(files)
		files = append(files, w)
	}
	if err != nil {
		return nil, nil, err
	}
	l := &Lock{
		Version:  version,
		Template: Template{t.ID, t.Version, t.Digest()},
		Options:  maps.Clone(in.Options),
		Tools:    in.Tools,
		Presets:  append([]string{}, in.Presets...),
		Allow:    append([]string{}, in.Allow...),
		Private:  in.Private,
		Network:  in.Network,
		Facts:    in.Facts,
		Workflow: in.Workflow,
		SbxInit:  SbxInit{Image: t.Value("initImage", in.Options)},
		Claude: Claude{t.Value("claudeVersion", in.Options), map[string]string{
			"x64": t.Value("claudeIntegrityX64", in.Options), "arm64": t.Value("claudeIntegrityArm64", in.Options),
		}},
		Base: map[string][]string{},
	}
	if l.Options == nil {
		l.Options = map[string]string{}
	}
	for _, f := range files {
		l.Base[f.Path] = strings.Split(string(f.Content), "\n")
	}
	l.setReferences(References(files), nil)
	l.RenewInit(initSHA256)
	return l, files, nil
}

// Input returns what the lock's files were asked for.
func (l *Lock) Input() Input {
	return Input{l.Template.ID, l.Options, l.Tools, l.Presets, l.Allow, l.Private, l.Network, l.Facts, l.Workflow}
}

// BaseFile returns what the template wrote at path, or nil.
func (l *Lock) BaseFile(path string) []byte {
	lines, ok := l.Base[path]
	if !ok {
		return nil
	}
	return []byte(strings.Join(lines, "\n"))
}

// setReferences lists these images, with the digests that old knows.
func (l *Lock) setReferences(references []string, old []Image) {
	l.Images = []Image{}
	for _, r := range references {
		image := Image{Reference: r}
		if i := slices.IndexFunc(old, func(o Image) bool { return o.Reference == r }); i >= 0 {
			image.Digest = old[i].Digest
		}
		if _, digest, ok := strings.Cut(r, "@"); ok {
			image.Digest = digest
		}
		l.Images = append(l.Images, image)
	}
}

// Encode writes the file.
func (l *Lock) Encode() []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(struct {
		Schema string `json:"$schema"`
		*Lock
	}{schema, l}); err != nil {
		panic(err) // texts and numbers always encode
	}
	return b.Bytes()
}

const schema = "https://raw.githubusercontent.com/org/claude-sandbox/v1/schemas/sandbox-lock.schema.json"

// Parse reads the file. It refuses what it does not know: a lock that is
// misread would make an update lose edits.
func Parse(text []byte) (*Lock, error) {
	var l struct {
		Schema string `json:"$schema"`
		Lock
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	fail := func(err error) (*Lock, error) {
		return nil, diag.WithHint(fmt.Errorf("%s: %w", Path, err),
			"take it from an earlier commit, or make the dev container anew with 'sbx-devc init --force'")
	}
	if err := dec.Decode(&l); err != nil {
		return fail(fmt.Errorf("line %d: %w", lineOf(text, err, dec.InputOffset()), err))
	}
	if dec.More() {
		return fail(fmt.Errorf("text after the end of the value"))
	}
	switch {
	case l.Version > version:
		return nil, diag.WithHint(fmt.Errorf("%s has the form %d, and this sbx-devc reads up to %d", Path, l.Version, version),
			"use a newer sbx-devc")
	case l.Version < 1:
		return fail(fmt.Errorf("no lockVersion"))
	case l.Template.ID == "" || len(l.Base) == 0:
		return fail(fmt.Errorf("no template, or no base"))
	}
	for name := range l.Base {
		if !safePath.MatchString(name) || strings.Contains(name, "..") {
			return fail(fmt.Errorf("base: %q is no path of a template", name))
		}
	}
	return &l.Lock, nil
}

// IsOther reports whether text is JSON of another form: that of an image's lock.
func IsOther(text []byte) bool {
	var l struct{ LockVersion int }
	return json.Unmarshal(text, &l) == nil && l.LockVersion == 0
}

// lineOf is the line of text in which the decoder, which had read offset bytes, met err.
func lineOf(text []byte, err error, offset int64) int {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset - 1 // of the byte itself
	case errors.As(err, &kind):
		offset = kind.Offset
	case errors.Is(err, io.ErrUnexpectedEOF):
		offset = int64(len(bytes.TrimRight(text, "\n")))
	}
	return 1 + bytes.Count(text[:min(max(offset, 0), int64(len(text)))], []byte("\n"))
}

// safePath keeps a lock that somebody else wrote from naming files outside the
// places that templates write to.
var safePath = regexp.MustCompile(`^(\.devcontainer/[A-Za-z0-9_.-]+|\.github/workflows/claude\.yml)$`)

// Paths returns the files that the template wrote, sorted.
func (l *Lock) Paths() []string { return slices.Sorted(maps.Keys(l.Base)) }
