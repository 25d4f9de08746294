package publish

import (
	"github.com/org/claude-sandbox/features"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/templates"
)

// Collections packs the templates and the Features that this program carries. Without the
// firewall's binaries it errs with carried.ErrNotCarried, and returns the templates.
func Collections() (templateArtifacts, featureArtifacts []Artifact, err error) {
	var sources []Source
	for _, id := range templates.IDs() {
		t, err := templates.Load(id)
		if err != nil {
			return nil, nil, err
		}
		archive, err := t.Archive()
		if err != nil {
			return nil, nil, err
		}
		sources = append(sources, Source{ID: t.ID, Version: t.Version, Metadata: t.Manifest(), Archive: archive})
	}
	if templateArtifacts, err = Pack(Templates, sources); err != nil {
		return nil, nil, err
	}
	sources = nil
	for _, load := range []func() (*features.Feature, error){features.Claude, features.Firewall} {
		f, err := load()
		if err != nil {
			return templateArtifacts, nil, err
		}
		archive, err := f.Archive()
		if err != nil {
			return templateArtifacts, nil, diag.WithHint(err, "build sbx-devc with scripts/build, or use a released one")
		}
		sources = append(sources, Source{ID: f.ID, Version: f.Version, Metadata: f.Metadata, Archive: archive})
	}
	featureArtifacts, err = Pack(Features, sources)
	return templateArtifacts, featureArtifacts, err
}
