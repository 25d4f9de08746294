package imagebuild

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/base"
	"github.com/org/claude-sandbox/imagebuild/lock"
	"github.com/org/claude-sandbox/imagebuild/sbom"
	"github.com/org/claude-sandbox/internal/release"
)

// Kinds are the artifact types of the documents that Documents makes.
func Kinds() []string { return []string{sbom.SPDXType, sbom.ProvenanceType} }

// Run is who builds, for the provenance; zero = a person's machine.
type Run struct {
	Builder    string // URL of the workflow
	Invocation string // URL of its run
}

// Documents returns the SBOM and the provenance of an assembled image, as
// referrers of its index. It reads the base unless the store knows its packages.
func Documents(ctx context.Context, m Materials, s Spec, a artifact.Artifact, repository string, run Run) ([]artifact.Manifest, error) {
	tool := "sbx-devc-" + release.Version
	contents := sbom.Contents{Name: repository, Digest: a.Index.Digest, Created: s.Lock.SourceDate, Tool: tool}
	origin := sbom.Origin{
		Name: repository, Digest: a.Index.Digest, Source: s.About.Source, Revision: s.About.Revision,
		Builder: run.Builder, Invocation: run.Invocation, Tool: tool,
		Parameters: map[string]string{"policySHA256": sha256Hex(s.Policy)},
	}
	if lockFile, err := s.Lock.Format(); err == nil {
		origin.Parameters["lockSHA256"] = sha256Hex(lockFile)
	}
	opened := m.open(s.Lock.Base)
	for _, p := range s.Lock.Base.Platforms {
		arch := lock.Arch(p.Platform)
		image, ok := a.For(arch)
		if !ok {
			continue
		}
		below := base.Image{Layers: opened.layers(p)}
		facts, err := m.facts(ctx, below)
		if err != nil {
			return nil, fmt.Errorf("listing the packages for %s: %w", p.Platform, err)
		}
		sum, err := m.initSum(arch)
		if err != nil {
			return nil, err
		}
		modules, err := m.initModules(arch, sum)
		if err != nil {
			return nil, fmt.Errorf("reading the modules of sbx-init for %s: %w", p.Platform, err)
		}
		ref := cmp.Or(p.Ref, s.Lock.Base.Ref)
		part := sbom.Platform{Name: p.Platform, Digest: image.Digest, BaseName: publicName(ref), BaseDigest: p.Digest, Dpkg: facts.Dpkg,
			Init: modules}
		origin.Materials = append(origin.Materials,
			sbom.Material{URI: baseURI(ref), Digest: map[string]string{"sha256": p.Digest.Hex}},
			sbom.Material{URI: "sbx-init?arch=" + arch, Digest: map[string]string{"sha256": sum}})
		if c, ok := s.Lock.ClaudeFor(p.Platform); ok && !s.WithoutClaude {
			part.NPM = append(part.NPM, sbom.NPM{Name: c.Package, Version: s.Lock.Claude.Version, Integrity: c.Integrity})
			origin.Materials = append(origin.Materials,
				sbom.Material{URI: "pkg:npm/" + c.Package + "@" + s.Lock.Claude.Version, Digest: sbom.FromIntegrity(c.Integrity)})
		}
		contents.Platforms = append(contents.Platforms, part)
	}
	bill, err := sbom.SPDX(contents)
	if err != nil {
		return nil, fmt.Errorf("writing the SBOM: %w", err)
	}
	statement, err := sbom.Provenance(origin)
	if err != nil {
		return nil, fmt.Errorf("writing the provenance: %w", err)
	}
	created := map[string]string{prefix + "created": s.Lock.SourceDate.Format(time.RFC3339)}
	var out []artifact.Manifest
	for _, d := range []struct {
		kind string
		data []byte
	}{{sbom.SPDXType, bill}, {sbom.ProvenanceType, statement}} {
		r, err := sbom.Referrer(a.Index.Descriptor, d.kind, d.data, created)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// baseURI names a base in the provenance.
func baseURI(ref string) string {
	if registryRepo(ref) != "" {
		return "pkg:docker/" + ref
	}
	return publicName(ref)
}

func sha256Hex(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
