package lock

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/templates"
)

// Stale is in which ways a lock no longer describes the files, in sentences.
type Stale struct {
	Other   []string // the files name something that is not locked, or no longer what is
	Moved   []string // the same under another version or digest, as bots leave it behind
	Unknown []string // locked without a digest
}

// All returns every sentence.
func (s Stale) All() []string { return slices.Concat(s.Other, s.Moved, s.Unknown) }

// Stale compares the lock with the files as they are. It is pure.
func (l *Lock) Stale(files []templates.File, initSHA256 map[string]string) Stale {
	var out Stale
	now := *l
	now.Describe(files, l)
	lacks := func(list []Image, reference string) bool {
		return !slices.ContainsFunc(list, func(i Image) bool { return i.Reference == reference })
	}
	moved := map[string]bool{}
	for _, i := range now.Images {
		if !lacks(l.Images, i.Reference) || i.Reference == now.SbxInit.Image && now.SbxInit.Image != l.SbxInit.Image { // that is said below
			continue
		}
		of := func(o Image) bool { return repository(o.Reference) == repository(i.Reference) }
		was := slices.IndexFunc(l.Images, func(o Image) bool { return of(o) && lacks(now.Images, o.Reference) })
		if was < 0 { // another stage still names the locked one
			was = slices.IndexFunc(l.Images, of)
		}
		if was < 0 {
			out.Other = append(out.Other, fmt.Sprintf("the image %s is not locked", i.Reference))
			continue
		}
		moved[repository(i.Reference)] = true
		out.Moved = append(out.Moved, fmt.Sprintf("the image %s is not locked; %s is", i.Reference, l.Images[was].Reference))
	}
	for _, i := range l.Images {
		switch {
		case !lacks(now.Images, i.Reference):
			if i.Digest == "" {
				out.Unknown = append(out.Unknown, fmt.Sprintf("the image %s is locked without a digest", i.Reference))
			}
		case !moved[repository(i.Reference)]:
			out.Other = append(out.Other, fmt.Sprintf("the image %s is locked and no file names it", i.Reference))
		}
	}
	if now.Claude.Version != l.Claude.Version || !maps.Equal(now.Claude.Integrity, l.Claude.Integrity) {
		out.Moved = append(out.Moved, fmt.Sprintf("Claude Code %s is locked, and the Dockerfile installs %s or another checksum",
			l.Claude.Version, now.Claude.Version))
	}
	if now.SbxInit.Image != l.SbxInit.Image {
		out.Moved = append(out.Moved, fmt.Sprintf("sbx-init of %s is locked, and the Dockerfile copies that of %s", l.SbxInit.Image,
			now.SbxInit.Image))
		return out
	}
	for _, arch := range slices.Sorted(maps.Keys(initSHA256)) {
		if have, ok := l.SbxInit.SHA256[arch]; ok && have != initSHA256[arch] && l.SbxInit.Image == release.InitImage() {
			out.Other = append(out.Other, fmt.Sprintf("the sbx-init of %s (linux/%s) is another one now", l.SbxInit.Image, arch))
		}
	}
	return out
}

// repository is an image's name without tag and digest.
func repository(reference string) string {
	name, _, _ := strings.Cut(reference, "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name = name[:i]
	}
	return name
}

// Describe takes over what the files name: images, Claude Code and sbx-init.
// Digests come from old.
func (l *Lock) Describe(files []templates.File, old *Lock) {
	l.setReferences(References(files), old.Images)
	l.Claude.Integrity = maps.Clone(l.Claude.Integrity)
	for _, f := range files {
		if path.Base(f.Path) != "Dockerfile" {
			continue
		}
		for line := range strings.Lines(string(f.Content)) {
			name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
			switch {
			case !ok:
			case name == "ARG CLAUDE_VERSION":
				l.Claude.Version = value
			case name == "ARG CLAUDE_INTEGRITY_X64":
				l.Claude.Integrity["x64"] = value
			case name == "ARG CLAUDE_INTEGRITY_ARM64":
				l.Claude.Integrity["arm64"] = value
			}
		}
		for _, s := range dockerfile.Parse(f.Path, f.Content, dockerfile.Options{}).Stages {
			for _, i := range s.Instructions {
				for _, from := range i.Sources() {
					if from != l.SbxInit.Image && repository(from) == repository(l.SbxInit.Image) {
						l.SbxInit = SbxInit{from, map[string]string{}} // whose sums are not known here
					}
				}
			}
		}
	}
}

// RenewInit takes over the sums of the sbx-init that this program carries, if
// it is the one that the Dockerfile copies.
func (l *Lock) RenewInit(sums map[string]string) {
	l.SbxInit.SHA256 = map[string]string{}
	if l.SbxInit.Image == release.InitImage() {
		l.SbxInit.SHA256 = sums
	}
}
