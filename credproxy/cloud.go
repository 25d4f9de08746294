package credproxy

import (
	"encoding/binary"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// cloud is the form in which a cloud serves the Messages API. Claude Code speaks it itself: the
// model is in the path, and the body names a version of the form.
type cloud struct {
	name      string
	path      *regexp.Regexp // at the proxy: "tail" goes behind the upstream's own path
	variables []string       // by which Claude Code speaks it, with this proxy and without signing
	base      string         // the variable that names the proxy, before "="
	region    string         // the variable of the region
}

// cloudModel is how a model stands in a path. An escaped "/" is in ARNs.
const cloudModel = `(?P<model>[A-Za-z0-9](?:[A-Za-z0-9._:@-]|%2F|%3A|%40){0,255})`

// bedrock is Amazon Bedrock's (InvokeModel, InvokeModelWithResponseStream).
var bedrock = &cloud{
	name:      "bedrock",
	path:      regexp.MustCompile(`^/bedrock(?P<tail>/model/` + cloudModel + `/invoke(?:-with-response-stream)?)$`),
	variables: []string{"CLAUDE_CODE_USE_BEDROCK=1", "CLAUDE_CODE_SKIP_BEDROCK_AUTH=1"},
	base:      "ANTHROPIC_BEDROCK_BASE_URL=", region: "AWS_REGION=",
}

// vertex is Google's Vertex AI's (rawPredict, streamRawPredict). The upstream's path ends in
// the project and the location, so that requests can be for no others.
var vertex = &cloud{
	name: "vertex",
	path: regexp.MustCompile(`^/vertex/projects/sandbox/locations/[a-z0-9-]+` +
		`(?P<tail>/publishers/anthropic/models/` + cloudModel + `:(?:r|streamR)awPredict)$`),
	variables: []string{"CLAUDE_CODE_USE_VERTEX=1", "CLAUDE_CODE_SKIP_VERTEX_AUTH=1", "ANTHROPIC_VERTEX_PROJECT_ID=sandbox"},
	base:      "ANTHROPIC_VERTEX_BASE_URL=", region: "CLOUD_ML_REGION=",
}

// BedrockKey is an API key of Amazon Bedrock, or a token of a gateway that serves Bedrock's
// form, sent as a bearer token. Nothing is signed. region is for Claude Code, which names models
// by it.
func BedrockKey(secret, region string) (Credential, error) { return ofCloud(bedrock, secret, region) }

// VertexToken is the same for Google's Vertex AI. The upstream's path ends in
// /projects/PROJECT/locations/LOCATION.
func VertexToken(secret, region string) (Credential, error) { return ofCloud(vertex, secret, region) }

func ofCloud(c *cloud, secret, region string) (Credential, error) {
	credential, err := BearerToken(secret)
	credential.cloud, credential.region = c, region
	return credential, err
}

// OfCloud reports whether requests have a cloud's form.
func (c Credential) OfCloud() bool { return c.cloud != nil }

// Variables are those by which Claude Code finds the proxy at base, but for its token: NAME=VALUE.
func (c Credential) Variables(base string) []string {
	if c.cloud == nil {
		return nil
	}
	return append([]string{c.cloud.base + base + "/" + c.cloud.name, c.cloud.region + c.region}, c.cloud.variables...)
}

// cloudCall is a request in a cloud's form.
type cloudCall struct {
	tail  string // of the path, escaped
	model string
}

// call reads the path of a request; nil = it is none.
func (c *cloud) call(r *http.Request) *cloudCall {
	if c == nil {
		return nil
	}
	m := c.path.FindStringSubmatch(r.URL.EscapedPath())
	if m == nil || strings.Contains(m[0], "..") {
		return nil
	}
	model, err := url.PathUnescape(m[c.path.SubexpIndex("model")])
	if err != nil {
		return nil
	}
	return &cloudCall{m[c.path.SubexpIndex("tail")], model}
}

// to puts the call behind the upstream's path.
func (c *cloudCall) to(target *url.URL) {
	target.RawPath = strings.TrimSuffix(target.EscapedPath(), "/") + c.tail
	target.Path, _ = url.PathUnescape(target.RawPath) // it was read before
	target.RawQuery = ""
}

// cloudMembers are those of a request's body that the clouds' forms have in addition.
func cloudMembers() members {
	known := func(c *cursor) error {
		if c.kind() != '"' {
			return refuse("a string is wanted")
		}
		if beta := c.str(); !isBeta(beta) {
			return unknown(beta)
		}
		return nil
	}
	return members{"anthropic_version": oneOf("bedrock-2023-05-31", "vertex-2023-10-16"), "anthropic_beta": list(known)}
}

const eventStreamType = "application/vnd.amazon.eventstream"

// eventStream reads an answer of Bedrock that is streamed: messages with a head of 12 bytes
// (lengths of the whole and of its headers, a checksum), headers, a payload, and a checksum. The
// payload holds an event of the Messages API.
type eventStream struct {
	*answerReader
	pending []byte
	broken  bool
}

const (
	eventHead = 12
	eventSum  = 4
)

// Write never fails.
func (e *eventStream) Write(p []byte) {
	if e.broken {
		e.produced += len(p)
		return
	}
	for e.pending = append(e.pending, p...); len(e.pending) >= eventHead; {
		length, headers := binary.BigEndian.Uint32(e.pending), binary.BigEndian.Uint32(e.pending[4:])
		if length > maxKept || eventHead+uint64(headers)+eventSum > uint64(length) {
			e.broken, e.produced, e.pending = true, e.produced+len(e.pending), nil
			return
		}
		if uint32(len(e.pending)) < length {
			return
		}
		var chunk struct {
			Bytes []byte `json:"bytes"`
		}
		var event wireEvent
		payload := e.pending[eventHead+headers : length-eventSum]
		if json.Unmarshal(payload, &chunk) == nil && json.Unmarshal(chunk.Bytes, &event) == nil {
			e.event(event)
		}
		e.pending = e.pending[length:]
	}
}
