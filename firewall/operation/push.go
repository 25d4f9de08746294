package operation

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/org/claude-sandbox/firewall/operation/pktline"
)

// maxCommands bounds the commands of a push, in bytes before and behind decoding.
const maxCommands = 256 << 10

// push is the head of a request to git-receive-pack, before the pack.
type push struct {
	commands     []pushCommand // none = git asks whether it may push at all
	shallow      []string      // commits that the client has without their parents
	capabilities []string
}

// pushCommand asks for one ref to go from one object to another. Zeros are no object.
type pushCommand struct{ old, new, ref string }

var (
	errPushForm    = errors.New("the push's commands cannot be read")
	errPushSigned  = errors.New("signed pushes are not allowed, for their commands are inside the certificate")
	errPushOptions = errors.New("push options ask the server for more than a push, and no entry can name them")
	errPushCoding  = errors.New("the push is encoded in a way that is not read here")
)

// pushCapabilities are those that a client may ask for (gitprotocol-capabilities)
// and that change nothing about which refs the commands write.
var pushCapabilities = []string{"report-status", "report-status-v2", "side-band-64k", "quiet", "atomic", "ofs-delta", "delete-refs"}

// pushCapabilityValues are those of the form NAME=VALUE.
var pushCapabilityValues = []string{"agent", "session-id", "object-format"}

// readPush reads the commands of a push.
func readPush(header http.Header, body *Body) (push, error) {
	from, err := decodedPrefix(header, body, maxCommands)
	if err != nil {
		return push{}, err
	}
	var p push
	for {
		packet, err := pktline.Read(from)
		switch {
		case errors.Is(err, ErrLong):
			return push{}, err
		case err == nil && packet.Kind == pktline.Flush:
			return p, p.checkEnd(from)
		case err != nil || packet.Kind != pktline.Data:
			return push{}, errPushForm
		}
		if err := p.readLine(string(packet.Data)); err != nil {
			return push{}, err
		}
	}
}

// decodedPrefix returns a reader of a body's first bytes, decoded.
func decodedPrefix(header http.Header, body *Body, limit int) (io.Reader, error) {
	switch codings := header["Content-Encoding"]; {
	case len(codings) == 0:
		return body.Prefix(limit), nil
	case len(codings) > 1 || codings[0] != "gzip":
		return nil, errPushCoding
	}
	unzipped, err := gzip.NewReader(body.Prefix(limit))
	if err != nil {
		return nil, errPushCoding
	}
	unzipped.Multistream(false)
	return &limitedReader{unzipped, limit}, nil
}

// limitedReader fails with ErrLong behind its limit.
type limitedReader struct {
	from io.Reader
	left int
}

func (l *limitedReader) Read(into []byte) (int, error) {
	if l.left == 0 {
		return 0, ErrLong
	}
	n, err := l.from.Read(into[:min(len(into), l.left)])
	l.left -= n
	return n, err
}

// checkEnd refuses bytes behind commands that are none: a question has no pack.
func (p *push) checkEnd(from io.Reader) error {
	if len(p.commands) > 0 {
		return nil
	}
	if n, err := io.ReadFull(from, make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) {
		return errPushForm
	}
	return nil
}

// readLine reads a command, or a line about a shallow clone. As in git's server each
// line may have capabilities, and not the first alone.
func (p *push) readLine(line string) error {
	line, capabilities, _ := strings.Cut(line, "\x00")
	if strings.HasPrefix(line, "push-cert") {
		return errPushSigned
	}
	if err := p.readCapabilities(capabilities); err != nil {
		return err
	}
	line = strings.TrimSuffix(line, "\n")
	if id, ok := strings.CutPrefix(line, "shallow "); ok && validID(id) && len(p.commands) == 0 {
		p.shallow = append(p.shallow, id)
		return nil
	}
	parts := strings.SplitN(line, " ", 3)
	if len(parts) != 3 || !validID(parts[0]) || !validID(parts[1]) || len(parts[0]) != len(parts[1]) || !validRef(parts[2]) {
		return errPushForm
	}
	c := pushCommand{old: parts[0], new: parts[1], ref: parts[2]}
	if slices.ContainsFunc(p.commands, func(other pushCommand) bool { return other.ref == c.ref }) {
		return errPushForm
	}
	p.commands = append(p.commands, c)
	return nil
}

func (p *push) readCapabilities(text string) error {
	for _, capability := range strings.Fields(text) {
		name, _, valued := strings.Cut(capability, "=")
		switch {
		case name == "push-cert":
			return errPushSigned
		case name == "push-options":
			return errPushOptions
		case valued && !slices.Contains(pushCapabilityValues, name), !valued && !slices.Contains(pushCapabilities, name):
			return fmt.Errorf("the push asks for %q, which is not known here", name)
		}
		p.capabilities = append(p.capabilities, capability)
	}
	return nil
}

// validID reports whether text is an object's id: SHA-1 or SHA-256.
func validID(text string) bool {
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}

func isZero(id string) bool { return strings.Trim(id, "0") == "" }

// validRef reports whether text is a whole ref that git takes (git check-ref-format).
func validRef(text string) bool {
	if !strings.HasPrefix(text, "refs/") || len(text) > 1024 || !utf8.ValidString(text) {
		return false
	}
	if strings.Contains(text, "..") || strings.Contains(text, "@{") || strings.HasSuffix(text, ".") {
		return false
	}
	for _, c := range text {
		if c <= ' ' || isOdd(c) || strings.ContainsRune(`~^:?*[\`, c) { // people see refs, and HFS+ leaves invisible characters out
			return false
		}
	}
	for part := range strings.SplitSeq(text, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}

// judgePush decides about the commands of a push: one that is refused refuses all.
func (g *git) judgePush(d *Decision, m *Memory, repo repository, req *Request, body *Body) {
	d.Operation = "git push " + repo.String()
	p, err := readPush(req.Header, body)
	if err != nil {
		d.Reason = err.Error()
		return
	}
	if len(p.commands) == 0 {
		g.allow(d, repo, "push", "refs/heads/*")
		return
	}
	var refs, wanted []string
	for _, c := range p.commands {
		refs = append(refs, c.ref)
		rule, reason, missing := g.judgeCommand(m, repo, c)
		if reason != "" && d.Reason == "" {
			d.Reason = reason
		}
		if missing {
			wanted = append(wanted, c.ref)
		}
		if d.Rule == "" {
			d.Rule = rule
		}
	}
	d.Operation += " " + strings.Join(refs, ",")
	if d.Reason == "" && !m.recordShallow(repo, p.shallow) {
		d.Reason = "this sandbox named more shallow commits than are remembered: git fetch --unshallow"
	}
	if d.Reason == "" {
		if ref := p.notForward(m, repo, req.Header, body); ref != "" {
			d.Reason = ref + " of " + repo.String() + " would lose commits, or the push does not show that it keeps them: " +
				"add commits or merge, no force"
		}
	}
	if d.Reason != "" {
		d.Rule, d.Answer = "", p.refusal(d.Reason)
		if len(wanted) > 0 {
			d.Wants = repo.entryFor("push", strings.Join(wanted, ","))
			d.Answer = p.refusal(d.Reason, "allowed by: "+d.Wants)
		}
		return
	}
	d.Allowed, d.Reason = true, "the entry names these refs, and they are new, or this sandbox's own and lose nothing"
	d.Observe = p.observer(m, repo)
}

// judgeCommand returns why a command is refused; missing says that an entry would
// allow it.
func (g *git) judgeCommand(m *Memory, repo repository, c pushCommand) (rule, reason string, missing bool) {
	i := slices.IndexFunc(g.entries, func(e gitEntry) bool { return e.does == gitPush && e.repo.includes(repo) && matchRef(e.refs, c.ref) })
	switch {
	case isZero(c.new):
		return "", "no entry allows to delete " + c.ref + " of " + repo.String(), false
	case i < 0:
		return "", "no entry allows to push " + c.ref + " to " + repo.String(), true
	case !isZero(c.old) && m.pushedTo(repo, c.ref) != c.old:
		return "", c.ref + " of " + repo.String() + " holds commits that this sandbox did not push, and it may change only its own", false
	}
	return g.entries[i].text, "", false
}

func matchRef(patterns []string, ref string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, wild := strings.CutSuffix(pattern, "*")
		return pattern == ref || wild && len(ref) > len(prefix) && strings.HasPrefix(ref, prefix)
	})
}
