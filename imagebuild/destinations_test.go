package imagebuild

import (
	"fmt"
	"strings"
	"testing"
)

func TestDestinations(t *testing.T) {
	for refs, want := range map[string]string{
		"r.example/a:v1.2.3 r.example/b r.example/a:latest": "[{r.example/a [{v1.2.3 true} {latest false}]} {r.example/b []}]",
		"r.example:5000/a":                        "[{r.example:5000/a []}]",
		"r.example/a:v1 r.example/b@sha256:00":    "error: a push decides the digest",
		"r.example/a:-v1":                         "error: no name of an image",
		"r.example/a:" + strings.Repeat("x", 129): "error: no name of an image",
		"r.example/A:v1":                          "error: repository name must be lowercase",
	} {
		got, err := Destinations(strings.Fields(refs))
		wrong, fails := strings.CutPrefix(want, "error: ")
		if fails != (err != nil) || fails && !strings.Contains(err.Error(), wrong) || !fails && short(got) != want {
			t.Errorf("%s: %v, %v", refs, got, err)
		}
	}
}

func short(all []Destination) string {
	var out []string
	for _, d := range all {
		var tags []string
		for _, tag := range d.Tags {
			tags = append(tags, fmt.Sprintf("{%s %t}", tag.Name, tag.Immutable))
		}
		out = append(out, fmt.Sprintf("{%s %v}", d.Repository, tags))
	}
	return fmt.Sprint(out)
}
