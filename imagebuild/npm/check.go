package npm

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"debug/elf"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/klauspost/compress/gzip"
)

// Limits of a tarball. Version 2.1.329 has 4 entries, 174 MB packed
// and 378 MB unpacked.
const (
	maxEntries  = 64
	maxPacked   = 512 << 20
	maxUnpacked = 1 << 30
	maxName     = 200
)

// Tarball is a tarball that passed Check.
type Tarball struct {
	Integrity string  `json:"integrity"` // sha512-BASE64 of the file, as npm publishes it
	SHA256    v1.Hash `json:"sha256"`    // of the file: the digest of the layer
	Size      int64   `json:"size"`      // of the file, in bytes
	DiffID    v1.Hash `json:"diffID"`    // sha256 of the unpacked tar
	Machine   string  `json:"machine"`   // what package/claude runs on: "amd64", "arm64"
	Version   string  `json:"version"`   // what package/package.json says
	Name      string  `json:"name"`      // what package/package.json says
}

// Check reads a tarball to its end and reports what must not be in one that
// becomes a layer of an image as it is: anything but plain files of root below
// package/, unpacked by everybody in the same way. It must hold package/claude,
// a Linux program, and package/package.json.
func Check(r io.Reader) (Tarball, error) {
	packed := &tally{hashes: []hash.Hash{sha256.New(), sha512.New()}, limit: maxPacked}
	source := bufio.NewReaderSize(io.TeeReader(r, packed), 1<<16)
	zr, err := gzip.NewReader(source)
	if err != nil {
		return Tarball{}, fmt.Errorf("no gzip file: %w", err)
	}
	// One member only: programs differ in what they make of a second one.
	zr.Multistream(false)
	unpacked := &tally{hashes: []hash.Hash{sha256.New()}, limit: maxUnpacked}
	content := io.TeeReader(zr, unpacked)

	t, err := checkEntries(content)
	if err != nil {
		return Tarball{}, err
	}
	if err := onlyZeros(content); err != nil {
		return Tarball{}, err
	}
	if _, err := source.ReadByte(); !errors.Is(err, io.EOF) {
		return Tarball{}, errors.New("something follows the compressed archive")
	}
	t.SHA256, t.DiffID = packed.sha256(), unpacked.sha256()
	t.Integrity = "sha512-" + base64.StdEncoding.EncodeToString(packed.hashes[1].Sum(nil))
	t.Size = packed.n
	return t, nil
}

func checkEntries(content io.Reader) (Tarball, error) {
	var t Tarball
	seen := map[string]bool{}
	tr := tar.NewReader(content)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return t, fmt.Errorf("reading the archive: %w", err)
		}
		if len(seen) == maxEntries {
			return t, fmt.Errorf("more than %d entries", maxEntries)
		}
		if err := checkHeader(h); err != nil {
			return t, fmt.Errorf("entry %.*q: %w", maxName, h.Name, err)
		}
		if seen[h.Name] {
			return t, fmt.Errorf("entry %q is there twice", h.Name)
		}
		seen[h.Name] = true
		switch h.Name {
		case "package/claude":
			if h.Mode&0o111 != 0o111 {
				return t, fmt.Errorf("entry %q: mode %04o, not everybody may run it", h.Name, h.Mode)
			}
			if t.Machine, err = machine(tr); err != nil {
				return t, fmt.Errorf("entry %q: %w", h.Name, err)
			}
		case "package/package.json":
			if err := json.NewDecoder(io.LimitReader(tr, 1<<20)).Decode(&struct{ Name, Version *string }{&t.Name, &t.Version}); err != nil {
				return t, fmt.Errorf("entry %q: %w", h.Name, err)
			}
		}
	}
	for _, name := range []string{"package/claude", "package/package.json"} {
		if !seen[name] {
			return t, fmt.Errorf("no entry %q", name)
		}
	}
	return t, nil
}

// checkHeader judges one entry by its header.
func checkHeader(h *tar.Header) error {
	name := h.Name
	switch {
	case h.Typeflag != tar.TypeReg:
		return fmt.Errorf("type %q, want a regular file", h.Typeflag)
	case len(name) > maxName:
		return fmt.Errorf("a name of more than %d bytes", maxName)
	case !strings.HasPrefix(name, "package/") || path.Clean(name) != name:
		return errors.New("not a plain path below package/")
	case strings.ContainsFunc(name, func(r rune) bool { return r < 0x20 || r == 0x7f || r == '\\' || r == 0xfffd }):
		return errors.New("a name with control characters or backslashes")
	case strings.Contains(name, "/.wh."):
		return errors.New("a whiteout: it would delete files of the layers below")
	case h.Mode&^0o777 != 0:
		return fmt.Errorf("mode %04o has bits beyond the permissions, such as setuid", h.Mode)
	case h.Mode&0o022 != 0:
		return fmt.Errorf("mode %04o lets others than its owner write", h.Mode)
	case h.Uid != 0 || h.Gid != 0:
		return fmt.Errorf("it belongs to %d:%d, not to root", h.Uid, h.Gid)
	case h.Linkname != "":
		return errors.New("it is a link")
	}
	for key := range h.PAXRecords {
		switch key {
		case "path", "mtime", "atime", "ctime", "comment":
		default: // capabilities and other attributes, sparse files, sizes
			return fmt.Errorf("an extended header %q", key)
		}
	}
	return nil
}

// machine returns the Go name of the architecture that an ELF program runs on.
func machine(r io.Reader) (string, error) {
	head := make([]byte, 64)
	if _, err := io.ReadFull(r, head); err != nil {
		return "", errors.New("too short for a program")
	}
	if !bytes.HasPrefix(head, []byte(elf.ELFMAG)) || elf.Data(head[elf.EI_DATA]) != elf.ELFDATA2LSB {
		return "", errors.New("no Linux program")
	}
	switch m := elf.Machine(uint16(head[18]) | uint16(head[19])<<8); m {
	case elf.EM_X86_64:
		return "amd64", nil
	case elf.EM_AARCH64:
		return "arm64", nil
	default:
		return "", fmt.Errorf("a program for %s", m)
	}
}

// onlyZeros reads what follows the end of an archive. Some programs go on
// reading entries there.
func onlyZeros(r io.Reader) error {
	buf := make([]byte, 1<<15)
	for {
		n, err := r.Read(buf)
		if len(bytes.Trim(buf[:n], "\x00")) > 0 {
			return errors.New("something follows the end of the archive")
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the archive: %w", err)
		}
	}
}

// tally hashes and counts what passes, up to a limit.
type tally struct {
	hashes []hash.Hash
	n      int64
	limit  int64
}

func (t *tally) Write(p []byte) (int, error) {
	if t.n += int64(len(p)); t.n > t.limit {
		return 0, fmt.Errorf("more than %d bytes", t.limit)
	}
	for _, h := range t.hashes {
		h.Write(p)
	}
	return len(p), nil
}

func (t *tally) sha256() v1.Hash {
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(t.hashes[0].Sum(nil))}
}
