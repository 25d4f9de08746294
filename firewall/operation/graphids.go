package operation

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall/operation/strictjson"
)

// maxGraphResponse bounds the response that is read for its ids, in bytes.
const maxGraphResponse = 4 << 20

// observer remembers of which repository the ids are that the response gives.
func (s *graphShape) observer(m *Memory) func(int, http.Header) io.WriteCloser {
	return func(status int, header http.Header) io.WriteCloser {
		if status != http.StatusOK || !strings.HasPrefix(header.Get("Content-Type"), "application/json") || len(header["Content-Encoding"]) > 0 {
			return nil
		}
		return &graphResponse{shape: s, memory: m}
	}
}

type graphResponse struct {
	shape  *graphShape
	memory *Memory
	text   []byte
}

func (r *graphResponse) Write(data []byte) (int, error) {
	if len(r.text) <= maxGraphResponse {
		r.text = append(r.text, data...)
	}
	return len(data), nil
}

func (r *graphResponse) Close() error {
	if len(r.text) > maxGraphResponse {
		return nil
	}
	if members, err := strictjson.Object(r.text); err == nil {
		r.note(r.shape, members["data"])
	}
	return nil
}

// note remembers the ids of a value and of what is below it.
func (r *graphResponse) note(shape *graphShape, value any) {
	switch value := value.(type) {
	case []any:
		for _, one := range value {
			r.note(shape, one)
		}
	case map[string]any:
		for key, one := range value {
			if id, ok := one.(string); ok && shape.names[key] == "id" && shape.repo != nil {
				r.memory.recordID(id, shape.repo)
			} else if child := shape.children[key]; child != nil {
				r.note(child, one)
			}
		}
	}
}

// maxIDs bounds the ids that are remembered.
const maxIDs = 20_000

func (m *Memory) recordID(id string, repo []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.ids[id]; known || len(m.ids) < maxIDs && len(id) < 256 {
		m.ids[id] = slices.Clone(repo)
	}
}

// repositoryOf returns the repository of an id that this sandbox saw, or nil.
func (m *Memory) repositoryOf(id string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ids[id]
}

func jsonAnswer(value any) *Answer {
	text, _ := json.Marshal(value)
	return &Answer{Status: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}}, Body: text}
}

// words is a set of them.
func words(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}
