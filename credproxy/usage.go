package credproxy

import (
	"bytes"
	"encoding/json"
	"sync"
)

// Usage counts tokens as the API reports them.
type Usage struct {
	Requests   int64 `json:"requests"` // answers of /v1/messages with status 200
	Input      int64 `json:"input"`    // not read from the cache
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
}

// meter adds up. It is safe for concurrent use.
type meter struct {
	mu  sync.Mutex
	sum Usage
}

func (m *meter) add(u Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sum.Requests += u.Requests
	m.sum.Input += u.Input
	m.sum.Output += u.Output
	m.sum.CacheRead += u.CacheRead
	m.sum.CacheWrite += u.CacheWrite
}

func (m *meter) total() Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sum
}

// maxKept bounds what a counter keeps of a line or of a plain answer, in
// bytes; longer ones are not counted. Events with usage are below 10 KiB.
const maxKept = 4 << 20

// counter reads the usage out of one answer that is written to it: server-sent
// events, or one JSON object.
type counter struct {
	events bool
	kept   []byte
	skip   bool
	usage  Usage
}

type wireUsage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
}

// wireAnswer is a message_start event (message.usage), a message_delta event
// or a plain answer (usage).
type wireAnswer struct {
	Type    string `json:"type"`
	Message struct {
		Usage wireUsage `json:"usage"`
	} `json:"message"`
	Usage wireUsage `json:"usage"`
}

func (c *counter) Write(p []byte) {
	if !c.events {
		c.keep(p)
		return
	}
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			c.keep(p)
			return
		}
		c.keep(p[:i])
		c.finish()
		p = p[i+1:]
	}
}

// finish reads what was kept; for a plain answer it is called at the end.
func (c *counter) finish() {
	kept, skip := c.kept, c.skip
	c.kept, c.skip = c.kept[:0], false
	if c.events {
		var ok bool
		if kept, ok = bytes.CutPrefix(kept, []byte("data:")); !ok {
			return
		}
	}
	// Most events are deltas of text: do not parse those.
	if skip || !bytes.Contains(kept, []byte(`"usage"`)) {
		return
	}
	var a wireAnswer
	if json.Unmarshal(kept, &a) != nil {
		return
	}
	c.take(a.Message.Usage)
	c.take(a.Usage)
}

// take replaces: a later event repeats the counts, cumulatively.
func (c *counter) take(u wireUsage) {
	for _, f := range []struct {
		to   *int64
		from *int64
	}{{&c.usage.Input, u.Input}, {&c.usage.Output, u.Output}, {&c.usage.CacheRead, u.CacheRead}, {&c.usage.CacheWrite, u.CacheWrite}} {
		if f.from != nil && *f.from >= 0 {
			*f.to = *f.from
		}
	}
}

func (c *counter) keep(p []byte) {
	if c.skip || len(c.kept)+len(p) > maxKept {
		c.skip = true
		return
	}
	c.kept = append(c.kept, p...)
}
