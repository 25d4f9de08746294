package operation

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall/operation/pktline"
)

const pushResult = "application/x-git-receive-pack-result"

// maxReport bounds the server's report of a push, in bytes.
const maxReport = 1 << 20

// The streams of a side band (gitprotocol-pack).
const (
	bandReport  = "\x01"
	bandMessage = "\x02"
)

func (p *push) can(capability string) bool { return slices.Contains(p.capabilities, capability) }

func (p *push) reports() bool { return p.can("report-status") || p.can("report-status-v2") }

// refusal answers a push as a server that takes none of its commands. It is nil for a
// client that asked for no report: a plain refusal is clearer there.
func (p *push) refusal(reason string, more ...string) *Answer {
	if !p.reports() {
		return nil
	}
	report := pktline.Append(nil, "unpack ok\n")
	for _, c := range p.commands {
		report = pktline.Append(report, "ng "+c.ref+" refused by the sandbox\n")
	}
	report = pktline.AppendFlush(report)
	if p.can("side-band-64k") {
		var framed []byte
		for _, line := range append([]string{reason}, more...) {
			framed = pktline.Append(framed, bandMessage+"sandbox: "+line+"\n")
		}
		for part := range slices.Chunk(report, pktline.MaxData-1) {
			framed = pktline.Append(framed, bandReport+string(part))
		}
		report = pktline.AppendFlush(framed)
	}
	return &Answer{
		Status: http.StatusOK,
		Header: http.Header{"Content-Type": {pushResult}, "Cache-Control": {"no-cache"}},
		Body:   report,
	}
}

// observer remembers the refs that the server says it took. Without its word a ref
// stays somebody else's: a push that failed has overwritten nothing, and must not
// be the ground on which the next one does.
func (p *push) observer(m *Memory, repo repository) func(int, http.Header) io.WriteCloser {
	if !p.reports() {
		return nil
	}
	return func(status int, header http.Header) io.WriteCloser {
		if status != http.StatusOK || header.Get("Content-Type") != pushResult || len(header["Content-Encoding"]) > 0 {
			return nil
		}
		return &pushReport{push: p, memory: m, repo: repo}
	}
}

// pushReport reads a server's report as it passes.
type pushReport struct {
	push   *push
	memory *Memory
	repo   repository
	part   []byte // of a side band's packet
	report []byte
	broken bool
}

func (r *pushReport) Write(data []byte) (int, error) {
	switch {
	case r.broken:
	case r.push.can("side-band-64k"):
		r.part = append(r.part, data...)
		r.unframe()
	default:
		r.report = append(r.report, data...)
	}
	r.broken = r.broken || len(r.report) > maxReport
	return len(data), nil
}

// unframe takes whole packets from part and keeps the report's.
func (r *pushReport) unframe() {
	for !r.broken {
		from := bytes.NewReader(r.part)
		packet, err := pktline.Read(from)
		if err != nil {
			r.broken = len(r.part) >= 4+pktline.MaxData
			return
		}
		r.part = r.part[len(r.part)-from.Len():]
		if text, ok := bytes.CutPrefix(packet.Data, []byte(bandReport)); ok {
			r.report = append(r.report, text...)
		}
	}
}

// Close remembers what the report says was taken.
func (r *pushReport) Close() error {
	if r.broken {
		return nil
	}
	from := bytes.NewReader(r.report)
	var taken []string
	for {
		packet, err := pktline.Read(from)
		if err != nil {
			return nil
		}
		if packet.Kind != pktline.Data {
			break
		}
		switch word, rest, _ := strings.Cut(strings.TrimSuffix(string(packet.Data), "\n"), " "); word {
		case "ok":
			taken = append(taken, rest)
		case "option": // the server wrote something else than the command says
			taken = taken[:max(0, len(taken)-1)]
		}
	}
	for _, c := range r.push.commands {
		if slices.Contains(taken, c.ref) {
			r.memory.recordPush(r.repo, c.ref, c.new)
		}
	}
	return nil
}

// maxPushed bounds the refs and the shallow commits that are remembered.
const maxPushed = 4096

func (m *Memory) recordPush(repo repository, ref, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := repo.String() + " " + ref
	if _, known := m.pushed[key]; known || len(m.pushed) < maxPushed {
		m.pushed[key] = id
		if m.changed != nil {
			m.changed(maps.Clone(m.pushed))
		}
	}
}

// shallowKey stands in front of a shallow commit's id in the place of a ref, which it cannot be.
const shallowKey = "shallow "

// recordShallow remembers commits that a push calls shallow, whether or not the server takes it.
// It is false where there are too many.
func (m *Memory) recordShallow(repo repository, ids []string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.pushed)
	for _, id := range ids {
		key := repo.String() + " " + shallowKey + id
		if m.pushed[key] == "" && len(m.pushed) >= maxPushed {
			return false
		}
		m.pushed[key] = id
	}
	if len(m.pushed) > before && m.changed != nil {
		m.changed(maps.Clone(m.pushed))
	}
	return true
}

func (m *Memory) isShallow(repo repository, id string) bool {
	return m.pushedTo(repo, shallowKey+id) != ""
}

// pushedTo returns the object to which this sandbox set a ref, or "".
func (m *Memory) pushedTo(repo repository, ref string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pushed[repo.String()+" "+ref]
}
