package sbom

import (
	"encoding/json"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Release is what a release on GitHub holds.
type Release struct {
	Repository string // OWNER/NAME
	Version    string // without a leading v
	Created    time.Time
	Tool       string // what writes the document
	Programs   []Program
}

// Program is a program of a release.
type Program struct {
	Name    string // of its file
	SHA256  v1.Hash
	Modules []Module
}

// SPDX returns the bill of materials.
func (r Release) SPDX() ([]byte, error) {
	name := r.Repository + "@v" + r.Version
	doc := newDocument(name, "https://github.com/"+r.Repository+"/releases/tag/v"+r.Version, r.Created, r.Tool)
	root := doc.add(spdxPackage{Name: r.Repository, Version: r.Version, Refs: purl("pkg:github/" + name)}, "release")
	doc.relate(doc.ID, "DESCRIBES", root)
	for _, p := range r.Programs {
		program := doc.add(spdxPackage{Name: p.Name, Version: r.Version, Checksums: sha256Sum(p.SHA256)}, "program")
		doc.relate(root, "CONTAINS", program)
		for _, m := range p.Modules {
			doc.relate(program, "CONTAINS", doc.add(m.spdx(), "go"))
		}
	}
	return json.Marshal(doc)
}
