package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/features"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/templates"
)

// localFeature is the Feature that this program carries, as files of the
// project. A folder of that name that holds something else is left alone.
func localFeature(dir string) ([]templates.File, error) {
	if there := readBelow(dir)(templates.LocalFeatureFolder + "/" + devcontainer.FeatureName); !ourFeature(there) {
		err := fmt.Errorf("%s is there and is not this Feature", filepath.Join(dir, filepath.FromSlash(templates.LocalFeatureFolder)))
		return nil, exitWith(exitRefused, diag.WithHint(err, "rename that folder, and what names it"))
	}
	feature, err := features.Firewall()
	if err != nil {
		return nil, exitWith(exitInternal, err)
	}
	files, err := feature.Files()
	if errors.Is(err, carried.ErrNotCarried) {
		err = diag.WithHint(err, "build sbx-devc with scripts/build, or use a released one")
	}
	if err != nil {
		return nil, exitWith(exitInternal, err)
	}
	// Git on Windows must not put carriage returns into scripts for a shell.
	out := []templates.File{{Path: templates.LocalFeatureFolder + "/.gitattributes", Content: []byte("* -text\n")}}
	for _, f := range files {
		out = append(out, templates.File{Path: templates.LocalFeatureFolder + "/" + f.Name, Content: f.Content})
	}
	return out, nil
}

// ourFeature reports whether a Feature's metadata is ours, or not there at all.
func ourFeature(metadata []byte) bool {
	if metadata == nil {
		return true
	}
	doc, _ := jsonc.Parse("", metadata)
	if doc == nil {
		return false
	}
	entrypoint, _ := doc.Root.Member("entrypoint").Str()
	return strings.HasPrefix(entrypoint, "/usr/local/share/sbx/")
}

// featurePolicy returns the policy of a dev container that has the Feature,
// which is its options; nil for every other. It errs when the options are none.
func featurePolicy(dir string) (policy *firewall.Policy, err error) {
	_ = devcontainer.Open(filepath.Join(dir, filepath.FromSlash(configPath)), func(p *devcontainer.Project) error {
		network, ok := devcontainer.FirewallNetwork(p)
		if !ok {
			return nil
		}
		var bad []firewall.EntryError
		if policy, bad = firewall.NewPolicy(network); bad != nil {
			err = bad[0]
		}
		return nil
	})
	return policy, err
}
