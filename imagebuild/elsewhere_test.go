package imagebuild

import (
	"fmt"
	"net/http"
	"os"

	"github.com/org/claude-sandbox/imagebuild/lock"
	"github.com/org/claude-sandbox/imagebuild/npm"
	"github.com/org/claude-sandbox/imagebuild/store"
)

// buildElsewhere is what the other machine of TestTwoMachinesOneDigest does: it
// has the lock and an empty cache.
func buildElsewhere(text []byte) error {
	l, err := lock.Parse(text)
	if err != nil {
		return err
	}
	s, err := store.Open(os.Getenv("SBX_TEST_CACHE"))
	if err != nil {
		return err
	}
	m := Materials{
		Store: s, NPM: npm.Registry{URL: os.Getenv("SBX_TEST_NPM"), HTTP: http.DefaultClient}, Registry: offline(), Init: smallInit,
		Notice: func(string, ...any) {},
	}
	a, err := Assemble(m,
		Spec{Lock: l, Policy: []byte(`{"network":{"mode":"none"}}`),
			About: About{Title: "sandbox", Version: "1.2.3", Revision: "abc", Source: "https://example.com/r", Licenses: "Apache-2.0"}})
	if err != nil {
		return err
	}
	fmt.Println(a.Index.Digest)
	return nil
}
