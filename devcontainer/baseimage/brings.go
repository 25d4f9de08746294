package baseimage

import (
	_ "embed"
	"strings"
	"sync"
)

// apt.txt and apk.txt have a package a line, and behind it those of the judged programs that it may bring: with all
// that it depends on, recommends, or takes in the place of another. apt.txt was made with "apt-cache depends
// --recurse" of Debian 12 and 13.
var (
	//go:embed apt.txt
	byApt string
	//go:embed apk.txt
	byApk string
)

var packages = sync.OnceValue(func() map[Family]map[string][]string {
	out := map[Family]map[string][]string{Debian: {}, Alpine: {}}
	for family, text := range map[Family]string{Debian: byApt, Alpine: byApk} {
		for line := range strings.Lines(text) {
			words := strings.Fields(line)
			out[family][words[0]] = words[1:]
		}
	}
	return out
})

// Brings returns which of the programs that are judged a package may bring to an image of its family; known is
// false when that may be any.
func Brings(family Family, name string) (programs []string, known bool) {
	programs, known = packages()[family][name]
	return programs, known
}
