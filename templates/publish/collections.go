package publish

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/distribution/reference"

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

// WriteAll writes the archives of both collections and their metadata to dir/templates and
// dir/features, and returns the paths. The same program writes the same bytes.
func WriteAll(dir string) (written []string, err error) {
	ts, fs, err := Collections()
	if err != nil {
		return nil, err
	}
	for i, artifacts := range [][]Artifact{ts, fs} {
		to := filepath.Join(dir, []string{"templates", "features"}[i])
		if err := os.MkdirAll(to, 0o755); err != nil {
			return nil, err
		}
		var files []templates.File
		for _, artifact := range artifacts {
			files = append(files, templates.File{Path: artifact.File, Content: artifact.Layer})
			written = append(written, filepath.Join(to, artifact.File))
		}
		if err := templates.WriteFiles(to, files, true); err != nil {
			return nil, fmt.Errorf("writing into %s: %w", to, err)
		}
	}
	return written, nil
}

// CheckNamespace refuses what no artifact can be pushed below; "" is none, and fine.
func CheckNamespace(namespace string) error {
	if _, err := reference.Parse(namespace + "/x"); err != nil && namespace != "" {
		return diag.WithHint(fmt.Errorf("%q is no namespace: %w", namespace, err), "write it as REGISTRY/NAME, for example ghcr.io/me/templates")
	}
	return nil
}
