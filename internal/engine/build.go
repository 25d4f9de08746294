package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/moby/moby/api/types/build"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/client"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/excerpt"
)

// BuildSpec describes a build from a Dockerfile.
type BuildSpec struct {
	Dockerfile string             // path inside the context
	Tags       []string           // names of the result
	Target     string             // stage to build; "" = the last one
	Args       map[string]*string // build arguments; nil = unset
	Labels     map[string]string
	Classic    bool // use the classic builder although the engine has BuildKit
}

// Build builds a Dockerfile from a tar of the context, with BuildKit where the
// engine has it and does not say that it prefers the classic builder. The builder's
// work goes to output in plain lines. It returns the image's id; an
// error of a step is the builder's own message and the last lines of the step.
func (e *Engine) Build(ctx context.Context, spec BuildSpec, contextTar io.Reader, output io.Writer) (id string, err error) {
	version := build.BuilderV1
	if !spec.Classic {
		ping, err := e.client.Ping(ctx, client.PingOptions{})
		if err != nil {
			return "", wrap(err, "asking", e.host)
		}
		// Every engine for Linux of API 1.39 or later has BuildKit, and says
		// nothing about it unless it is configured. Podman ignores the wish.
		if ping.OSType != "windows" && ping.BuilderVersion != build.BuilderV1 {
			version = build.BuilderBuildKit
		}
	}
	r, err := e.client.ImageBuild(ctx, contextTar, client.ImageBuildOptions{
		Dockerfile: spec.Dockerfile, Tags: spec.Tags, Target: spec.Target, BuildArgs: spec.Args, Labels: spec.Labels,
		Remove: true, ForceRemove: true, Version: version,
	})
	if err != nil {
		return "", wrap(err, "building", spec.Dockerfile)
	}
	defer r.Body.Close()
	return progress(r.Body, output)
}

// progress copies the text of a progress stream to w and returns the image id
// that it announces, or the error that it ends with.
func progress(r io.Reader, w io.Writer) (id string, err error) {
	dec := json.NewDecoder(r)
	trace := newTrace(w)
	classic, base := &excerpt.Tail{Most: maxTailBytes}, ""
	for {
		var m jsonstream.Message
		switch err := dec.Decode(&m); {
		case errors.Is(err, io.EOF):
			return id, nil
		case err != nil:
			return "", fmt.Errorf("reading the engine's progress: %w", err)
		case m.Error != nil:
			err := failedStep(m.Error.Message, append(trace.failed(), lastLines(classic.String())...))
			return "", unpulled(cmp.Or(trace.unpulled(err), base), err)
		}
		if m.ID == "moby.buildkit.trace" && m.Aux != nil {
			var status []byte
			err := json.Unmarshal(*m.Aux, &status)
			if err == nil {
				err = trace.write(status)
			}
			if err != nil {
				return "", fmt.Errorf("reading the builder's progress: %w", err)
			}
			continue
		}
		text := m.Stream
		if m.Status != "" && m.Progress == nil { // not the ticks of a download's bar
			text = m.Status + "\n"
		}
		if strings.HasPrefix(m.Stream, "Step ") || strings.HasPrefix(m.Stream, "STEP ") { // of Docker, and of Podman
			base = ""
			if from := fromStep.FindStringSubmatch(m.Stream); from != nil {
				base = from[1]
			}
			classic = &excerpt.Tail{Most: maxTailBytes}
		} else {
			_, _ = io.WriteString(classic, m.Stream)
		}
		if _, err := io.WriteString(w, text); err != nil {
			return "", fmt.Errorf("writing the build's output: %w", err)
		}
		if m.Aux != nil {
			var aux struct{ ID string }
			if json.Unmarshal(*m.Aux, &aux) == nil && aux.ID != "" {
				id = aux.ID
			}
		}
	}
}

// fromStep is how the classic builders announce that they take a base image.
var fromStep = regexp.MustCompile(`^(?:Step|STEP) \d+/\d+ ?: FROM (?:--\S+ )*(\S+)`)

// unpulled is the error of a build that ended when it asked for the base image, with what
// helps; err itself where that is "".
func unpulled(base string, err error) error {
	if base == "" {
		return err
	}
	name := strings.TrimPrefix(strings.TrimPrefix(base, "docker.io/"), "library/")
	login := "docker login"
	if host, _, ok := strings.Cut(name, "/"); ok && strings.ContainsAny(host, ".:") {
		login += " " + host
	}
	return diag.WithHint(fmt.Errorf("the base image %s cannot be pulled: %w", name, err),
		"check its name and tag in the Dockerfile, and that this machine reaches its registry; a private one takes '%s' before", login)
}

// failedStep returns the builder's message with what the step said last.
func failedStep(message string, last []string) error {
	if len(last) == 0 {
		return errors.New(message)
	}
	return fmt.Errorf("%s; the step said last:\n%s", message, strings.Join(last, "\n"))
}

// maxTail is how many lines of a step an error repeats, and how many bytes of it
// are kept for that.
const (
	maxTail      = 8
	maxTailBytes = 4 << 10
)

// colours are the sequences with which the classic builder marks what a step
// writes to standard error, and any other that a step sends to a terminal.
var colours = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]`)

// lastLines returns the last lines of a text that hold something, as plain text.
func lastLines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		// The classic builder's arrows are about its containers.
		if line = strings.TrimSpace(colours.ReplaceAllString(line, "")); line != "" && !strings.HasPrefix(line, "---> ") &&
			!strings.HasPrefix(line, "Removing intermediate container") {
			out = append(out, line)
		}
	}
	return out[max(0, len(out)-maxTail):]
}
