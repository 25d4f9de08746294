// Package sbom writes what is in an image and where it came from, as documents
// that are attached to it: an SPDX bill of materials and a SLSA provenance
// statement. Both depend on their input alone.
//
//	Contents ─► SPDX ───────┐
//	Origin ───► Provenance ─┴─► Referrer(subject) ─► artifact.Manifest
package sbom

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Contents is what an image holds.
type Contents struct {
	Name      string  // the repository, REGISTRY/NAME
	Digest    v1.Hash // of the index
	Created   time.Time
	Tool      string // what writes the document, "sbx-devc-1.2.3"
	Platforms []Platform
}

// Platform is what the image for one platform holds.
type Platform struct {
	Name       string // "linux/amd64"
	Digest     v1.Hash
	BaseName   string // as in the lock
	BaseDigest v1.Hash
	Dpkg       []byte // the base's dpkg status
	NPM        []NPM
	Init       []Module // what sbx-init was built from
}

// NPM is an npm package in the image.
type NPM struct {
	Name, Version, Integrity string // Integrity as npm states it: sha512-BASE64
}

// Module is a part of a Go program: a module or, called stdlib, Go's library.
type Module struct {
	Path, Version string // Version is "" or "(devel)" for a program built from its source
}

// The parts of SPDX 2.3 (JSON form) that are used.
type spdxDocument struct {
	Version       string             `json:"spdxVersion"`
	License       string             `json:"dataLicense"`
	ID            string             `json:"SPDXID"`
	Name          string             `json:"name"`
	Namespace     string             `json:"documentNamespace"`
	Creation      spdxCreation       `json:"creationInfo"`
	Packages      []spdxPackage      `json:"packages"`
	Relationships []spdxRelationship `json:"relationships"`
	Licenses      []spdxLicense      `json:"hasExtractedLicensingInfos,omitempty"`
}

type spdxLicense struct {
	ID   string `json:"licenseId"`
	Name string `json:"name"`
	Text string `json:"extractedText"`
}

// claudeLicense stands for the terms of Claude Code, which are none of SPDX's.
var claudeLicense = spdxLicense{
	"LicenseRef-Claude-Code", "Terms of Claude Code",
	"© Anthropic PBC. All rights reserved. See package/LICENSE.md in the package for the terms.",
}

type spdxCreation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	ID               string         `json:"SPDXID"`
	Name             string         `json:"name"`
	Version          string         `json:"versionInfo,omitempty"`
	Supplier         string         `json:"supplier,omitempty"`
	DownloadLocation string         `json:"downloadLocation"`
	FilesAnalyzed    bool           `json:"filesAnalyzed"`
	LicenseConcluded string         `json:"licenseConcluded"`
	LicenseDeclared  string         `json:"licenseDeclared"`
	Copyright        string         `json:"copyrightText"`
	Checksums        []spdxChecksum `json:"checksums,omitempty"`
	Refs             []spdxRef      `json:"externalRefs,omitempty"`
}

type spdxChecksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type spdxRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type spdxRelationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

// noAssertion is SPDX's word for "not said here".
const noAssertion = "NOASSERTION"

// SPDX returns the bill of materials.
func SPDX(c Contents) ([]byte, error) {
	doc := newDocument(c.Name+"@"+c.Digest.String(), "https://github.com/org/claude-sandbox/spdx/"+c.Digest.Hex, c.Created, c.Tool)
	root := doc.add(spdxPackage{Name: c.Name, Version: c.Digest.String(), Checksums: sha256Sum(c.Digest),
		Refs: purl(oci(c.Name, c.Digest, ""))}, "image")
	doc.relate(doc.ID, "DESCRIBES", root)
	for _, p := range c.Platforms {
		image := doc.add(spdxPackage{Name: c.Name, Version: p.Digest.String(), Checksums: sha256Sum(p.Digest),
			Refs: purl(oci(c.Name, p.Digest, strings.TrimPrefix(p.Name, "linux/")))}, "image-"+p.Name)
		doc.relate(root, "CONTAINS", image)
		base := doc.add(spdxPackage{Name: p.BaseName, Version: p.BaseDigest.String(), Checksums: sha256Sum(p.BaseDigest)}, "base-"+p.Name)
		doc.relate(image, "DESCENDANT_OF", base)
		for _, d := range debian(p.Dpkg) {
			doc.relate(image, "CONTAINS", doc.add(d, "deb"))
		}
		for _, n := range p.NPM {
			pkg, err := n.spdx()
			if err != nil {
				return nil, err
			}
			doc.relate(image, "CONTAINS", doc.add(pkg, "npm"))
			doc.Licenses = []spdxLicense{claudeLicense}
		}
		for _, m := range p.Init {
			doc.relate(image, "CONTAINS", doc.add(m.spdx(), "go"))
		}
	}
	return json.Marshal(doc)
}

func newDocument(name, namespace string, created time.Time, tool string) *spdxDocument {
	return &spdxDocument{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name, Namespace: namespace,
		Creation: spdxCreation{created.UTC().Format("2006-01-02T15:04:05Z"), []string{"Tool: " + tool}},
	}
}

var notInIDs = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// add adds a package once and returns its id.
func (d *spdxDocument) add(p spdxPackage, kind string) string {
	id := kind
	if !strings.HasPrefix(kind, "image") && !strings.HasPrefix(kind, "base") {
		id += "-" + p.Name + "-" + p.Version
		if len(p.Refs) > 0 { // the same name and version for two architectures
			if _, arch, ok := strings.Cut(p.Refs[0].Locator, "arch="); ok {
				id += "-" + arch
			}
		}
	}
	p.ID = "SPDXRef-" + notInIDs.ReplaceAllString(id, "-")
	if slices.ContainsFunc(d.Packages, func(have spdxPackage) bool { return have.ID == p.ID }) {
		return p.ID
	}
	p.DownloadLocation, p.LicenseConcluded, p.Copyright = noAssertion, noAssertion, noAssertion
	p.LicenseDeclared = cmp.Or(p.LicenseDeclared, noAssertion)
	d.Packages = append(d.Packages, p)
	return p.ID
}

func (d *spdxDocument) relate(from, kind, to string) {
	d.Relationships = append(d.Relationships, spdxRelationship{from, kind, to})
}

func sha256Sum(h v1.Hash) []spdxChecksum {
	if h.Algorithm != "sha256" {
		return nil
	}
	return []spdxChecksum{{"SHA256", h.Hex}}
}

func purl(locator string) []spdxRef { return []spdxRef{{"PACKAGE-MANAGER", "purl", locator}} }

func oci(name string, h v1.Hash, arch string) string {
	last := name[strings.LastIndex(name, "/")+1:]
	query := url.Values{"repository_url": {name}}
	if arch != "" {
		query.Set("arch", arch)
	}
	return "pkg:oci/" + last + "@" + url.QueryEscape(h.String()) + "?" + query.Encode()
}

// debian reads the packages of a dpkg status file, ordered as there.
func debian(status []byte) []spdxPackage {
	var out []spdxPackage
	for paragraph := range strings.SplitSeq(string(status), "\n\n") {
		fields := map[string]string{}
		for line := range strings.Lines(paragraph) {
			if key, value, ok := strings.Cut(line, ":"); ok && key != "" && key[0] != ' ' {
				fields[key] = strings.TrimSpace(value)
			}
		}
		// A removed package may have left its configuration; it is not installed.
		installed := fields["Status"] == "" || strings.HasSuffix(fields["Status"], " installed")
		if fields["Package"] == "" || !installed {
			continue
		}
		locator := "pkg:deb/debian/" + url.PathEscape(fields["Package"]) + "@" + url.QueryEscape(fields["Version"]) + "?arch=" +
			fields["Architecture"]
		out = append(out, spdxPackage{Name: fields["Package"], Version: fields["Version"], Supplier: supplier(fields["Maintainer"]),
			Refs: purl(locator)})
	}
	return out
}

func supplier(maintainer string) string {
	if maintainer == "" {
		return ""
	}
	return "Organization: " + maintainer
}

func (n NPM) spdx() (spdxPackage, error) {
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(n.Integrity, "sha512-"))
	if err != nil || len(sum) != 64 {
		return spdxPackage{}, fmt.Errorf("the checksum %q of %s is no sha512", n.Integrity, n.Name)
	}
	return spdxPackage{
		Name: n.Name, Version: n.Version, Checksums: []spdxChecksum{{"SHA512", hex.EncodeToString(sum)}},
		LicenseDeclared: claudeLicense.ID,
		Refs:            purl("pkg:npm/" + strings.Replace(url.PathEscape(n.Name), "%2F", "/", 1) + "@" + url.PathEscape(n.Version)),
	}, nil
}

// GoModules reads what a Go program was built from.
func GoModules(program []byte) ([]Module, error) {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, err
	}
	out := []Module{{info.Main.Path, info.Main.Version}, {"stdlib", strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		out = append(out, Module{m.Path, m.Version})
	}
	return out, nil
}

func (m Module) spdx() spdxPackage {
	locator := "pkg:golang/" + m.Path
	if m.Version != "" && m.Version != "(devel)" {
		locator += "@" + url.PathEscape(m.Version)
	}
	return spdxPackage{Name: m.Path, Version: m.Version, Refs: purl(locator)}
}
