package adopt

import (
	"errors"
	"fmt"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/contract"
	"github.com/org/claude-sandbox/features"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/lock"
	"github.com/org/claude-sandbox/templates/scaffold"
)

// localFeature is a Feature that this program carries, as files of the project. A
// folder of that name that holds something else is left alone.
func localFeature(dir scaffold.Folder, folder string, ours func(metadata []byte) bool, load func() (*features.Feature, error)) (
	[]templates.File, error,
) {
	there := dir.Read(folder + "/" + devcontainer.FeatureName)
	if there != nil && !ours(there) {
		err := fmt.Errorf("%s is there and is not this Feature", dir.Path(folder))
		return nil, refused(diag.WithHint(err, "rename that folder, and what names it"))
	}
	feature, err := load()
	if err != nil {
		return nil, err
	}
	files, err := feature.Files()
	if errors.Is(err, carried.ErrNotCarried) {
		err = diag.WithHint(err, "build sbx-devc with scripts/build, or use a released one")
	}
	if err != nil {
		return nil, err
	}
	// Git on Windows must not put carriage returns into scripts for a shell.
	out := []templates.File{{Path: folder + "/.gitattributes", Content: []byte("* -text\n")}}
	for _, f := range files {
		out = append(out, templates.File{Path: folder + "/" + f.Name, Content: f.Content})
	}
	return out, nil
}

// OwnFeature reports whether a file is one of the Features that this program
// carries, with their binaries.
func OwnFeature(f templates.File) bool {
	return strings.HasPrefix(f.Path, templates.LocalFeatureFolder+"/") || strings.HasPrefix(f.Path, templates.LocalClaudeFolder+"/")
}

// Policy returns the policy of a dev container that has the Feature, which is its
// options; nil for every other. It errs when the options are none.
func Policy(dir scaffold.Folder) (policy *firewall.Policy, err error) {
	_ = devcontainer.Open(dir.Path(scaffold.ConfigPath), func(p *devcontainer.Project) error {
		var bad []firewall.EntryError
		if policy, bad = contract.FirewallPolicy(p); bad != nil {
			err = bad[0]
		}
		return nil
	})
	return policy, err
}

// Feature is a Feature of a dev container with what pins it.
type Feature struct {
	Name    string
	Local   bool   // the firewall in the project's own folder
	Version string // of it, as this program carries it
	Current bool   // it is as this program carries it
	Digest  string // of a published one; "" = never looked up
}

// Features lists the Features of an extended dev container: the local firewall
// alone where there is one, and otherwise all.
func Features(dir scaffold.Folder) (list []Feature, err error) {
	config := dir.Read(scaffold.ConfigPath)
	if templates.ExtendedLocally(config) {
		feature, err := features.Firewall()
		if err != nil {
			return nil, err
		}
		x, err := Plan(dir, config, lock.Input{})
		current := err == nil
		for i := 0; current && i < len(x.Changed); i++ {
			current = !OwnFeature(x.Changed[i])
		}
		return []Feature{{Name: templates.LocalFeature, Local: true, Version: feature.Version, Current: current}}, nil
	}
	locked, _ := lock.LockedFeatures(dir.Read(lock.FeaturesPath)) // of one that cannot be read no digest is known
	doc, _ := jsonc.Parse("", config)
	for _, m := range doc.Root.Member("features").Members {
		list = append(list, Feature{Name: m.Name, Digest: locked[m.Name].Integrity})
	}
	return list, nil
}
