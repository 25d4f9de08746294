package imagebuild

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/org/claude-sandbox/imagebuild/base"
	"github.com/org/claude-sandbox/imagebuild/tags"
	"github.com/org/claude-sandbox/internal/diag"
)

// Destination is one repository and the tags that a push writes there.
type Destination struct {
	Repository string // REGISTRY/NAME
	Tags       []tags.Tag
}

// imageTag is what registries take for a tag (OCI distribution specification 1.1,
// "Pulling manifests").
var imageTag = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)

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
		if _, err := name.NewRepository(repo); err != nil { // before a lock is read
			return nil, diag.WithHint(err, "write it as REGISTRY/NAME, for example ghcr.io/me/sandbox")
		}
		if repo != ref {
			if !imageTag.MatchString(tag) {
				return nil, diag.WithHint(fmt.Errorf("%q: %q is no tag", ref, tag),
					"a tag has letters, digits, '_', '.' and '-', and at most 128 of them")
			}
			out[i].Tags = append(out[i].Tags, tags.Tag{Name: tag, Immutable: tags.IsImmutable(tag)})
		}
	}
	return out, nil
}
