package conversation

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// Bounds of a conversation, in bytes. A model's context holds some MiB, images
// included, and claude reads the whole file.
const (
	MaxSize = 64 << 20
	maxLine = 16 << 20
)

// ErrTooLarge reports a conversation that is larger than MaxSize, or has a message
// of more than 16 MiB.
var ErrTooLarge = errors.New("the conversation is too large to be kept")

// idForm is how claude names its conversations.
var idForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// notPlain is what claude replaces in a folder's path to name its conversations'.
var notPlain = regexp.MustCompile(`[^a-zA-Z0-9]`)

// IsID reports whether id has the form of a conversation's, so that it is safe as a
// file's name.
func IsID(id string) bool { return idForm.MatchString(id) }

// NewID is a name for a new conversation.
func NewID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Path is where claude looks for a conversation, relative to its folder ~/.claude,
// when it works in the folder workDir.
func Path(workDir, id string) string {
	return "projects/" + notPlain.ReplaceAllString(workDir, "-") + "/" + id + ".jsonl"
}

// line is a message as claude keeps it, with the members that it needs to go on
// (measured with 2.1.329).
type line struct {
	Type             string          `json:"type"`
	Subtype          string          `json:"subtype,omitempty"`
	UUID             string          `json:"uuid"`
	Parent           *string         `json:"parentUuid"`
	LogicalParent    *string         `json:"logicalParentUuid,omitempty"` // of what follows a summary
	SessionID        string          `json:"sessionId"`
	Timestamp        string          `json:"timestamp"`
	Version          string          `json:"version,omitempty"`
	UserType         string          `json:"userType,omitempty"`
	CWD              string          `json:"cwd"`
	IsMeta           bool            `json:"isMeta,omitempty"`
	IsCompactSummary bool            `json:"isCompactSummary,omitempty"`
	Message          json.RawMessage `json:"message,omitempty"`
	Content          string          `json:"content,omitempty"` // of a boundary

	IsSidechain bool `json:"isSidechain"`
}

// Keep copies the messages of the conversation id, which was held in workDir, from r
// to w and returns their number. Lines of another conversation, of subagents and of
// other types are left out; whoever named one of them as its parent names that
// one's parent instead. It errs on a line that is no JSON object, unless that is a last one
// without an end: claude is writing it, or was killed then.
func Keep(w io.Writer, r io.Reader, workDir, id string) (messages int, err error) {
	limited := &io.LimitedReader{R: r, N: MaxSize + 1}
	lines := bufio.NewScanner(limited)
	lines.Buffer(nil, maxLine)
	ended := false // the line has an end
	lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		advance, token, err := bufio.ScanLines(data, atEOF)
		ended = advance > len(token)
		return advance, token, err
	})
	left := map[string]*string{} // parents of lines that are left out
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			if limited.N == 0 { // it is cut off here
				return messages, ErrTooLarge
			}
			if !ended {
				return messages, nil
			}
			return messages, fmt.Errorf("line %d of the conversation is none of claude's", messages+1)
		}
		if l.SessionID != id || l.IsSidechain || !isMessage(l) {
			if l.UUID != "" {
				left[l.UUID] = l.Parent
			}
			continue
		}
		for hops := 0; l.Parent != nil && hops <= len(left); hops++ { // a circle is as good as the end
			parent, skipped := left[*l.Parent]
			if !skipped {
				break
			}
			l.Parent = parent
		}
		l.CWD = workDir
		text, err := json.Marshal(l)
		if err != nil {
			return messages, fmt.Errorf("keeping the conversation: %w", err)
		}
		if _, err := w.Write(append(text, '\n')); err != nil {
			return messages, fmt.Errorf("keeping the conversation: %w", err)
		}
		messages++
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong) || limited.N == 0:
		return messages, ErrTooLarge
	case err != nil:
		return messages, fmt.Errorf("reading the conversation: %w", err)
	}
	return messages, nil
}

// isMessage reports whether a line is a message, or says that earlier ones were
// summed up.
func isMessage(l line) bool {
	if l.UUID == "" {
		return false
	}
	return (l.Type == "user" || l.Type == "assistant") && len(l.Message) > 0 || l.Type == "system" && l.Subtype == "compact_boundary"
}
