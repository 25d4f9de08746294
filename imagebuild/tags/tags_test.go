package tags

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/semver"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

func decide(t *testing.T, ref, claude string, existing ...string) (names, withheld []string) {
	t.Helper()
	d, err := Decide(Source{Ref: ref, Commit: commit, Claude: claude}, existing)
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range d.Tags {
		names = append(names, tag.Name)
	}
	for _, tag := range d.Withheld {
		withheld = append(withheld, tag.Name)
	}
	return names, withheld
}

func TestDecide(t *testing.T) {
	const sha = "sha-0123456789ab"
	for _, c := range []struct {
		name, ref, claude string
		existing          []string
		want              []string
	}{
		{"first release", "refs/tags/v1.2.3", "2.1.329", nil, []string{"v1.2.3", sha, "v1.2.3-claude2.1.329", "v1.2", "v1", "latest"}},
		{"without Claude Code", "refs/tags/v1.2.3", "", nil, []string{"v1.2.3", sha, "v1.2", "v1", "latest"}},
		{"a fix for an old line", "refs/tags/v1.2.4", "", []string{"v1.2.3", "v1.3.0", "v2.0.0"}, []string{"v1.2.4", sha, "v1.2"}},
		{"a fix for an old line of the newest major", "refs/tags/v2.0.1", "", []string{"v2.1.0", "v1.9.9"}, []string{"v2.0.1", sha, "v2.0"}},
		{"ten comes after nine", "refs/tags/v1.10.0", "", []string{"v1.9.0"}, []string{"v1.10.0", sha, "v1.10", "v1", "latest"}},
		{"a prerelease", "refs/tags/v2.0.0-rc.1", "2.1.329", []string{"v1.0.0"}, []string{"v2.0.0-rc.1", sha, "v2.0.0-rc.1-claude2.1.329"}},
		{"a prerelease holds nothing back", "refs/tags/v1.0.0", "", []string{"v2.0.0-rc.1", "v2.0.0-rc.1-claude2.1.329"},
			[]string{"v1.0.0", sha, "v1.0", "v1", "latest"}},
		{"0.y.z has no v0", "refs/tags/v0.3.0", "", nil, []string{"v0.3.0", sha, "v0.3", "latest"}},
		{"ranges and other names say nothing", "refs/tags/v1.0.0", "", []string{"v9", "v9.9", "latest", "edge", "nightly-v99.0.0"},
			[]string{"v1.0.0", sha, "v1.0", "v1", "latest"}},
		{"an older Claude Code", "refs/tags/v1.0.0", "2.1.9", []string{"v1.0.0", "v1.0.0-claude2.1.10"},
			[]string{"v1.0.0", sha, "v1.0.0-claude2.1.9"}},
		{"the default branch", "refs/heads/main", "2.1.329", nil, []string{sha, "edge"}},
		{"a branch called latest", "refs/heads/latest", "", nil, []string{sha, "branch-latest"}},
		{"a pull request", "refs/pull/7/merge", "", nil, []string{"pr-7"}},
	} {
		if got, _ := decide(t, c.ref, c.claude, c.existing...); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if _, withheld := decide(t, "refs/tags/v1.2.4", "", "v1.3.0", "v2.0.0"); !slices.Equal(withheld, []string{"v1", "latest"}) {
		t.Errorf("withheld %q", withheld)
	}
	for _, ref := range []string{"refs/tags/1.2.3", "refs/tags/v1.2", "refs/tags/v1.2.3+build", "refs/tags/release",
		"refs/tags/v1.2.3-claude2.1.329", "main", ""} {
		if d, err := Decide(Source{Ref: ref, Commit: commit}, nil); err == nil {
			t.Errorf("%q gives %+v", ref, d)
		}
	}
	if d, err := Decide(Source{Ref: "refs/heads/main", Commit: "HEAD"}, nil); err == nil {
		t.Errorf("a commit HEAD gives %+v", d)
	}
}

func TestRecutLeavesTheReleaseAlone(t *testing.T) {
	d, err := Decide(Source{Ref: "refs/tags/v1.2.3", Commit: commit, Claude: "2.1.330", Recut: true},
		[]string{"v1.2.3", "v1.2.3-claude2.1.329"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tag := range d.Tags {
		names = append(names, tag.Name)
	}
	if want := []string{"v1.2.3-claude2.1.330", "v1.2", "v1", "latest"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

func TestTwoBranchesHaveTwoTags(t *testing.T) {
	seen := map[string]string{}
	for _, branch := range []string{"a/b", "a-b", "a b", "a//b", "ä", "A/b", strings.Repeat("x", 100), strings.Repeat("x", 101)} {
		names, _ := decide(t, "refs/heads/"+branch, "")
		name := names[len(names)-1]
		if other, ok := seen[name]; ok {
			t.Errorf("%q and %q are both %s", branch, other, name)
		}
		seen[name] = branch
	}
}

// valid is what a tag may be (OCI distribution specification).
var valid = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)

// Whatever the order in which releases, prereleases, fixes and branches are
// published: names that never move do not move, and v1.2, v1 and latest end at
// the highest stable release of their range, and on the way never go back.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 3))
		registry := map[string]string{} // tag -> what it points to
		var published []string
		for step := range 25 {
			s := Source{Commit: fmt.Sprintf("%012x%028x", seed*1000+uint64(step)+1, 0)}
			version := fmt.Sprintf("v%d.%d.%d", random.IntN(3), random.IntN(3), random.IntN(12))
			switch random.IntN(6) {
			case 0:
				s.Ref = "refs/heads/" + []string{"main", "latest", "v1", "v1.2.3", "fix/x"}[random.IntN(5)]
			case 1:
				version += fmt.Sprintf("-rc.%d", random.IntN(12))
				fallthrough
			default:
				s.Ref = "refs/tags/" + version
			}
			if _, again := registry[version]; again && strings.HasPrefix(s.Ref, "refs/tags/") {
				continue // git has each tag once
			}
			if random.IntN(2) == 0 {
				s.Claude = fmt.Sprintf("2.1.%d", random.IntN(12))
			}
			var existing []string
			for tag := range registry {
				existing = append(existing, tag)
			}
			d, err := Decide(s, existing)
			if err != nil {
				t.Fatal(err)
			}
			id := fmt.Sprintf("%s#%d", strings.TrimPrefix(s.Ref, "refs/tags/"), step)
			if d.Version != "" && semver.Prerelease("v"+d.Version) == "" {
				published = append(published, "v"+d.Version)
			}
			for _, tag := range d.Tags {
				if !valid.MatchString(tag.Name) {
					t.Fatalf("seed %d: %q is no tag", seed, tag.Name)
				}
				was, exists := registry[tag.Name]
				if exists && tag.Immutable {
					t.Fatalf("seed %d: %s gives %s to another image", seed, s.Ref, tag.Name)
				}
				if tag.Immutable != IsImmutable(tag.Name) {
					t.Fatalf("seed %d: %s is immutable %t", seed, tag.Name, tag.Immutable)
				}
				before, _, _ := strings.Cut(was, "#")
				now, _, _ := strings.Cut(id, "#")
				if exists && semver.IsValid(before) && semver.Compare(now, before) < 0 {
					t.Fatalf("seed %d: %s goes back from %s to %s", seed, tag.Name, before, now)
				}
				registry[tag.Name] = id
			}
		}
		want := map[string]string{}
		for _, v := range published {
			for _, name := range []string{semver.MajorMinor(v), semver.Major(v), "latest"} {
				if name != "v0" && semver.Compare(v, want[name]) > 0 {
					want[name] = v
				}
			}
		}
		for name, v := range want {
			if got, _, _ := strings.Cut(registry[name], "#"); got != v {
				t.Fatalf("seed %d: %s is %s, want %s of %q", seed, name, got, v, published)
			}
		}
		if _, ok := registry["v0"]; ok {
			t.Fatalf("seed %d: v0 exists", seed)
		}
	}
}
