package baseimage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

var (
	ubuntuNames  = []string{"bionic", "focal", "jammy", "noble"}
	languageTags = []string{"node", "python", "golang", "ruby", "php", "rust"}
	variantFirst = lazyregexp.New(`^(bookworm|bullseye|buster|trixie|slim|alpine)-(\d[\d.]*)$`)
	variantOrder = lazyregexp.New(`^(\d[\d.]*-)(bookworm|bullseye|buster|trixie|slim)-(bookworm|bullseye|buster|trixie|slim)$`)
	plainNumber  = lazyregexp.New(`^\d+(\.\d+)*$`)
	alpineNumber = lazyregexp.New(`^(3(\.\d+)*|2\.[67]|\d{8})$`)
	codeNames    = []string{"bookworm", "bullseye", "buster", "stretch", "trixie", "alpine", "slim"}
	tagWord      = lazyregexp.New(`^[a-z]{4,}$`)
	twoNumbers   = lazyregexp.New(`^\d+\.\d+-`)
	ubuntuMonth  = lazyregexp.New(`^\d\d\.(04|10)$`)
)

// NoSuchTag says why an official image certainly has no such tag, "" when it may have it, and what to write.
func NoSuchTag(image string) (why, hint string) {
	name, tag := split(image)
	if strings.ContainsAny(image, "$@") || tag == "" && name != "nvidia/cuda" {
		return "", ""
	}
	switch {
	case name == "nvidia/cuda" && (tag == "" || tag == "latest"):
		return "nvidia/cuda has no tag latest", "write a version and a system, such as nvidia/cuda:12.6.3-devel-ubuntu24.04"
	case name == "nvidia/cuda" && twoNumbers.MatchString(tag):
		return fmt.Sprintf("NVIDIA took %s away: the tags that are left have a version of three numbers", image),
			"write a version that is there, such as 11.8.0 or 12.6.3"
	case slices.Contains(languageTags, name):
		for _, of := range ubuntuNames {
			if slices.Contains(strings.Split(tag, "-"), of) {
				return fmt.Sprintf("%s has images of Debian and Alpine, and none of Ubuntu's %s", name, of), "write bookworm for " + of
			}
		}
		for _, word := range strings.Split(tag, "-") {
			if near := diag.Suggest(word, codeNames); near != "" && near != word && tagWord.MatchString(word) {
				return fmt.Sprintf("%s has no tag %s", name, tag), fmt.Sprintf("did you mean %s:%s?", name, strings.ReplaceAll(tag, word, near))
			}
		}
		if m := variantOrder.FindStringSubmatch(tag); m != nil {
			release := m[2]
			if release == "slim" {
				release = m[3]
			}
			switch {
			case name == "golang" || name == "php":
				return fmt.Sprintf("%s has no slim images", name), fmt.Sprintf("write %s:%s%s", name, m[1], release)
			case name == "node" && m[2] == "slim":
				return fmt.Sprintf("node has no tag %s", tag), fmt.Sprintf("did you mean node:%s%s-slim?", m[1], release)
			case name != "node" && m[3] == "slim":
				return fmt.Sprintf("%s has no tag %s", name, tag), fmt.Sprintf("did you mean %s:%sslim-%s?", name, m[1], release)
			}
		}
		if m := variantFirst.FindStringSubmatch(tag); m != nil {
			return fmt.Sprintf("%s has no tag %s: the version stands in front", name, tag), fmt.Sprintf("write %s:%s-%s", name, m[2], m[1])
		}
	case name == "alpine" && plainNumber.MatchString(tag) && !alpineNumber.MatchString(tag):
		return fmt.Sprintf("there is no Alpine %s", tag), "the versions are 3.20, 3.21 and so on"
	case name == "ubuntu" && plainNumber.MatchString(tag) && strings.Count(tag, ".") == 1 && !ubuntuMonth.MatchString(tag):
		return fmt.Sprintf("there is no Ubuntu %s", tag), "the versions end with .04 and .10"
	}
	return "", ""
}
