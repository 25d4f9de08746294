package baseimage

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

//go:embed gone.txt
var gone string

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
	lost, ok := absences()[system+" "+name]
	release, err := strconv.ParseFloat(i.Release, 64)
	return lost.instead, ok && err == nil && release >= lost.since
}

// Managed reports whether the system's own pip refuses to install packages: PEP 668, in Debian since 12, in Ubuntu
// since 23.04.
func (i Image) Managed() bool {
	release, err := strconv.ParseFloat(i.Release, 64)
	return err == nil && (i.Ubuntu && release >= 23.04 || !i.Ubuntu && release >= 12)
}
