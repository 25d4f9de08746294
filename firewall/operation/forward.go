package operation

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/org/claude-sandbox/firewall/operation/pktline"
)

// A push that sets a ref to another commit keeps what the ref has when the old commit is an
// ancestor of the new one. The commits in between are at the beginning of the pack, where git
// puts them. Each names its parents, and its id is the hash of its text, so nothing else is
// asked or believed. Where the beginning does not show it, the push is refused.
//
// A server with receive.shallowUpdate cuts the parents of a commit that a push calls shallow off,
// for good. So no way leads through one that this sandbox ever called so.

const (
	maxPackHead   = 1 << 20  // bytes of a push that are looked at
	maxUnpacked   = 8 << 20  // bytes of objects that are unpacked
	maxCommitText = 64 << 10 // bytes; a longer commit shows nothing
	maxUpdates    = 64       // refs of a push that go from one commit to another
)

// notForward returns the first ref that a push would set to a commit that is not shown to come
// after the ref's own; "" = there is none.
func (p *push) notForward(m *Memory, repo repository, header http.Header, body *Body) (ref string) {
	var updates []pushCommand
	for _, c := range p.commands {
		if !isZero(c.old) && c.old != c.new {
			updates = append(updates, c)
		}
	}
	if len(updates) == 0 {
		return ""
	}
	if _, err := body.Peek(maxPackHead); len(updates) > maxUpdates || err != nil && !errors.Is(err, io.EOF) {
		return updates[0].ref
	}
	body.beginParsing()
	pack := packHead{parents: map[string][]string{}, byPlace: map[int64][]byte{}, byID: map[string][]byte{}, idSize: len(updates[0].old) / 2}
	if from, err := decodedPrefix(header, body, maxPackHead); err == nil {
		for packet := (pktline.Packet{}); err == nil && packet.Kind != pktline.Flush; {
			packet, err = pktline.Read(from)
		}
		pack.from = bufio.NewReader(from)
		_ = pack.read() // the commits before an end or an error are known
	}
	for _, c := range updates {
		if !pack.comesAfter(c.new, c.old, func(id string) bool { return m.isShallow(repo, id) }) {
			return c.ref
		}
	}
	return ""
}

// comesAfter reports whether the known commits lead from one back to an older one. Shallow ones
// lead nowhere.
func (p *packHead) comesAfter(commit, older string, shallow func(id string) bool) bool {
	seen := map[string]bool{}
	for todo := []string{commit}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if at == older {
			return true
		}
		if !seen[at] {
			seen[at] = true
			if !shallow(at) {
				todo = append(todo, p.parents[at]...)
			}
		}
	}
	return false
}

// packHead reads the commits at the beginning of a pack (gitformat-pack).
type packHead struct {
	from     *bufio.Reader
	place    int64         // in the pack, in bytes
	unpacked int           // bytes
	idSize   int           // bytes
	unpacker io.ReadCloser // nil = no object was read

	parents map[string][]string // of each commit, by id
	byPlace map[int64][]byte    // texts of commits
	byID    map[string][]byte
}

var errPack = errors.New("the pack cannot be read")

func (p *packHead) ReadByte() (byte, error) {
	b, err := p.from.ReadByte()
	if err == nil {
		p.place++
	}
	return b, err
}

func (p *packHead) Read(into []byte) (int, error) {
	n, err := p.from.Read(into)
	p.place += int64(n)
	return n, err
}

// The kinds of objects in a pack that matter here.
const (
	packCommit     = 1
	packOffsetDiff = 6 // from an object at an earlier place
	packNamedDiff  = 7 // from an object with an id
)

// read takes objects until one cannot be read.
func (p *packHead) read() error {
	var head [12]byte
	if _, err := io.ReadFull(p, head[:]); err != nil || string(head[:7]) != "PACK\x00\x00\x00" || head[7] != 2 && head[7] != 3 {
		return errPack
	}
	for range binary.BigEndian.Uint32(head[8:]) {
		if err := p.readObject(); err != nil {
			return err
		}
	}
	return nil
}

func (p *packHead) readObject() error {
	place := p.place
	first, err := p.ReadByte()
	if err != nil {
		return err
	}
	kind, size := first>>4&7, uint64(first&15)
	if first&0x80 != 0 {
		more, err := binary.ReadUvarint(p)
		if err != nil || more > maxUnpacked {
			return errPack
		}
		size |= more << 4
	}
	var base []byte
	switch kind {
	case packOffsetDiff:
		back, err := p.readBack()
		if err != nil {
			return err
		}
		base = p.byPlace[place-back]
	case packNamedDiff:
		id := make([]byte, p.idSize)
		if _, err := io.ReadFull(p, id); err != nil {
			return err
		}
		base = p.byID[hex.EncodeToString(id)]
	}
	keep := kind == packCommit || base != nil
	text, err := p.unpack(size, keep)
	if err != nil || !keep {
		return err
	}
	if base != nil {
		if text, err = applyDiff(base, text); err != nil {
			return err
		}
		if len(text) > maxUnpacked-p.unpacked {
			return errPack
		}
		p.unpacked += len(text)
	}
	p.add(place, text)
	return nil
}

// readBack reads how far before an object its base is, in bytes.
func (p *packHead) readBack() (back int64, err error) {
	for n := 0; ; n++ {
		b, err := p.ReadByte()
		if err != nil || n == 8 {
			return 0, errPack
		}
		back = back<<7 | int64(b&0x7f)
		if b&0x80 == 0 {
			return back, nil
		}
		back++
	}
}

// unpack reads the text of an object. It keeps it if that is asked for and the text is short.
func (p *packHead) unpack(size uint64, keep bool) ([]byte, error) {
	if size > uint64(maxUnpacked-p.unpacked) {
		return nil, errPack
	}
	p.unpacked += int(size)
	if p.unpacker == nil {
		z, err := zlib.NewReader(p)
		if err != nil {
			return nil, err
		}
		p.unpacker = z
	} else if err := p.unpacker.(zlib.Resetter).Reset(p, nil); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	into := io.Discard
	if keep && size <= maxCommitText {
		into = &text
	}
	// One byte more: the end of the packed text has to be read as well.
	if n, err := io.Copy(into, io.LimitReader(p.unpacker, int64(size)+1)); err != nil || n != int64(size) {
		return nil, errPack
	}
	return text.Bytes(), nil
}

// applyDiff makes the text that a diff describes.
func applyDiff(base, diff []byte) (text []byte, err error) {
	from := bytes.NewReader(diff)
	was, err := binary.ReadUvarint(from)
	if err != nil || was != uint64(len(base)) {
		return nil, errPack
	}
	size, err := binary.ReadUvarint(from)
	if err != nil || size > maxCommitText {
		return nil, errPack
	}
	for from.Len() > 0 {
		code, _ := from.ReadByte()
		var piece []byte
		if code&0x80 == 0 {
			piece = make([]byte, code)
			if _, err := io.ReadFull(from, piece); err != nil || code == 0 {
				return nil, errPack
			}
		} else {
			var number [7]byte // where in base, and how much of it: the bytes that are not zero
			for i := range number {
				if code>>i&1 == 1 {
					if number[i], err = from.ReadByte(); err != nil {
						return nil, errPack
					}
				}
			}
			at, n := int(binary.LittleEndian.Uint32(number[:4])), int(number[4])|int(number[5])<<8|int(number[6])<<16
			if n == 0 {
				n = 0x10000
			}
			if at > len(base) || n > len(base)-at {
				return nil, errPack
			}
			piece = base[at : at+n]
		}
		if len(text)+len(piece) > int(size) {
			return nil, errPack
		}
		text = append(text, piece...)
	}
	if len(text) != int(size) {
		return nil, errPack
	}
	return text, nil
}

// add notes the parents of a commit, as git reads them.
func (p *packHead) add(place int64, text []byte) {
	object := append(fmt.Appendf(nil, "commit %d\x00", len(text)), text...)
	var id string
	if p.idSize == sha256.Size {
		sum := sha256.Sum256(object)
		id = hex.EncodeToString(sum[:])
	} else {
		sum := sha1.Sum(object)
		id = hex.EncodeToString(sum[:])
	}
	p.byPlace[place], p.byID[id] = text, text
	line, rest, _ := strings.Cut(string(text), "\n")
	if tree, ok := strings.CutPrefix(line, "tree "); !ok || !validID(tree) {
		return
	}
	var parents []string
	for {
		var ended bool // git takes a line without its end for none
		line, rest, ended = strings.Cut(rest, "\n")
		parent, ok := strings.CutPrefix(line, "parent ")
		if !ended || !ok || !validID(parent) {
			break
		}
		parents = append(parents, parent)
	}
	p.parents[id] = parents
}
