package lock

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/templates"
)

// Resolver knows registries.
type Resolver interface {
	// Digest returns the digest that the reference stands for now.
	Digest(ctx context.Context, reference string) (string, error)
	// Manifest returns the manifest itself, for artifacts that say more in it.
	Manifest(ctx context.Context, reference string) (digest string, manifest []byte, err error)
}

// LookUp fills in the digests of all images. One that cannot be looked up keeps
// what it had, and its error is returned with the others.
func (l *Lock) LookUp(ctx context.Context, r Resolver) (failed []error) {
	for i, image := range l.Images {
		if strings.Contains(image.Reference, "@") {
			continue // the name is the digest
		}
		digest, err := r.Digest(ctx, image.Reference)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		l.Images[i].Digest = digest
	}
	return failed
}

// FeaturesPath is where the standard has the lock of Features.
const FeaturesPath = ".devcontainer/devcontainer-lock.json"

// FeatureLock is an entry of the standard's lock: containers.dev, "Lockfiles".
type FeatureLock struct {
	Version   string   `json:"version"`
	Resolved  string   `json:"resolved"`
	Integrity string   `json:"integrity"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

// features returns the Features from registries that devcontainer.json names.
func features(files []templates.File) []string {
	var out []string
	for _, f := range files {
		if path.Base(f.Path) != "devcontainer.json" {
			continue
		}
		doc, _ := jsonc.Parse("", f.Content)
		if doc == nil {
			continue
		}
		node := doc.Root.Member("features")
		if node == nil {
			continue
		}
		for _, m := range node.Members {
			if strings.Contains(m.Name, "/") && !strings.HasPrefix(m.Name, ".") && !strings.Contains(m.Name, "://") {
				out = append(out, m.Name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// LockFeatures returns the standard's lock of the Features that the files name,
// with those that they depend on, or nil when they name none.
func LockFeatures(ctx context.Context, files []templates.File, r Resolver) ([]byte, error) {
	queue := features(files)
	locked := map[string]FeatureLock{}
	for len(queue) > 0 {
		id := queue[0]
		queue = queue[1:]
		if _, done := locked[id]; done {
			continue
		}
		digest, manifest, err := r.Manifest(ctx, id)
		if err != nil {
			return nil, err
		}
		entry, err := lockFeature(id, digest, manifest)
		if err != nil {
			return nil, err
		}
		locked[id] = entry
		queue = append(queue, entry.DependsOn...)
	}
	if len(locked) == 0 {
		return nil, nil
	}
	text, err := json.MarshalIndent(map[string]any{"features": locked}, "", "  ")
	return append(text, '\n'), err
}

func lockFeature(id, digest string, manifest []byte) (FeatureLock, error) {
	var m struct {
		Annotations map[string]string `json:"annotations"`
	}
	var metadata struct {
		Version   string         `json:"version"`
		DependsOn map[string]any `json:"dependsOn"`
	}
	if err := json.Unmarshal(manifest, &m); err != nil {
		return FeatureLock{}, fmt.Errorf("the manifest of %s: %w", id, err)
	}
	if err := json.Unmarshal([]byte(m.Annotations["dev.containers.metadata"]), &metadata); err != nil {
		return FeatureLock{}, fmt.Errorf("the metadata of the Feature %s: %w", id, err)
	}
	ref, err := name.ParseReference(id)
	if err != nil {
		return FeatureLock{}, err
	}
	return FeatureLock{metadata.Version, ref.Context().Name() + "@" + digest, digest, slices.Sorted(maps.Keys(metadata.DependsOn))}, nil
}

// LockedFeatures reads the standard's lock; text is nil when there is none.
func LockedFeatures(text []byte) (map[string]FeatureLock, error) {
	var file struct {
		Features map[string]FeatureLock `json:"features"`
	}
	if text == nil {
		return nil, nil
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", FeaturesPath, err)
	}
	return file.Features, nil
}

// StaleFeatures says which Features the standard's lock lacks or has too many
// of; text is nil when there is no such lock.
func StaleFeatures(files []templates.File, text []byte) ([]string, error) {
	named := features(files)
	if text == nil && len(named) == 0 {
		return nil, nil
	}
	locked, err := LockedFeatures(text)
	if err != nil {
		return nil, err
	}
	var out, needed []string
	for _, id := range named {
		if _, ok := locked[id]; !ok {
			out = append(out, fmt.Sprintf("the Feature %s is not locked", id))
		}
		needed = append(needed, id)
	}
	for _, f := range locked {
		needed = append(needed, f.DependsOn...)
	}
	for _, id := range slices.Sorted(maps.Keys(locked)) {
		if !slices.Contains(needed, id) {
			out = append(out, fmt.Sprintf("the Feature %s is locked and not used", id))
		}
	}
	return out, nil
}
