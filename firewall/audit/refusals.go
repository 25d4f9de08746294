package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/org/claude-sandbox/firewall"
)

// maxRefusalsBytes is how much of the end of a log Refusals reads.
const maxRefusalsBytes = 4 << 20

// Refusals returns the newest refusals of a target that the log at path holds
// and that are no older than since: at most limit, each reason once, the newest
// first. A log that does not exist holds none.
func Refusals(path string, t firewall.Target, since time.Time, limit int) ([]Record, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > maxRefusalsBytes {
		_, _ = f.Seek(-maxRefusalsBytes, io.SeekEnd) // a line that is cut there is no record
	}
	records, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	var found []Record
	seen := map[string]bool{}
	for _, r := range slices.Backward(records) {
		if len(found) == limit {
			break
		}
		if r.Verdict == firewall.Deny && r.isAbout(t) && !r.Time.Before(since) && !seen[r.Reason] {
			seen[r.Reason] = true
			found = append(found, r)
		}
	}
	return found, nil
}

// isAbout reports whether the record is about the target.
func (r Record) isAbout(t firewall.Target) bool {
	if t.Port != 0 && r.Port != 0 && (t.Port != r.Port || r.Proto != t.Proto) {
		return false
	}
	if t.Name != "" {
		return r.Name == t.Name
	}
	addr, err := netip.ParseAddr(r.Dst)
	return err == nil && addr == t.Addr
}
