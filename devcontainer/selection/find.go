package selection

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// FileName is the file of a project that says which rules count.
const FileName = "sbx-devc.jsonc"

// Find reads the nearest sbx-devc.jsonc and baseline from dir upwards to top, both absolute
// folders. A link that leads out of top is an error, and so is a file that is not valid.
// The baseline is nil when there is none.
func Find(dir, top string) (*Selection, *Baseline, error) {
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	s := Default(top)
	if folder, src, err := nearest(root, dir, FileName); err != nil {
		return nil, nil, err
	} else if src != nil {
		if s, err = parsed(quoted(filepath.Join(folder, FileName)), src, "/validate", folder); err != nil {
			return nil, nil, err
		}
	}
	b, err := s.baseline(root, dir)
	return s, b, err
}

// Read reads a file that a person named, as FILE or as FILE#POINTER; without a pointer
// (RFC 6901) its section is "validate".
func Read(name string) (*Selection, *Baseline, error) {
	file, pointer, ok := strings.Cut(name, "#")
	if !ok {
		pointer = "/validate"
	}
	full, err := filepath.Abs(file)
	if err != nil {
		return nil, nil, err
	}
	src, err := filekind.Read(file, jsonc.MaxSize)
	if err != nil {
		return nil, nil, err
	}
	s, err := parsed(file, src, pointer, filepath.Dir(full))
	if err != nil {
		return nil, nil, err
	}
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	b, err := s.baseline(root, s.Root)
	return s, b, err
}

// baseline reads the baseline that a selection names, or the nearest one; nil when there is none.
func (s *Selection) baseline(root *os.Root, dir string) (*Baseline, error) {
	folder, name := s.Root, filepath.FromSlash(s.Baseline)
	var src []byte
	var err error
	if name == "" {
		name = BaselineName
		folder, src, err = nearest(root, dir, name)
	} else {
		src, err = readIn(root, folder, name)
		if err == nil && src == nil {
			return nil, nil // --write-baseline makes it
		}
	}
	if err != nil || src == nil {
		return nil, err
	}
	if s.File == "" {
		s.Root = folder
	}
	return ParseBaseline(quoted(filepath.Join(folder, name)), src)
}

// nearest reads the first file of a name from dir upwards to root; nil when there is none.
func nearest(root *os.Root, dir, name string) (folder string, src []byte, err error) {
	for folder = dir; ; folder = filepath.Dir(folder) {
		if src, err = readIn(root, folder, name); src != nil || err != nil {
			return folder, src, err
		}
		if folder == root.Name() || folder == filepath.Dir(folder) {
			return "", nil, nil
		}
	}
}

func readIn(root *os.Root, folder, name string) ([]byte, error) {
	rel, err := filepath.Rel(root.Name(), filepath.Join(folder, name))
	if err != nil {
		return nil, err
	}
	src, err := filekind.ReadIn(root, filepath.ToSlash(rel), jsonc.MaxSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, gone := root.Lstat(rel); gone != nil {
			return nil, nil
		}
		fallthrough
	case err != nil:
		hint := fmt.Sprintf("make it a regular file below %s, or remove it", quoted(root.Name()))
		if errors.Is(err, fs.ErrPermission) {
			hint = "look at the owner and the mode of the file and of every folder above it: the user who runs this may not use it"
		}
		return nil, diag.WithHint(fmt.Errorf("%s cannot be read: %w", quoted(filepath.Join(folder, name)), diag.WithoutPath(err)), "%s", hint)
	case src == nil:
		src = []byte{}
	}
	return src, nil
}

// quoted names a file as a person in the current folder would.
func quoted(full string) string {
	here, err := os.Getwd()
	if err != nil {
		return full
	}
	if rel, err := filepath.Rel(here, full); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return full
}

// parsed is Parse with everything that is wrong as one error.
func parsed(file string, src []byte, pointer, root string) (*Selection, error) {
	doc, findings := jsonc.Parse(file, src)
	var s *Selection
	if doc != nil && diag.Worst(findings, diag.SeverityError) == 0 {
		var wrong []diag.Finding
		s, wrong = Parse(doc, pointer, root)
		findings = append(findings, wrong...)
	}
	if s != nil {
		return s, nil
	}
	var all []string
	hint := ""
	for _, f := range findings {
		if f.Severity == diag.SeverityError {
			all = append(all, fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message))
			hint = cmp.Or(hint, f.Hint)
		}
	}
	return nil, diag.WithHint(fmt.Errorf("the choice of rules is not valid: %s", strings.Join(all, "; ")), "%s",
		cmp.Or(hint, "docs/checks.md says what it may hold"))
}
