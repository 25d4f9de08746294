package baseimage

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"
)

var (
	//go:embed gone.txt
	gone string
	//go:embed versions.txt
	versions string
	//go:embed foreign.txt
	foreign string
)

type absence struct {
	since   float64
	instead string
}

var absences = sync.OnceValue(func() map[string]absence {
	out := map[string]absence{}
	for line := range strings.Lines(gone) {
		if words := strings.Fields(line); words[0] != "#" {
			since, _ := strconv.ParseFloat(words[1], 64)
			out[words[0]+" "+words[2]] = absence{since, strings.TrimPrefix(words[3], "-")}
		}
	}
	return out
})

// Gone reports whether the image's release certainly has no such package, and names one to install instead, "" for
// none. Other sources of packages may have it.
func (i Image) Gone(name string) (instead string, gone bool) {
	system := "debian"
	if i.Ubuntu {
		system = "ubuntu"
	}
	if i.Family != Debian {
		instead, gone = foreigners()[string(i.Family)+" "+name]
		return strings.TrimPrefix(instead, "-"), gone
	}
	if instead, gone = numbered(system, i.Release, name); gone {
		return instead, true
	}
	lost, ok := absences()[system+" "+name]
	release, err := strconv.ParseFloat(i.Release, 64)
	known := err == nil && release >= lost.since || lost.since == always
	return lost.instead, ok && known
}

// always is the first release of what no release has.
const always = 1

// foreigners are packages of Debian that Alpine and Red Hat call otherwise.
var foreigners = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(foreign) {
		words := strings.Fields(line)
		for n, family := range []Family{Alpine, RedHat} {
			if name := words[n+1]; words[0] != "#" && name != "=" {
				out[string(family)+" "+words[0]] = name
			}
		}
	}
	return out
})

// numbers are the versions of packages, by system, form and release.
var numbers = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(versions) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		for _, word := range words[2:] {
			release, has, _ := strings.Cut(word, ":")
			out[words[0]+" "+words[1]+" "+release] = strings.Split(has, ",")
		}
	}
	return out
})

// numbered reports whether a release has a package in other versions alone, and names it in the last of them.
func numbered(system, release, name string) (instead string, gone bool) {
	from := strings.IndexAny(name, "0123456789")
	if rest, python := strings.CutPrefix(name, "python3."); python {
		from = len(name) - len(rest) - len("3.")
	}
	if from < 0 {
		return "", false
	}
	behind := strings.TrimLeft(name[from:], "0123456789.")
	number := strings.TrimSuffix(name[from:], behind)
	form := name[:from] + "N" + behind
	if strings.HasPrefix(name, "python3.") {
		form = "python3.N" + behind
	}
	has := numbers()[system+" "+form+" "+release]
	if len(has) == 0 || slices.Contains(has, number) {
		return "", false
	}
	return name[:from] + has[len(has)-1] + behind, true
}

// Managed reports whether the system's own pip refuses to install packages: PEP 668, in Debian since 12, in Ubuntu
// since 23.04.
func (i Image) Managed() bool {
	release, err := strconv.ParseFloat(i.Release, 64)
	since := 12.0
	if i.Ubuntu {
		since = 23.04
	}
	return i.pep668 || err == nil && release >= since
}
