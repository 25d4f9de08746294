package imagebuild

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/base"
	"github.com/org/claude-sandbox/imagebuild/layer"
)

// maxOwn bounds what one of our own layers unpacks to, in bytes; sbx-init has
// some 10 MB.
const maxOwn = 256 << 20

// own checks the two layers that sbx-devc makes itself. They lie above all
// others, so whatever they hold wins. The lock knows the program and not the
// policy; so each is made again from its own content, and must come out
// the same: with another file, mode, owner or link it would not.
func (v *verifier) own(platform string, image artifact.Manifest, file v1.ConfigFile, withClaude bool) {
	n := len(file.RootFS.DiffIDs)
	program, diffID, err := v.fileIn(image.Blobs[n-1], initPath)
	if err == nil {
		if got, want := sha256Hex(program), v.o.Lock.Init.SHA256[platform]; got != want {
			err = fmt.Errorf("the program has sha256 %s, the lock %s", got, want)
		} else {
			err = madeOf([]layer.Entry{{Path: initPath, Mode: 0o755, Data: program}}, diffID, file.RootFS.DiffIDs[n-2])
		}
	}
	v.add("sbx-init "+platform, err == nil, "%s", orText(err, "the lock's, and nothing else"))
	policy, diffID, err := v.fileIn(image.Blobs[n], policyPath)
	if err == nil {
		err = madeOf(configEntries(policy, withClaude), diffID, file.RootFS.DiffIDs[n-1])
	}
	v.add("configuration files "+platform, err == nil, "%s", orText(err, "as sbx-devc writes them"))
	if v.o.Policy != nil && err == nil {
		if !bytes.Equal(policy, v.o.Policy) {
			err = fmt.Errorf("another one than wanted: the image's has sha256 %x, the wanted one %x", sha256.Sum256(policy),
				sha256.Sum256(v.o.Policy))
		}
		v.add("policy "+platform, err == nil, "%s", orText(err, "the one that is wanted"))
	}
}

// fileIn returns the content of one file of a layer, and the digest of the
// whole unpacked layer.
func (v *verifier) fileIn(b artifact.Blob, path string) (content []byte, diffID v1.Hash, err error) {
	r, err := b.Open(v.ctx)
	if err != nil {
		return nil, diffID, err
	}
	defer r.Close()
	unpacked, err := base.Decompress(b.MediaType, r)
	if err != nil {
		return nil, diffID, err
	}
	defer unpacked.Close()
	whole, err := io.ReadAll(io.LimitReader(unpacked, maxOwn+1))
	if err != nil {
		return nil, diffID, err
	}
	if len(whole) > maxOwn {
		return nil, diffID, fmt.Errorf("the layer unpacks to more than %d MiB", maxOwn>>20)
	}
	if diffID, _, err = v1.SHA256(bytes.NewReader(whole)); err != nil {
		return nil, diffID, err
	}
	for archive := tar.NewReader(bytes.NewReader(whole)); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil, diffID, fmt.Errorf("the layer holds no %s", path)
		}
		if err != nil {
			return nil, diffID, fmt.Errorf("reading the layer: %w", err)
		}
		if h.Name == path {
			content, err = io.ReadAll(archive)
			return content, diffID, err
		}
	}
}

// madeOf errs unless a layer with the digest got, which the configuration
// states as stated, is entries and nothing else.
func madeOf(entries []layer.Entry, got, stated v1.Hash) error {
	var again bytes.Buffer
	if err := layer.Tar(&again, entries, epoch); err != nil {
		return err
	}
	want, _, err := v1.SHA256(&again)
	switch {
	case err != nil:
		return err
	case got != stated:
		return fmt.Errorf("its content has %s, the configuration states %s", got, stated)
	case got != want:
		return errors.New("it holds other files, modes or owners than this sbx-devc writes")
	}
	return nil
}

// annotationsOf picks the labels that sbx-devc sets about an image.
func annotationsOf(labels map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range labels {
		if strings.HasPrefix(key, prefix) || strings.HasPrefix(key, "claude-sandbox.") {
			out[key] = value
		}
	}
	return out
}

// sandboxed reports whether the metadata that an editor or the dev container
// CLI obeys gives the container what a sandbox has and no right more: what
// lends rights stands in the last entry, as sandboxMetadata has it.
func sandboxed(label string) (detail string, ok bool) {
	var entries []map[string]json.RawMessage
	if err := json.Unmarshal([]byte(label), &entries); err != nil {
		return err.Error(), false
	}
	if len(entries) == 0 {
		return "there is none", false
	}
	want, last := sandboxMetadata(), len(entries)-1
	for i, e := range entries {
		for _, key := range append([]string{"remoteUser"}, lendsRights...) {
			have, there := e[key]
			switch wanted, ours := want[key]; {
			case i < last && key == "remoteUser": // the last entry decides
			case i < last && there, i == last && there != ours, i == last && there && !sameJSON(have, wanted):
				return fmt.Sprintf("%s is %.200q in entry %d of %d", key, have, i+1, len(entries)), false
			}
		}
	}
	return "remoteUser " + base.User + ", and no right beyond a sandbox's", true
}

// sameJSON reports whether two values are the same when written as JSON, in
// whatever order and layout.
func sameJSON(a, b any) bool {
	plain := func(v any) (text []byte, err error) {
		var decoded any
		if text, err = json.Marshal(v); err != nil {
			return nil, err
		}
		if err = json.Unmarshal(text, &decoded); err != nil {
			return nil, err
		}
		return json.Marshal(decoded)
	}
	one, err := plain(a)
	other, err2 := plain(b)
	return err == nil && err2 == nil && bytes.Equal(one, other)
}
