package devcontainer

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// gap is a part of the configuration that was not looked at: no finding about it
// means nothing.
type gap struct {
	Node     *jsonc.Node // what names it; nil for a file next to the configuration
	Message  string
	Severity diag.Severity
}

func (p *Project) gap(n *jsonc.Node, name, why string, severity diag.Severity) {
	p.Gaps = append(p.Gaps, gap{n, fmt.Sprintf("%s is not checked: %s", name, why), severity})
}

// isAbsent reports whether a tree knows that nothing has the name.
func isAbsent(t Tree, name string) bool {
	d, ok := t.(interface{ absent(string) bool })
	return ok && d.absent(name)
}

// Unreadable says why a file that is there cannot be used; "" when it can, and
// when there is none.
func (p *Project) Unreadable(full string, src []byte, err error) string {
	switch {
	case err == nil && len(src) > jsonc.MaxSize:
		return fmt.Sprintf("it is larger than %d bytes", jsonc.MaxSize)
	case err == nil:
		return ""
	case isAbsent(p.Tree, full):
		return ""
	case p.Tree.Kind(full) == Folder:
		return "it is a folder"
	case errors.Is(err, fs.ErrNotExist) && p.Tree.Kind(full) == Nothing:
		if HasEntry(p.Tree, full) {
			return "it is no regular file, or a link that leads nowhere or out of the repository"
		}
		return ""
	}
	var place *fs.PathError
	if errors.As(err, &place) {
		err = place.Err
	}
	return err.Error()
}
