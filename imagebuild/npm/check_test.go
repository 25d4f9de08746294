package npm

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/org/claude-sandbox/internal/diag"
)

// program is the head of a Linux program for x86-64.
var program = append([]byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x3e\x00"), make([]byte, 100)...)

func entry(name string, data []byte) tar.Header {
	return tar.Header{Name: name, Mode: 0o755, Size: int64(len(data)), Typeflag: tar.TypeReg}
}

// content is a good archive with changes: edit may change the headers' list.
func content(t testing.TB, extra ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	tw := tar.NewWriter(&out)
	write := func(h tar.Header, data []byte) {
		if err := tw.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	manifest := []byte(`{"name":"@anthropic-ai/claude-code-linux-x64","version":"2.1.329"}`)
	write(entry("package/claude", program), program)
	write(entry("package/package.json", manifest), manifest)
	for _, h := range extra {
		write(h, make([]byte, h.Size))
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zip(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	zw := gzip.NewWriter(&out)
	if _, err := zw.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestAGoodTarball(t *testing.T) {
	inside := content(t)
	file := zip(t, inside)
	got, err := Check(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	s512, s256, diff := sha512.Sum512(file), sha256.Sum256(file), sha256.Sum256(inside)
	if got.Integrity != "sha512-"+base64.StdEncoding.EncodeToString(s512[:]) || got.SHA256.Hex != hex.EncodeToString(s256[:]) ||
		got.DiffID.Hex != hex.EncodeToString(diff[:]) || got.Size != int64(len(file)) || got.Machine != "amd64" || got.Version != "2.1.329" {
		t.Errorf("got %+v", got)
	}
}

// Harm that a tarball could do to an image if it became a layer unseen.
func TestHostileTarballsAreRefused(t *testing.T) {
	with := func(change func(*tar.Header)) []byte {
		h := entry("package/extra", nil)
		change(&h)
		return zip(t, content(t, h))
	}
	manifest := []byte(`{}`)
	raw := func(headers ...tar.Header) []byte {
		var out bytes.Buffer
		tw := tar.NewWriter(&out)
		for _, h := range headers {
			data := program
			if strings.HasSuffix(h.Name, ".json") {
				data = manifest
			}
			h.Size = int64(len(data))
			if err := tw.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
			if _, err := tw.Write(data); err != nil {
				t.Fatal(err)
			}
		}
		tw.Close()
		return zip(t, out.Bytes())
	}
	good := content(t)
	many := make([]tar.Header, maxEntries)
	for i := range many {
		many[i] = entry("package/"+strings.Repeat("x", i+1), nil)
	}
	for name, file := range map[string][]byte{
		"a path above the root":              with(func(h *tar.Header) { h.Name = "package/../../etc/cron.d/x" }),
		"an absolute path":                   with(func(h *tar.Header) { h.Name = "/etc/passwd" }),
		"another folder":                     with(func(h *tar.Header) { h.Name = "usr/local/sbin/sbx-init" }),
		"a path that cleans to package":      with(func(h *tar.Header) { h.Name = "package/./x" }),
		"a double slash":                     with(func(h *tar.Header) { h.Name = "package//x" }),
		"a backslash":                        with(func(h *tar.Header) { h.Name = `package/..\..\x` }),
		"a control character":                with(func(h *tar.Header) { h.Name = "package/a\x1b[2Jb" }),
		"a long name":                        with(func(h *tar.Header) { h.Name = "package/" + strings.Repeat("x", 300) }),
		"a symbolic link":                    with(func(h *tar.Header) { h.Typeflag, h.Linkname = tar.TypeSymlink, "/etc" }),
		"a hard link":                        with(func(h *tar.Header) { h.Typeflag, h.Linkname = tar.TypeLink, "package/claude" }),
		"a device":                           with(func(h *tar.Header) { h.Typeflag = tar.TypeBlock }),
		"a pipe":                             with(func(h *tar.Header) { h.Typeflag = tar.TypeFifo }),
		"a folder":                           with(func(h *tar.Header) { h.Name, h.Typeflag = "package/dir/", tar.TypeDir }),
		"setuid":                             with(func(h *tar.Header) { h.Mode = 0o4755 }),
		"setgid":                             with(func(h *tar.Header) { h.Mode = 0o2755 }),
		"sticky":                             with(func(h *tar.Header) { h.Mode = 0o1755 }),
		"a program that the agent may write": with(func(h *tar.Header) { h.Mode = 0o757 }),
		"a file of the agent's":              with(func(h *tar.Header) { h.Uid = 1000 }),
		"a file of another group":            with(func(h *tar.Header) { h.Gid = 1000 }),
		"a whiteout":                         with(func(h *tar.Header) { h.Name = "package/.wh.claude" }),
		"an opaque whiteout":                 with(func(h *tar.Header) { h.Name = "package/.wh..wh..opq" }),
		"a whiteout further down":            with(func(h *tar.Header) { h.Name = "package/a/.wh.b" }),
		"capabilities": with(func(h *tar.Header) {
			h.PAXRecords = map[string]string{"SCHILY.xattr.security.capability": "\x01\x00\x00\x02"}
		}),
		"an entry twice":   with(func(h *tar.Header) { h.Name = "package/claude" }),
		"too many entries": zip(t, content(t, many...)),
		"no program":       raw(entry("package/package.json", manifest)),
		"no package.json":  raw(entry("package/claude", program)),
		"a program nobody may run": raw(tar.Header{Name: "package/claude", Mode: 0o644, Typeflag: tar.TypeReg},
			entry("package/package.json", nil)),
		"no gzip":                  good,
		"cut off":                  zip(t, good)[:200],
		"a wrong checksum of gzip": append(zip(t, good)[:len(zip(t, good))-8], "12345678"...),
		"something behind":         append(zip(t, good), 'x'),
		"a second gzip member":     append(zip(t, good), zip(t, content(t, entry("package/hidden", nil)))...),
		"a second archive":         zip(t, append(bytes.Clone(good), good...)),
		"something in the padding": zip(t, append(bytes.Clone(good), "x"...)),
		"nothing":                  {},
	} {
		if got, err := Check(bytes.NewReader(file)); err == nil {
			t.Errorf("%s: accepted as %+v", name, got)
		}
	}
}

func TestABombIsRefusedBeforeItIsUnpacked(t *testing.T) {
	// 4 GiB of zeros in 4 MB, as a file of the package.
	pr, pw := io.Pipe()
	go func() {
		zw := gzip.NewWriter(pw)
		tw := tar.NewWriter(zw)
		const size = 4 << 30
		h := entry("package/claude", nil)
		h.Size = size
		_ = tw.WriteHeader(&h)
		_, _ = tw.Write(program)
		zeros := make([]byte, 1<<20)
		for n := 0; n < size; n += len(zeros) {
			if _, err := tw.Write(zeros); err != nil {
				break
			}
		}
		pw.CloseWithError(zw.Close())
	}()
	defer pr.Close()
	if _, err := Check(pr); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("got %v", err)
	}
}

// Whatever is accepted is unpacked by a plain reader into plain files of root
// below package/.
func FuzzCheck(f *testing.F) {
	f.Add(content(f))
	f.Add(content(f, tar.Header{Name: "package/x", Typeflag: tar.TypeSymlink, Linkname: "/"}))
	f.Add(content(f, tar.Header{Name: "package/" + strings.Repeat("é", 90), Mode: 0o644, Typeflag: tar.TypeReg}))
	f.Fuzz(func(t *testing.T, inside []byte) {
		file := zip(t, inside)
		got, err := Check(bytes.NewReader(file))
		if err != nil {
			return
		}
		if sum := sha256.Sum256(inside); got.DiffID.Hex != hex.EncodeToString(sum[:]) {
			t.Fatalf("the content's digest is %s", got.DiffID)
		}
		zr, err := gzip.NewReader(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		for tr := tar.NewReader(zr); ; {
			h, err := tr.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(path.Clean("/"+h.Name), "/package/") || h.Typeflag != tar.TypeReg || h.Mode&^0o755 != 0 ||
				h.Uid != 0 || h.Gid != 0 || strings.HasPrefix(path.Base(h.Name), ".wh.") || h.Linkname != "" {
				t.Fatalf("accepted %+v", h)
			}
			for key := range h.PAXRecords {
				if strings.Contains(key, "xattr") || strings.HasPrefix(key, "GNU.") {
					t.Fatalf("accepted the record %q", key)
				}
			}
		}
	})
}

func TestResolve(t *testing.T) {
	answers := map[string]string{
		"/@anthropic-ai%2fclaude-code-linux-x64/latest": `{"name":"@anthropic-ai/claude-code-linux-x64","version":"2.1.330",` +
			`"dist":{"integrity":"sha512-x","tarball":"http://t"}}`,
		"/@anthropic-ai%2fclaude-code-linux-x64/2.1.1": `{"name":"@anthropic-ai/claude-code-linux-x64","version":"2.1.2",` +
			`"dist":{"integrity":"sha512-x","tarball":"http://t"}}`,
		"/@anthropic-ai%2fclaude-code-linux-x64/2.1.3": `{"name":"@anthropic-ai/claude-code-linux-x64","version":"2.1.3",` +
			`"dist":{"integrity":"sha1-x","tarball":"http://t"}}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.EscapedPath()]
		if !ok {
			w.WriteHeader(404)
		}
		_, _ = io.WriteString(w, text)
	}))
	defer server.Close()
	r := Registry{URL: server.URL + "/", HTTP: server.Client()}
	const name = "@anthropic-ai/claude-code-linux-x64"
	if p, err := r.Resolve(context.Background(), name, "latest"); err != nil || p.Version != "2.1.330" || p.Integrity != "sha512-x" {
		t.Errorf("latest is %+v, %v", p, err)
	}
	for _, version := range []string{"2.1.1", "2.1.3", "9.9.9"} { // another version, a weak checksum, none
		if p, err := r.Resolve(context.Background(), name, version); err == nil {
			t.Errorf("%s is %+v", version, p)
		} else if version == "9.9.9" && diag.HintOf(err) == "" {
			t.Errorf("%v has no hint", err)
		}
	}
	if got := r.TarballURL(name, "2.1.329"); got != server.URL+"/@anthropic-ai/claude-code-linux-x64/-/claude-code-linux-x64-2.1.329.tgz" {
		t.Error(got)
	}
}
