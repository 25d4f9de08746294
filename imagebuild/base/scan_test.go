package base

import (
	"archive/tar"
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/internal/diag"
)

// file is an entry of a layer.
func file(name, content string, mode int64) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: mode, Size: int64(len(content)),
		PAXRecords: map[string]string{"comment": content}}
}

// uncompressed packs entries; the content of a file is its comment.
func uncompressed(t *testing.T, headers ...tar.Header) artifact.Layer {
	t.Helper()
	var out bytes.Buffer
	tw := tar.NewWriter(&out)
	for _, h := range headers {
		content := h.PAXRecords["comment"]
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := tw.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	b := artifact.Bytes(types.OCIUncompressedLayer, out.Bytes(), "layer")
	return artifact.Layer{Blob: b, DiffID: b.Digest}
}

func scanned(t *testing.T, layers ...artifact.Layer) Facts {
	t.Helper()
	f, err := Scan(context.Background(), layers)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func paths(f Facts) []string {
	var out []string
	for _, p := range f.Privileged {
		out = append(out, p.Path+"="+string(p.Data))
	}
	return out
}

// Every way in which layers can hide or bring back a program with root's
// rights. One that is overlooked stays in the image with them.
func TestNoPrivilegedProgramIsOverlooked(t *testing.T) {
	capable := file("usr/bin/ping", "ping", 0o755)
	capable.PAXRecords["SCHILY.xattr.security.capability"] = "\x01"
	bin := tar.Header{Name: "bin", Typeflag: tar.TypeSymlink, Linkname: "usr/bin"}
	for name, c := range map[string]struct {
		layers [][]tar.Header
		want   []string
	}{
		"setuid, setgid, capabilities": {
			[][]tar.Header{{file("usr/bin/su", "su", 0o4755), file("usr/bin/wall", "wall", 0o2755), capable, file("usr/bin/ls", "ls", 0o755)}},
			[]string{"usr/bin/ping=ping", "usr/bin/su=su", "usr/bin/wall=wall"}},
		"in a hidden place": {[][]tar.Header{{file("var/lib/.x/y", "y", 0o4755)}}, []string{"var/lib/.x/y=y"}},
		"written with dots": {[][]tar.Header{{file("./usr/../usr/bin/su", "su", 0o4755)}}, []string{"usr/bin/su=su"}},
		"a hard link to one": {
			[][]tar.Header{{file("usr/bin/su", "su", 0o4755), {Name: "x", Typeflag: tar.TypeLink, Linkname: "usr/bin/su"}}},
			[]string{"usr/bin/su=su", "x=su"}},
		"replaced by a harmless one": {[][]tar.Header{{file("usr/bin/su", "su", 0o4755)}, {file("usr/bin/su", "new", 0o755)}}, nil},
		"given the rights later": {[][]tar.Header{{file("usr/bin/su", "su", 0o755)}, {file("usr/bin/su", "su", 0o4755)}},
			[]string{"usr/bin/su=su"}},
		"deleted":                 {[][]tar.Header{{file("usr/bin/su", "su", 0o4755)}, {file("usr/bin/.wh.su", "", 0)}}, nil},
		"deleted with its folder": {[][]tar.Header{{file("usr/bin/su", "su", 0o4755)}, {file("usr/.wh.bin", "", 0)}}, nil},
		"folder made opaque": {[][]tar.Header{{file("usr/bin/su", "su", 0o4755)},
			{file("usr/bin/.wh..wh..opq", "", 0), file("usr/bin/new", "new", 0o4755)}}, []string{"usr/bin/new=new"}},
		"opaque written after what is new": {[][]tar.Header{{file("usr/bin/su", "su", 0o4755)},
			{file("usr/bin/new", "new", 0o4755), file("usr/bin/.wh..wh..opq", "", 0)}}, []string{"usr/bin/new=new"}},
		"deleted and brought back in one": {[][]tar.Header{{file("usr/bin/su", "su", 0o4755)},
			{file("usr/bin/su", "again", 0o4755), file("usr/bin/.wh.su", "", 0)}}, []string{"usr/bin/su=again"}},
		"folder replaced by a file":         {[][]tar.Header{{file("opt/a/su", "su", 0o4755)}, {file("opt/a", "x", 0o644)}}, nil},
		"through a link of the root":        {[][]tar.Header{{bin, file("usr/bin/su", "su", 0o4755)}, {file("bin/su", "new", 0o755)}}, nil},
		"rights through a link of the root": {[][]tar.Header{{bin}, {file("bin/su", "su", 0o4755)}}, []string{"usr/bin/su=su"}},
		"a whiteout does not meet others": {[][]tar.Header{{file("usr/bin/su", "su", 0o4755)}, {file("usr/bin/.wh.sudo", "", 0)}},
			[]string{"usr/bin/su=su"}},
	} {
		var layers []artifact.Layer
		for _, headers := range c.layers {
			layers = append(layers, uncompressed(t, headers...))
		}
		if got := paths(scanned(t, layers...)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestALayerUnlikeItsDigestIsRefused(t *testing.T) {
	l := uncompressed(t, file("a", "a", 0o644))
	l.DiffID = v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("0", 64)}
	if _, err := Scan(context.Background(), []artifact.Layer{l}); err == nil {
		t.Error("it was read")
	}
}

func TestABaseWithoutAFirewallIsRefused(t *testing.T) {
	f := scanned(t,
		uncompressed(t, file("usr/bin/bash", "x", 0o755), file("usr/bin/sh", "x", 0o755), file("usr/share/doc/iptables", "x", 0o644),
			file("etc/passwd", "root:x:0:0::/root:/bin/sh\n", 0o644), file("etc/group", "root:x:0:\n", 0o644)))
	if _, err := Sandbox(f); err == nil || !strings.Contains(err.Error(), "iptables, ip6tables, ipset") ||
		!strings.Contains(diag.HintOf(err), "Dockerfile") {
		t.Errorf("got %v with hint %q", err, diag.HintOf(err))
	}
}

// The agent's number must be the agent's alone.
func TestAccounts(t *testing.T) {
	all := func(passwd, group string) (string, string, error) {
		f := Facts{Programs: map[string]bool{}, Accounts: map[string][]byte{"etc/passwd": []byte(passwd), "etc/group": []byte(group)}}
		for _, name := range required {
			f.Programs[name] = true
		}
		entries, err := Sandbox(f)
		if err != nil {
			return "", "", err
		}
		return string(entries[0].Data), string(entries[1].Data), nil
	}
	passwd, group, err := all("root:x:0:0::/root:/bin/sh\na:x:1000:1000::/home/a:/bin/sh\nb:x:1000:5::/:/bin/sh\nc:x:1001:1001::/:/bin/sh",
		"root:x:0:a\nstaff:x:50:a,c,b\na:x:77:\nx:x:1000:c\n")
	if err != nil || passwd != "root:x:0:0::/root:/bin/sh\nc:x:1001:1001::/:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/bash\n" ||
		group != "root:x:0:\nstaff:x:50:c\nagent:x:1000:\n" {
		t.Errorf("%q %q %v", passwd, group, err)
	}
	for _, c := range [][2]string{
		{"agent:x:0:0::/root:/bin/sh\n", "root:x:0:\n"}, // root under another name
		{"root:x:0:0::/root:/bin/sh\n", "agent:x:0:\n"},
	} {
		if passwd, group, err := all(c[0], c[1]); err == nil {
			t.Errorf("%q is accepted and becomes %q, %q", c, passwd, group)
		}
	}
}

func TestSplitRef(t *testing.T) {
	for ref, want := range map[string][2]string{
		"ghcr.io/me/x":                  {"ghcr.io/me/x", "latest"},
		"ghcr.io/me/x:v1":               {"ghcr.io/me/x", "v1"},
		"127.0.0.1:5000/x":              {"127.0.0.1:5000/x", "latest"},
		"127.0.0.1:5000/x:v1":           {"127.0.0.1:5000/x", "v1"},
		"127.0.0.1:5000/x:v1@sha256:ab": {"127.0.0.1:5000/x", "sha256:ab"},
		"debian":                        {"debian", "latest"},
	} {
		if repo, version := SplitRef(ref); repo != want[0] || version != want[1] {
			t.Errorf("%s is %s and %s", ref, repo, version)
		}
	}
}
