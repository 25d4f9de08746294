package operation

import (
	"net/url"
	"path"
	"strings"
	"testing"
)

// A path that is accepted has one reading: decoding it once, and cleaning it, changes
// nothing of what its segments say.
func FuzzParsePath(f *testing.F) {
	for _, seed := range []string{"/", "/v1/a%20b/", "/@scope%2fname", "/a/../b", "/a/%2e%2e/b", "/a//b", "/a;b", "/%252e", "/a\\b", "/ä"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		p, err := ParsePath(raw)
		if err != nil {
			return
		}
		decoded, err := url.PathUnescape(raw)
		if err != nil || decoded != "/"+strings.Join(p.Segments, "/") {
			t.Fatalf("%q is %q, and its segments are %q (%v)", raw, decoded, p.Segments, err)
		}
		if clean := path.Clean(decoded); !p.Slashes && clean != strings.TrimSuffix(decoded, "/") && decoded != "/" {
			t.Errorf("%q is %q to a server that cleans it", decoded, clean)
		}
		if twice, err := url.PathUnescape(decoded); err != nil || twice != decoded {
			t.Errorf("%q is %q to a server that decodes it twice (%v)", raw, twice, err)
		}
		u, err := url.ParseRequestURI(raw)
		if err != nil || u.EscapedPath() != raw && u.Path != decoded {
			t.Errorf("net/url reads %q as %v (%v)", raw, u, err)
		}
	})
}
