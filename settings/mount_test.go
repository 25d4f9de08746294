package settings

import (
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
)

func TestParseMount(t *testing.T) {
	for _, c := range []struct {
		text string
		want Mount
		err  string
	}{
		{"/src:/data", Mount{"/src", "/data", false}, ""},
		{"/src:/data:ro", Mount{"/src", "/data", true}, ""},
		{"/src:/data:readonly", Mount{"/src", "/data", true}, ""},
		{"/src:/data:rw", Mount{"/src", "/data", false}, ""},
		{"./src:/data", Mount{"./src", "/data", false}, ""},
		{"~/src:/data:ro", Mount{"~/src", "/data", true}, ""},
		{"/a b/ü:/data", Mount{"/a b/ü", "/data", false}, ""},
		{`C:\src:/data`, Mount{`C:\src`, "/data", false}, ""},
		{`C:\src dir:/data:ro`, Mount{`C:\src dir`, "/data", true}, ""},
		{"c:/src:/data:ro", Mount{"c:/src", "/data", true}, ""},
		{`\\server\share\x:/data`, Mount{`\\server\share\x`, "/data", false}, ""},
		{`\\wsl$\Ubuntu\home\u:/data:ro`, Mount{`\\wsl$\Ubuntu\home\u`, "/data", true}, ""},
		{"//server/share:/data", Mount{"//server/share", "/data", false}, ""},
		{"/mnt/c/src:/data", Mount{"/mnt/c/src", "/data", false}, ""},
		{"type=bind,source=/src,target=/data", Mount{"/src", "/data", false}, ""},
		{"type=bind,src=/src,dst=/data,readonly", Mount{"/src", "/data", true}, ""},
		{"source=/src,destination=/data,ro=true", Mount{"/src", "/data", true}, ""},
		{"target=/data,source=/src,readonly=false", Mount{"/src", "/data", false}, ""},
		{`type=bind,"source=/a,b",target=/data`, Mount{"/a,b", "/data", false}, ""},
		{`type=bind,source=C:\src,target=/data`, Mount{`C:\src`, "/data", false}, ""},
		{"source=/a:b,target=/data", Mount{"/a:b", "/data", false}, ""},

		{"", Mount{}, `"" names no place in the container`},
		{"/src", Mount{}, `"/src" names no place in the container`},
		{`C:\src`, Mount{}, `"C:\\src" names no place in the container`},
		{"/src:", Mount{}, "it names no place in the container"},
		{":/data", Mount{}, "it names no folder or file of this machine"},
		{"/src:data", Mount{}, `the container path "data" is not absolute`},
		{"/src:/data/../etc", Mount{}, `the container path "/data/../etc" is not in its shortest form`},
		{"/src:/data/", Mount{}, `the container path "/data/" is not in its shortest form`},
		{"/src:/data:rx", Mount{}, `the option "rx" of a mount is not known`},
		{"/src:/data:", Mount{}, `the option "" of a mount is not known`},
		{"/src:/data:ro:rw", Mount{}, `the option "ro:rw" of a mount is not known`},
		{"cache:/data", Mount{}, `"cache" is the name of a volume to the engines, and volumes are not mounted`},
		{"type=volume,source=x,target=/data", Mount{}, `a mount of the type "volume" is not made`},
		{"type=tmpfs,target=/data", Mount{}, `a mount of the type "tmpfs" is not made`},
		{"type=bind,source=/src,target=/data,bind-propagation=shared", Mount{}, `the option "bind-propagation" of a mount is not known`},
		{"type=bind,source=/a,source=/b,target=/data", Mount{}, "a mount has two of source"},
		{"type=bind,source=/a,target=/data,readonly=maybe", Mount{}, `readonly="maybe" is neither true nor false`},
		{"type=bind,target=/data", Mount{}, "it names no folder or file of this machine"},
		{"type=bind,source=/a\n,target=/data", Mount{}, `"type=bind,source=/a\n,target=/data" is no list of NAME=VALUE`},
		{"/a\x00b:/data", Mount{}, "it holds a NUL character"},
	} {
		got, err := readMount(c.text)
		switch {
		case c.err == "" && (err != nil || got != c.want):
			t.Errorf("%q: %+v, %v; want %+v", c.text, got, err, c.want)
		case c.err != "" && (err == nil || err.Error() != c.err || diag.HintOf(err) == ""):
			t.Errorf("%q: %v; want %s, with a hint", c.text, err, c.err)
		}
	}
}

func TestHostPath(t *testing.T) {
	for _, c := range []struct {
		host string
		on   Machine
		want string // "" = refused
	}{
		{"/src", Unix, "/src"}, {"~/src", Unix, "~/src"}, {"//src", Unix, "//src"}, {`/a\b`, Unix, `/a\b`},
		{`C:\src`, Unix, ""}, {`\\server\share`, Unix, ""},
		{`C:\src`, Windows, `C:\src`}, {"C:/src", Windows, "C:/src"}, {`\\server\share`, Windows, `\\server\share`},
		{`\\wsl$\Ubuntu\x`, Windows, `\\wsl$\Ubuntu\x`},
		{`C:\Users\me\src`, WSL, "/mnt/c/Users/me/src"}, {"d:/x", WSL, "/mnt/d/x"}, {`C:\..\..\etc`, WSL, "/mnt/c/etc"},
		{"//c/src", Windows, "C:/src"}, {"//c/src", WSL, "/mnt/c/src"}, {"//c/../../etc", WSL, "/mnt/c/etc"}, {"//c/src", Unix, "//c/src"},
		{"//cc/src", WSL, ""}, {"//cc/src", Windows, "//cc/src"}, {"//1/src", WSL, ""}, {`C:/`, WSL, "/mnt/c"},
		{"/mnt/c/src", WSL, "/mnt/c/src"}, {"/src", WSL, "/src"},
		{`\\wsl$\Ubuntu\home\me`, WSL, ""}, {`\\wsl.localhost\Ubuntu\home\me`, WSL, ""}, {"//server/share", WSL, ""},
	} {
		got, err := HostPath(c.host, c.on)
		if got != c.want || (err != nil) != (c.want == "") || err != nil && diag.HintOf(err) == "" {
			t.Errorf("%q on %s: %q, %v; want %q", c.host, c.on, got, err, c.want)
		}
	}
	if _, err := HostPath(`\\wsl$\Ubuntu\home\me`, WSL); !strings.Contains(diag.HintOf(err), "/home/me") {
		t.Errorf("the hint is %q", diag.HintOf(err))
	}
}

// An accepted mount has a host path and an absolute, clean place, and its long form is
// the same mount.
func FuzzParseMount(f *testing.F) {
	for _, seed := range []string{"/src:/data:ro", `C:\src:/data`, "type=bind,source=/a,target=/b,readonly", `\\wsl$\U\x:/d`, "a:b:c", `"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := readMount(text)
		if err != nil {
			return
		}
		if m.Host == "" || !path.IsAbs(m.Container) || path.Clean(m.Container) != m.Container || strings.ContainsRune(m.Host+m.Container, 0) {
			t.Fatalf("%q: %+v", text, m)
		}
		field := func(name, value string) string { return `"` + strings.ReplaceAll(name+"="+value, `"`, `""`) + `"` }
		long := "type=bind," + field("source", m.Host) + "," + field("target", m.Container)
		if m.ReadOnly {
			long += ",readonly"
		}
		if strings.ContainsAny(m.Host+m.Container, "\r\n") || strings.TrimSpace(m.Container) != m.Container ||
			strings.TrimSpace(m.Host) != m.Host {
			return // CSV and its fields change those
		}
		if again, err := readMount(long); err != nil || again != m {
			t.Fatalf("%q: %+v; its long form %q: %+v, %v", text, m, long, again, err)
		}
		for _, on := range []Machine{Unix, Windows, WSL} {
			_, _ = HostPath(m.Host, on)
		}
	})
}

// readMount is parseMount with an error.
func readMount(text string) (Mount, error) {
	m, bad := parseMount(text)
	if bad != nil {
		return Mount{}, diag.WithHint(errors.New(bad.message), "%s", bad.hint)
	}
	return m, nil
}
