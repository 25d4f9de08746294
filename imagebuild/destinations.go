package imagebuild

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/imagebuild/base"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/imagebuild/tags"
	"github.com/org/claude-sandbox/internal/diag"
)

// Destination is one repository and the tags that a push writes there.
type Destination struct {
	Repository string // REGISTRY/NAME
	Tags       []tags.Tag
}

// Destinations groups references, REGISTRY/NAME or REGISTRY/NAME:TAG, by repository, in
// the order given. It errs for one that is no such reference: when a registry refused it,
// the tags before it would be written.
func Destinations(refs []string) ([]Destination, error) {
	var out []Destination
	for _, ref := range refs {
		if strings.Contains(ref, "@") {
			return nil, diag.WithHint(fmt.Errorf("%s: a push decides the digest", ref), "write REGISTRY/NAME:TAG")
		}
		repo, tag := base.SplitRef(ref)
		i := slices.IndexFunc(out, func(d Destination) bool { return d.Repository == repo })
		if i < 0 {
			i = len(out)
			out = append(out, Destination{Repository: repo})
		}
		if err := registry.CheckName(repo, tag); err != nil { // before a lock is read
			return nil, err
		}
		if repo != ref {
			out[i].Tags = append(out[i].Tags, tags.Tag{Name: tag, Immutable: tags.IsImmutable(tag)})
		}
	}
	return out, nil
}
