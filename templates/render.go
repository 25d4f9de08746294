package templates

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// File is one file to be written.
type File struct {
	Path    string // slash-separated, relative to the project folder
	Content []byte
}

// option is the reference dev container CLI's own pattern.
var option = regexp.MustCompile(`\$\{templateOption:\s*(\w+?)\s*\}`)

// plain is what a value may consist of outside JSON: enough for image
// references, versions, checksums and time zones, and nothing that a
// Dockerfile or a shell reads as more than text.
var plain = regexp.MustCompile(`^[A-Za-z0-9@%+=:,./_-]+$`)

// Render fills the template's options into its files; options left out have
// their defaults. It is pure. The error wraps ErrOption when a value or an
// option's name is the reason.
func (t *Template) Render(options map[string]string) ([]File, error) {
	values, err := t.values(options)
	if err != nil {
		return nil, err
	}
	var files []File
	err = fs.WalkDir(t.files, ".devcontainer", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(t.files, name)
		if err != nil {
			return err
		}
		content, err := fill(name, string(text), values)
		files = append(files, File{name, []byte(content)})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("template %s: %w", t.ID, err)
	}
	return files, nil
}

func fill(name, text string, values map[string]string) (string, error) {
	var firstErr error
	isJSON := strings.HasPrefix(path.Ext(name), ".json")
	out := option.ReplaceAllStringFunc(text, func(match string) string {
		id := option.FindStringSubmatch(match)[1]
		value, ok := values[id]
		switch {
		case !ok:
			firstErr = fmt.Errorf("%s refers to the option %q, which does not exist", name, id)
		case isJSON:
			return escapeJSON(value)
		case value != "" && !plain.MatchString(value) && firstErr == nil:
			firstErr = diag.WithHint(fmt.Errorf("%w %s: %q cannot stand in a %s", ErrOption, id, value, path.Base(name)),
				"letters, digits and @%%+=:,./_- are accepted")
		}
		return value
	})
	return out, firstErr
}

// escapeJSON returns value as the inside of a JSON string. A reference to
// another option or variable in it stays text.
func escapeJSON(value string) string {
	quoted := jsonc.Quote(value)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], "${", `\u0024{`)
}
