package fakeapi

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// Cloud serves the scripted API in the forms of Bedrock and Vertex AI: the model is in the path,
// and Bedrock's events are binary messages. It is safe for concurrent use.
type Cloud struct {
	API *Server

	mu      sync.Mutex
	arrived []string
}

// Arrived are the requests so far, as "AUTHORIZATION PATH".
func (c *Cloud) Arrived() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.arrived)
}

// ServeHTTP serves one request.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.arrived = append(c.arrived, r.Header.Get("Authorization")+" "+r.URL.EscapedPath())
	c.mu.Unlock()
	var model string
	bedrock := strings.HasPrefix(r.URL.Path, "/model/")
	if bedrock {
		model, _, _ = strings.Cut(strings.TrimPrefix(r.URL.Path, "/model/"), "/")
	} else {
		_, rest, _ := strings.Cut(r.URL.Path, "/publishers/anthropic/models/")
		model, _, _ = strings.Cut(rest, ":")
	}
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body["model"] != nil || body["anthropic_version"] == nil {
		http.Error(w, "no request of a cloud's form", http.StatusBadRequest)
		return
	}
	delete(body, "anthropic_version")
	delete(body, "anthropic_beta")
	body["model"] = model
	body["stream"] = strings.Contains(strings.ToLower(r.URL.Path), "stream")
	text, _ := json.Marshal(body)
	inner := httptest.NewRequestWithContext(r.Context(), http.MethodPost, "/v1/messages", bytes.NewReader(text))
	answer := httptest.NewRecorder()
	c.API.ServeHTTP(answer, inner)
	if !bedrock || answer.Code != http.StatusOK || body["stream"] == false {
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
		return
	}
	w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
	for line := range strings.Lines(answer.Body.String()) {
		if data, ok := strings.CutPrefix(line, "data:"); ok {
			writeEvent(w, []byte(strings.TrimSpace(data)))
		}
	}
}

// writeEvent writes an event as Bedrock does, in pieces.
func writeEvent(w http.ResponseWriter, event []byte) {
	payload, _ := json.Marshal(map[string]any{"bytes": event, "p": "abcdefgh"})
	var headers []byte
	for _, h := range [][2]string{{":event-type", "chunk"}, {":content-type", "application/json"}, {":message-type", "event"}} {
		headers = append(headers, byte(len(h[0])))
		headers = append(append(headers, h[0]...), 7)
		headers = append(binary.BigEndian.AppendUint16(headers, uint16(len(h[1]))), h[1]...)
	}
	message := binary.BigEndian.AppendUint32(nil, uint32(12+len(headers)+len(payload)+4))
	message = binary.BigEndian.AppendUint32(message, uint32(len(headers)))
	message = binary.BigEndian.AppendUint32(message, crc32.ChecksumIEEE(message))
	message = append(append(message, headers...), payload...)
	message = binary.BigEndian.AppendUint32(message, crc32.ChecksumIEEE(message))
	_, _ = w.Write(message[:7])
	_ = http.NewResponseController(w).Flush()
	_, _ = w.Write(message[7:])
}
