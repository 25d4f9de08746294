// Package tags decides which names an image gets. It is pure: what git says and
// which tags exist go in, names with reasons come out.
//
//	Source (ref, commit, Claude's version) + existing tags ─► Decide ─► Decision
//
// Names that say exactly what they are never move: v1.2.3,
// v1.2.3-claude2.1.329, sha-0123456789ab. Names that mean "the newest" move
// only forward: v1.2, v1 and latest to the highest stable release of their
// range, so a fix for an old line does not become latest. Prereleases and
// branches get names of their own and nothing else.
package tags

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/org/claude-sandbox/internal/diag"
)

// Tag is a name that an image gets.
type Tag struct {
	Name string `json:"name"`
	// Immutable tags never move to another digest.
	Immutable bool   `json:"immutable"`
	Why       string `json:"why,omitempty"` // the reason, for people
}

// Source is what is published.
type Source struct {
	Ref           string // refs/tags/v1.2.3, refs/heads/main, refs/pull/7/merge
	Commit        string // hex
	DefaultBranch string // gets the tag edge; "" = main
	Claude        string // version of Claude Code in the image; "" = none
	// Recut publishes a release again with another Claude Code: the release's
	// own name and its commit's stay with the first one.
	Recut bool
}

// Decision is what Decide returns. The first tags are the immutable ones.
type Decision struct {
	Version  string `json:"version,omitempty"` // of the release, without a leading v; "" = none
	Tags     []Tag  `json:"tags"`
	Withheld []Tag  `json:"withheld"` // names that this release would have if no newer one existed
}

// release is a tag that names a release, and the Claude Code in it.
type release struct{ version, claude string }

var claudeSuffix = regexp.MustCompile(`^(.+)-claude(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$`)

// parse reads v1.2.3, v1.2.3-rc.1 and either with -claudeX.Y.Z.
func parse(tag string) (release, bool) {
	var r release
	if m := claudeSuffix.FindStringSubmatch(tag); m != nil {
		tag, r.claude = m[1], "v"+m[2]
	}
	r.version = tag
	// semver also accepts v1 and v1.2, which are names of ranges here.
	return r, semver.IsValid(tag) && strings.Count(strings.SplitN(tag, "-", 2)[0], ".") == 2 && semver.Build(tag) == ""
}

// newer orders releases, and equal ones by their Claude Code.
func newer(a, b release) int {
	if c := semver.Compare(a.version, b.version); c != 0 {
		return c
	}
	return semver.Compare(a.claude, b.claude)
}

// IsImmutable reports whether a tag is one that never moves, as far as its name
// tells: a full version, with or without a suffix, or a commit.
func IsImmutable(tag string) bool {
	v := tag
	if !strings.HasPrefix(v, "v") {
		v = "v" + v
	}
	_, ok := parse(v)
	return ok || shaTag.MatchString(tag)
}

var shaTag = regexp.MustCompile(`^sha-[0-9a-f]{7,64}$`)

// Decide returns the tags. A git tag that is no full semantic version with a
// leading v, and a ref of another kind, are errors.
func Decide(s Source, existing []string) (Decision, error) {
	d := Decision{Tags: []Tag{}, Withheld: []Tag{}}
	if len(s.Commit) < 12 || strings.Trim(s.Commit, "0123456789abcdef") != "" {
		return d, fmt.Errorf("%q is no commit", s.Commit)
	}
	commit := Tag{"sha-" + s.Commit[:12], true, "the commit"}
	if name, ok := strings.CutPrefix(s.Ref, "refs/tags/"); ok {
		return d, d.release(s, name, commit, existing)
	}
	if name, ok := strings.CutPrefix(s.Ref, "refs/heads/"); ok {
		if !s.Recut {
			d.Tags = append(d.Tags, commit)
		}
		if name == cmp.Or(s.DefaultBranch, "main") {
			d.Tags = append(d.Tags, Tag{"edge", false, "the default branch"})
		} else {
			d.Tags = append(d.Tags, Tag{"branch-" + sanitize(name), false, "the branch"})
		}
		return d, nil
	}
	if name, ok := strings.CutPrefix(s.Ref, "refs/pull/"); ok {
		number, _, _ := strings.Cut(name, "/")
		d.Tags = append(d.Tags, Tag{"pr-" + sanitize(number), false, "the pull request"})
		return d, nil
	}
	return d, diag.WithHint(fmt.Errorf("%q is neither a tag nor a branch", s.Ref), "write refs/tags/v1.2.3 or refs/heads/main")
}

func (d *Decision) release(s Source, name string, commit Tag, existing []string) error {
	this, ok := parse(name)
	if !ok || this.claude != "" {
		return diag.WithHint(fmt.Errorf("the git tag %q is no release", name),
			"name releases v1.2.3 or v1.2.3-rc.1; a + is not allowed in names of images")
	}
	d.Version = strings.TrimPrefix(this.version, "v")
	if !s.Recut {
		d.Tags = append(d.Tags, Tag{this.version, true, "the release"}, commit)
	}
	if s.Claude != "" {
		this.claude = "v" + s.Claude
		d.Tags = append(d.Tags, Tag{this.version + "-claude" + s.Claude, true, "the release with this Claude Code"})
	}
	if semver.Prerelease(this.version) != "" {
		return nil
	}
	ranges := []struct{ name, prefix string }{
		{semver.MajorMinor(this.version), semver.MajorMinor(this.version) + "."},
		{semver.Major(this.version), semver.Major(this.version) + "."},
		{"latest", ""},
	}
	for _, r := range ranges {
		if r.name == "v0" {
			continue // 0.y.z promises nothing from one y to the next
		}
		if better, ok := highest(existing, r.prefix); ok && newer(better, this) > 0 {
			d.Withheld = append(d.Withheld,
				Tag{r.name, false, "stays with " + better.version + strings.Replace(better.claude, "v", " and Claude Code ", 1)})
			continue
		}
		d.Tags = append(d.Tags, Tag{r.name, false, "the highest stable release of its range"})
	}
	return nil
}

// highest returns the newest stable release whose version begins with prefix.
func highest(existing []string, prefix string) (release, bool) {
	var best release
	found := false
	for _, tag := range existing {
		r, ok := parse(tag)
		if !ok || semver.Prerelease(r.version) != "" || !strings.HasPrefix(r.version, prefix) {
			continue
		}
		if !found || newer(r, best) > 0 {
			best, found = r, true
		}
	}
	return best, found
}

var notInTags = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// sanitize makes a name fit for a tag. Two names never become one: what had to
// change gets a piece of its digest.
func sanitize(name string) string {
	out := notInTags.ReplaceAllString(name, "-")
	if len(out) > 80 {
		out = out[:80]
	}
	if out != name {
		sum := sha256.Sum256([]byte(name))
		out += "-" + hex.EncodeToString(sum[:4])
	}
	return out
}
