package credproxy

import "sync"

// Usage counts tokens as the API reports them.
type Usage struct {
	Requests   int64 `json:"requests"` // answers of /v1/messages with status 200
	Input      int64 `json:"input"`    // not read from the cache
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
}

// tokens are those of one answer, with what their price depends on.
type tokens struct {
	Usage
	write5m  int64 // of CacheWrite, those that stay for five minutes
	searches int64 // web searches at the provider
}

// meter adds up. It is safe for concurrent use.
type meter struct {
	mu   sync.Mutex
	sum  Usage
	cost float64 // US dollars
}

// change replaces what is counted of one answer: was by now.
func (m *meter) change(was, now tokens, wasUSD, nowUSD float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sum.Requests += now.Requests - was.Requests
	m.sum.Input += now.Input - was.Input
	m.sum.Output += now.Output - was.Output
	m.sum.CacheRead += now.CacheRead - was.CacheRead
	m.sum.CacheWrite += now.CacheWrite - was.CacheWrite
	m.cost += nowUSD - wasUSD
}

func (m *meter) total() (Usage, float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sum, m.cost
}
