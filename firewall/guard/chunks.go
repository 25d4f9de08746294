package guard

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxChunkLine bounds the line before a chunk, in bytes: a length of 16 hex
// digits and the line's end.
const maxChunkLine = 18

var errChunk = errors.New("the request's body has a malformed chunk")

// parseChunkLine reads the line that b begins with: "1f\r\n". It returns the
// chunk's size and the length of the line, which is 0 when b does not hold all
// of it yet. Extensions (RFC 9112 section 7.1.1) are refused: clients do
// not send them, and servers have disagreed about where they end.
func parseChunkLine(b []byte) (size int64, length int, err error) {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		if len(b) >= maxChunkLine {
			return 0, 0, errChunk
		}
		return 0, 0, nil
	}
	if end == 0 || b[end-1] != '\r' {
		return 0, 0, errBareLF
	}
	digits := string(b[:end-1])
	if digits == "" || len(digits) > 16 || strings.Trim(digits, "0123456789abcdefABCDEF") != "" {
		return 0, 0, fmt.Errorf("%w: %q", errChunk, shorten(digits))
	}
	size, err = strconv.ParseInt(digits, 16, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %q", errChunk, shorten(digits))
	}
	return size, end + 1, nil
}

// checkTrailers judges what stands behind the last chunk, its empty line
// included: fields that could not change how the request was read.
func checkTrailers(b []byte) error {
	for line := range strings.SplitSeq(strings.TrimSuffix(string(b), "\r\n"), "\r\n") {
		if line == "" {
			continue
		}
		name, _, err := parseField(line)
		if err != nil {
			return err
		}
		switch strings.ToLower(name) {
		case "host", "content-length", "transfer-encoding", "upgrade", "connection":
			return fmt.Errorf("the request has %s behind its body", name)
		}
	}
	return nil
}
