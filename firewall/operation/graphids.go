package operation

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
)

// maxGraphResponse bounds the response that is read for its ids, in bytes.
const maxGraphResponse = 4 << 20

// observer remembers of which repository the ids are that the response gives.
func (s *graphShape) observer(ids siteIDs, body *Body) func(int, http.Header) io.WriteCloser {
	return func(status int, header http.Header) io.WriteCloser {
		if status != http.StatusOK || !strings.HasPrefix(header.Get("Content-Type"), "application/json") || len(header["Content-Encoding"]) > 0 {
			return nil
		}
		return &graphResponse{shape: s, ids: ids, body: body}
	}
}

type graphResponse struct {
	shape *graphShape
	ids   siteIDs
	body  *Body // of the request, which holds the text
	text  []byte
	over  bool // it is too long, and not read
}

func (r *graphResponse) Write(data []byte) (int, error) {
	if r.over = r.over || len(r.text)+len(data) > maxGraphResponse || !r.body.hold(len(data)); !r.over {
		r.text = append(r.text, data...)
	}
	return len(data), nil
}

func (r *graphResponse) Close() error {
	if r.over {
		return nil
	}
	defer r.body.Judged()
	if members, err := r.body.parse(r.text); err == nil {
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
				r.ids.record(id, shape.repo)
			} else if child := shape.children[key]; child != nil {
				r.note(child, one)
			}
		}
	}
}

// maxIDs bounds the ids that are remembered.
const maxIDs = 20_000

// siteIDs are the ids that one site gave. Sites count their objects each for itself, so
// one may have, and somebody there may bring about, an id that is another object's elsewhere.
type siteIDs struct {
	memory *Memory
	site   string
}

func (m *Memory) idsAt(site githubSite) siteIDs { return siteIDs{m, site.web.String()} }

func (s siteIDs) record(id string, repo []string) {
	key := s.site + " " + id
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	if _, known := s.memory.ids[key]; known || len(s.memory.ids) < maxIDs && len(id) < 256 {
		s.memory.ids[key] = slices.Clone(repo)
	}
}

// repositoryOf returns the repository of an id that this sandbox saw, or nil.
func (s siteIDs) repositoryOf(id string) []string {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	return s.memory.ids[s.site+" "+id]
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
