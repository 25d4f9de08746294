package engine

import (
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/org/claude-sandbox/internal/excerpt"
)

// trace turns BuildKit's progress into plain lines, each with the number of its
// step: "#3 [1/2] RUN make", what the step prints, "#3 done".
//
// The engine sends messages of type moby.buildkit.v1.StatusResponse (BuildKit,
// api/services/control/control.proto). They are read field by field: their
// generated types would bring gRPC along.
type trace struct {
	w     io.Writer
	steps map[string]*step // by the digest of their vertex
}

type step struct {
	number      int
	shown, over bool
	name        string
	failure     string
	said        *excerpt.Tail
}

func newTrace(w io.Writer) *trace { return &trace{w, map[string]*step{}} }

func (t *trace) step(digest string) *step {
	s, ok := t.steps[digest]
	if !ok {
		s = &step{number: len(t.steps) + 1, said: &excerpt.Tail{Most: maxTailBytes}}
		t.steps[digest] = s
	}
	return s
}

// write shows what is new in a status.
func (t *trace) write(status []byte) error {
	var text strings.Builder
	err := fields(status, func(number protowire.Number, _ uint64, vertexOrLog []byte) error {
		switch number {
		case 1:
			return t.vertex(&text, vertexOrLog)
		case 3:
			return t.log(&text, vertexOrLog)
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(t.w, text.String())
	return err
}

// vertex reads a Vertex: the state of a step.
func (t *trace) vertex(w io.Writer, message []byte) error {
	var digest, name, failure string
	var cached, begun, finished bool
	err := fields(message, func(number protowire.Number, n uint64, data []byte) error {
		switch number {
		case 1:
			digest = string(data)
		case 3:
			name = string(data)
		case 4:
			cached = n != 0
		case 5:
			begun = true
		case 6:
			finished = true
		case 7:
			failure = string(data)
		}
		return nil
	})
	if err != nil || !begun && !cached {
		return err
	}
	s := t.step(digest)
	if !s.shown {
		s.shown, s.name = true, name
		fmt.Fprintf(w, "#%d %s\n", s.number, name)
	}
	if !finished || s.over {
		return nil
	}
	s.over, s.failure = true, failure
	switch {
	case failure != "":
		fmt.Fprintf(w, "#%d failed: %s\n", s.number, failure)
	case cached:
		fmt.Fprintf(w, "#%d cached\n", s.number)
	default:
		fmt.Fprintf(w, "#%d done\n", s.number)
	}
	return nil
}

// log reads a VertexLog: what a step printed.
func (t *trace) log(w io.Writer, message []byte) error {
	var digest string
	var text []byte
	err := fields(message, func(number protowire.Number, _ uint64, data []byte) error {
		switch number {
		case 1:
			digest = string(data)
		case 4:
			text = data
		}
		return nil
	})
	if err != nil {
		return err
	}
	s := t.step(digest)
	_, _ = s.said.Write(text)
	for line := range strings.Lines(string(text)) {
		fmt.Fprintf(w, "#%d %s\n", s.number, strings.TrimRight(line, "\r\n"))
	}
	return nil
}

// failed returns what the steps that failed said last.
func (t *trace) failed() []string {
	var out []string
	for _, s := range t.steps {
		if s.failure != "" {
			out = append(out, lastLines(s.said.String())...)
		}
	}
	return out
}

// unpulled is the image of which the step that made the build fail asked the registry;
// "" = none did. Other steps fail with it: the builder asks for all images at once, and
// leaves the others when it lacks one.
func (t *trace) unpulled(failure error) string {
	for _, s := range t.steps {
		for _, asks := range []string{"[internal] load metadata for ", "resolve image config for docker-image://", "resolve image config for "} {
			if image, ok := strings.CutPrefix(s.name, asks); ok && s.failure != "" && strings.Contains(failure.Error(), s.failure) {
				return image
			}
		}
	}
	return ""
}

// fields calls f for each field of a protobuf message: n is the value of a
// number, data that of a text or message.
func fields(message []byte, f func(number protowire.Number, n uint64, data []byte) error) error {
	for len(message) > 0 {
		number, kind, used := protowire.ConsumeTag(message)
		if used < 0 {
			return protowire.ParseError(used)
		}
		message = message[used:]
		var n uint64
		var data []byte
		switch kind {
		case protowire.VarintType:
			n, used = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			data, used = protowire.ConsumeBytes(message)
		default:
			used = protowire.ConsumeFieldValue(number, kind, message)
		}
		if used < 0 {
			return protowire.ParseError(used)
		}
		if err := f(number, n, data); err != nil {
			return err
		}
		message = message[used:]
	}
	return nil
}
