package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/org/claude-sandbox/features"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/lock"
)

// Commands for a dev container of init's own, on one of the user's with the
// Feature in it: there is no template, and so no sandbox.lock. What init --extend
// would write now takes the template's place.

// updateExtended brings an extended dev container to what this version protects.
func (a *app) updateExtended(o updateOptions, dir string) error {
	if len(o.options) > 0 {
		err := fmt.Errorf("--option %s: %s is no template's, and has no template options", o.options[0], dir)
		return exitWith(exitCheckUsage, diag.WithHint(err, "the Feature's options are in %s", configPath))
	}
	x, err := a.extension(dir, readBelow(dir)(configPath), nil, nil)
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	switch {
	case len(x.changed) == 0:
		if _, err := a.prepare(dir, x.seen, o); err != nil {
			return err
		}
		fmt.Fprintln(a.stderr, "sbx-devc: up to date with this sbx-devc's Feature")
		return nil
	case o.dryRun:
		return a.showFiles(dir, x.changed, "changed")
	case o.check:
		for _, f := range x.changed {
			fmt.Fprintf(a.stdout, "%s would change\n", f.Path)
		}
		return exitWith(exitFindings, nil)
	}
	if err := a.refuseExtension(dir, x); err != nil {
		return exitWith(exitFindings, err)
	}
	if err := writeWithFolders(dir, &x.seen, x.changed, true); err != nil {
		return exitWith(exitNoCheck, err)
	}
	a.wroteExtension(dir, x)
	return nil
}

// driftExtended says what update would change in an extended dev container.
func (a *app) driftExtended(dir string) error {
	x, err := a.extension(dir, readBelow(dir)(configPath), nil, nil)
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	for _, f := range x.changed {
		fmt.Fprintf(shown(a.stdout), "%s: behind what this sbx-devc writes\n", f.Path)
	}
	if len(x.changed) > 0 {
		fmt.Fprintln(a.stderr, "sbx-devc: 'sbx-devc update' writes it")
		return exitWith(exitFindings, nil)
	}
	return nil
}

// lockShowExtended shows which Feature an extended dev container has.
func (a *app) lockShowExtended(dir string) error {
	config := readBelow(dir)(configPath)
	out := shown(a.stdout)
	if templates.ExtendedLocally(config) {
		state := "of another sbx-devc; 'sbx-devc update' brings this one's"
		if x, err := a.extension(dir, config, nil, nil); err == nil && !featureChanges(x) {
			state = "as this sbx-devc carries it"
		}
		feature, err := features.Firewall()
		if err != nil {
			return exitWith(exitInternal, err)
		}
		fmt.Fprintf(out, "feature   %s %s (%s)\n", templates.LocalFeature, feature.Version, state)
		return nil
	}
	locked := lockedFeatures(readBelow(dir)(lock.FeaturesPath))
	doc, _ := jsonc.Parse("", config)
	for _, m := range doc.Root.Member("features").Members {
		digest := locked[m.Name]
		if digest == "" {
			digest = "(not looked up)"
		}
		fmt.Fprintf(out, "feature   %s %s\n", m.Name, digest)
	}
	return nil
}

func featureChanges(x *extension) bool {
	for _, f := range x.changed {
		if strings.HasPrefix(f.Path, templates.LocalFeatureFolder+"/") {
			return true
		}
	}
	return false
}

// lockedFeatures reads the digests of the standard's lock of Features; one that
// cannot be read has none.
func lockedFeatures(text []byte) map[string]string {
	var file struct {
		Features map[string]struct {
			Integrity string `json:"integrity"`
		} `json:"features"`
	}
	digests := map[string]string{}
	if json.Unmarshal(text, &file) == nil {
		for id, f := range file.Features {
			digests[id] = f.Integrity
		}
	}
	return digests
}
