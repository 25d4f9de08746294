package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/tags"
	"github.com/org/claude-sandbox/internal/diag"
)

// ErrTagMoved reports a push that would give an immutable tag to another image.
var ErrTagMoved = errors.New("tag exists with another digest")

// PushOptions says what Push does besides sending the image.
type PushOptions struct {
	// Tags point to the image afterwards. Immutable ones are refused when they
	// exist with another digest, and are written before the others.
	Tags     []tags.Tag
	ForceTag bool // move immutable tags, too
	Jobs     int  // blobs at a time; 0 = 4
	// Referrers makes the SBOM and whatever else is attached to the index; it is
	// called only when Kinds are not all there. nil = nothing is attached.
	Referrers func(context.Context) ([]artifact.Manifest, error)
	Kinds     []string // the artifact types of what Referrers makes
	// Sign is called with REGISTRY/NAME@DIGEST when everything but the tags is
	// there, for signatures, also when every tag pointed there already; nil =
	// no signatures.
	Sign func(ctx context.Context, ref string) error
	// Progress is told about each blob; it must be safe for concurrent use. nil = silent.
	Progress func(Progress)
}

// Progress is the state of one blob's upload.
type Progress struct {
	Digest v1.Hash
	What   string
	Size   int64
	Sent   int64
	How    Outcome // "" = it is under way
}

// Report is what Push did, or would do.
type Report struct {
	Repository string       `json:"repository"`
	Digest     v1.Hash      `json:"digest"`
	Unchanged  bool         `json:"unchanged"` // every tag pointed to it already
	Tags       []TagReport  `json:"tags"`
	Blobs      []BlobReport `json:"blobs"`
	Sent       int64        `json:"sent"`     // bytes of blobs
	Requests   int64        `json:"requests"` // to the registry
}

// TagReport is one tag of a Report.
type TagReport struct {
	tags.Tag
	Was v1.Hash `json:"was,omitzero"` // zero = new
}

// BlobReport is one blob of a Report.
type BlobReport struct {
	What   string  `json:"what"`
	Digest v1.Hash `json:"digest"`
	Size   int64   `json:"size"`
	How    Outcome `json:"how"` // of a plan: what would be tried
}

// Plan says what Push would do, from the registry's present state. It writes
// nothing.
func Plan(ctx context.Context, c *Client, a artifact.Artifact, o PushOptions) (*Report, error) {
	r, err := look(ctx, c, a, o)
	if err != nil || r.Unchanged {
		r.Requests = c.Requests()
		return r, err
	}
	blobs := a.Blobs()
	r.Blobs = make([]BlobReport, len(blobs))
	err = each(ctx, lookups, len(blobs), func(ctx context.Context, i int) error {
		b := blobs[i]
		found, err := c.HasBlob(ctx, b.Descriptor)
		r.Blobs[i] = BlobReport{b.What, b.Digest, b.Size, Exists}
		switch {
		case found:
		case c.mountable(b):
			r.Blobs[i].How = Mounted
		default:
			r.Blobs[i].How = Uploaded
		}
		return err
	})
	r.count(c)
	return r, err
}

func (r *Report) count(c *Client) {
	r.Sent = 0
	for _, b := range r.Blobs {
		if b.How == Uploaded {
			r.Sent += b.Size
		}
	}
	r.Requests = c.Requests()
}

// Push makes the repository have the artifact, and then the tags point to it.
// In this order: the tags are looked at and an immutable one that would move is
// refused; blobs, images and index are written by digest; referrers are
// attached; everything is read back; immutable tags and then the others are
// written and looked at again. A push that was interrupted is taken up by the
// next one: nothing is sent twice.
func Push(ctx context.Context, c *Client, a artifact.Artifact, o PushOptions) (*Report, error) {
	var r *Report
	var attached bool
	err := each(ctx, 2, 2, func(ctx context.Context, i int) (err error) {
		if i == 0 {
			r, err = look(ctx, c, a, o)
		} else {
			attached, err = hasKinds(ctx, c, a.Index.Digest, o)
		}
		return err
	})
	if err != nil {
		return r, err
	}
	var referrers []artifact.Manifest
	if !attached {
		if referrers, err = o.Referrers(ctx); err != nil {
			return r, err
		}
	}
	if r.Unchanged {
		if err := pushReferrers(ctx, c, a, referrers, o, r); err != nil {
			return r, err
		}
		if err := sign(ctx, c, a, o); err != nil {
			return r, err
		}
		r.count(c)
		return r, nil
	}
	if err := pushByDigest(ctx, c, a, referrers, o, r); err != nil {
		r.count(c)
		return r, err
	}
	if err := readBack(ctx, c, a, referrers, r); err != nil {
		return r, err
	}
	if err := sign(ctx, c, a, o); err != nil {
		return r, err
	}
	if err := moveTags(ctx, c, a, r); err != nil {
		return r, err
	}
	r.count(c)
	return r, nil
}

// sign has the image signed if that is asked for.
func sign(ctx context.Context, c *Client, a artifact.Artifact, o PushOptions) error {
	if o.Sign == nil {
		return nil
	}
	if err := o.Sign(ctx, c.Name()+"@"+a.Index.Digest.String()); err != nil {
		return fmt.Errorf("signing %s: %w", c.Name(), err)
	}
	return nil
}

// pushReferrers attaches what is missing at an image that is there.
func pushReferrers(ctx context.Context, c *Client, a artifact.Artifact, referrers []artifact.Manifest, o PushOptions, r *Report) error {
	if len(referrers) == 0 {
		return nil
	}
	if err := pushBlobs(ctx, c, artifact.Unique(referrers...), o, r); err != nil {
		return err
	}
	return c.attach(ctx, a.Index.Digest, referrers)
}

// look reads where the tags point and refuses what must not move.
func look(ctx context.Context, c *Client, a artifact.Artifact, o PushOptions) (*Report, error) {
	r := &Report{Repository: c.Name(), Digest: a.Index.Digest, Tags: make([]TagReport, len(o.Tags)), Blobs: []BlobReport{}}
	sorted := slices.Clone(o.Tags)
	slices.SortStableFunc(sorted, func(x, y tags.Tag) int { return rank(x) - rank(y) })
	err := each(ctx, 8, len(sorted), func(ctx context.Context, i int) error {
		digest, err := c.Head(ctx, sorted[i].Name)
		if errors.Is(err, ErrNotFound) {
			err = nil
		}
		r.Tags[i] = TagReport{sorted[i], digest}
		return err
	})
	if err != nil {
		return r, err
	}
	r.Unchanged = len(sorted) > 0
	for _, t := range r.Tags {
		r.Unchanged = r.Unchanged && t.Was == a.Index.Digest
		if t.Immutable && !o.ForceTag && t.Was != (v1.Hash{}) && t.Was != a.Index.Digest {
			err := fmt.Errorf("%s: %w: %s, not %s", c.ref(t.Name), ErrTagMoved, t.Was, a.Index.Digest)
			return r, diag.WithHint(err, "a version never changes: push under a new version, or move the tag on purpose with --force-tag")
		}
	}
	return r, nil
}

func rank(t tags.Tag) int {
	if t.Immutable {
		return 0
	}
	return 1
}

func hasKinds(ctx context.Context, c *Client, subject v1.Hash, o PushOptions) (bool, error) {
	if o.Referrers == nil {
		return true, nil
	}
	have, err := c.Referrers(ctx, subject)
	if err != nil {
		return false, err
	}
	for _, kind := range o.Kinds {
		if !slices.ContainsFunc(have, func(d v1.Descriptor) bool { return d.ArtifactType == kind }) {
			return false, nil
		}
	}
	return true, nil
}

// pushByDigest writes blobs, images, the index and what refers to it.
func pushByDigest(ctx context.Context, c *Client, a artifact.Artifact, referrers []artifact.Manifest, o PushOptions, r *Report) error {
	err := pushBlobs(ctx, c, artifact.Unique(append(a.Manifests(), referrers...)...), o, r)
	if err == nil {
		err = each(ctx, o.Jobs, len(a.Images), func(ctx context.Context, i int) error {
			_, err := c.PutManifest(ctx, "", a.Images[i].Descriptor, a.Images[i].Raw)
			return err
		})
	}
	if err == nil {
		_, err = c.PutManifest(ctx, "", a.Index.Descriptor, a.Index.Raw)
	}
	if err == nil {
		err = c.attach(ctx, a.Index.Digest, referrers)
	}
	return err
}

// lookups is how many questions are asked at a time. They are small.
const lookups = 16

// pushBlobs asks for all blobs and sends those that are missing.
func pushBlobs(ctx context.Context, c *Client, blobs []artifact.Blob, o PushOptions, r *Report) error {
	r.Blobs = make([]BlobReport, len(blobs))
	err := each(ctx, lookups, len(blobs), func(ctx context.Context, i int) error {
		b := blobs[i]
		found, err := c.HasBlob(ctx, b.Descriptor)
		r.Blobs[i] = BlobReport{What: b.What, Digest: b.Digest, Size: b.Size}
		if found {
			r.Blobs[i].How = Exists
		}
		return err
	})
	if err != nil {
		return err
	}
	var missing []int
	for i := range blobs {
		if r.Blobs[i].How != Exists {
			missing = append(missing, i)
		}
	}
	// The largest first, so that the end does not wait for one that began late.
	slices.SortStableFunc(missing, func(x, y int) int { return cmp.Compare(blobs[y].Size, blobs[x].Size) })
	return each(ctx, o.Jobs, len(missing), func(ctx context.Context, n int) error {
		i := missing[n]
		b := blobs[i]
		report := func(p Progress) {
			if o.Progress != nil {
				p.Digest, p.What, p.Size = b.Digest, b.What, b.Size
				o.Progress(p)
			}
		}
		how, err := c.upload(ctx, b, func(sent int64) { report(Progress{Sent: sent}) })
		r.Blobs[i].How = how
		if err != nil {
			return c.explain("uploading "+b.What+" to", c.Name(), err)
		}
		report(Progress{Sent: b.Size, How: how})
		return nil
	})
}

// readBack checks that a reader by digest gets the whole image: every manifest
// byte for byte, and every blob that was written present in its full size.
func readBack(ctx context.Context, c *Client, a artifact.Artifact, referrers []artifact.Manifest, r *Report) error {
	manifests := a.Manifests()
	var written []artifact.Blob
	for _, b := range artifact.Unique(append(a.Manifests(), referrers...)...) {
		if slices.ContainsFunc(r.Blobs, func(have BlobReport) bool { return have.Digest == b.Digest && have.How != Exists }) {
			written = append(written, b)
		}
	}
	return each(ctx, lookups, len(manifests)+len(written), func(ctx context.Context, i int) error {
		return c.soon(ctx, func() error {
			if i < len(manifests) {
				_, _, err := c.Manifest(ctx, manifests[i].Digest.String()) // checked against its digest
				return err
			}
			b := written[i-len(manifests)]
			found, err := c.HasBlob(ctx, b.Descriptor)
			if err == nil && !found {
				err = fmt.Errorf("reading back %s: the registry does not have %s (%s) after accepting it: %w", c.Name(), b.Digest, b.What, ErrNotFound)
			}
			return err
		})
	})
}

// soon repeats f while it does not find what was just written: not every
// machine of a registry knows of it at once.
func (c *Client) soon(ctx context.Context, f func() error) error {
	for attempt := 1; ; attempt++ {
		err := f()
		if !errors.Is(err, ErrNotFound) || attempt == attempts {
			return err
		}
		if err := c.o.Sleep(ctx, 250*time.Millisecond<<(attempt-1)); err != nil {
			return err
		}
	}
}

// moveTags lets the tags point to the index, the immutable ones first, each
// group at once, and looks at them again.
func moveTags(ctx context.Context, c *Client, a artifact.Artifact, r *Report) error {
	var groups [2][]tags.Tag
	for _, t := range r.Tags {
		if t.Was != a.Index.Digest {
			groups[rank(t.Tag)] = append(groups[rank(t.Tag)], t.Tag)
		}
	}
	for _, group := range groups {
		err := each(ctx, 8, len(group), func(ctx context.Context, i int) error {
			if _, err := c.PutManifest(ctx, group[i].Name, a.Index.Descriptor, a.Index.Raw); err != nil {
				return err
			}
			return c.soon(ctx, func() error {
				got, err := c.Head(ctx, group[i].Name)
				if err == nil && got != a.Index.Digest {
					err = fmt.Errorf("reading back %s: %w: it points to %s, not to %s", c.ref(group[i].Name), ErrNotFound, got, a.Index.Digest)
				}
				return err
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// each calls f for 0 … n-1, jobs at a time (0 = 4), and returns the first error.
func each(ctx context.Context, jobs, n int, f func(context.Context, int) error) error {
	if jobs <= 0 {
		jobs = 4
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wait sync.WaitGroup
	var once sync.Once
	var first error
	next := make(chan int)
	for range min(jobs, n) {
		wait.Go(func() {
			for i := range next {
				if err := f(ctx, i); err != nil {
					once.Do(func() { first = err; cancel() })
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wait.Wait()
	if first == nil {
		first = context.Cause(ctx)
	}
	return first
}
