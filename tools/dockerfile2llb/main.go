// Command dockerfile2llb says what BuildKit makes of Dockerfiles, without an engine: what it refuses
// while it turns one into the steps of a build, where each image is an empty one.
//
//	JSON strings, one per line ─► JSON strings, one per line: the refusal, "" for none
//
// It is a module of its own: the package that it asks brings a daemon's packages with it.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"

	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/moby/buildkit/solver/pb"
	"github.com/opencontainers/go-digest"
)

// images answers each name with an image that holds nothing and says nothing.
type images struct{}

func (images) ResolveImageConfig(_ context.Context, name string, _ sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	return name, digest.FromString(name), []byte(`{"architecture":"amd64","os":"linux","config":{},"rootfs":{"type":"layers"}}`), nil
}

func main() {
	capabilities := pb.Caps.CapSet(pb.Caps.All())
	in, out := json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(os.Stdout)
	for {
		var text string
		if err := in.Decode(&text); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		refusal := ""
		_, err := dockerfile2llb.Dockerfile2LLB(context.Background(), []byte(text),
			dockerfile2llb.ConvertOpt{MetaResolver: images{}, LLBCaps: &capabilities})
		if err != nil {
			refusal = err.Error()
		}
		if err := out.Encode(refusal); err != nil {
			log.Fatal(err)
		}
	}
}
