package sbom

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Two programs of a release share a module; each relates to it, and the same input gives the
// same bytes.
func TestBillOfARelease(t *testing.T) {
	sum := v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("a", 64)}
	modules := []Module{{"stdlib", "1.26.8"}, {"example.com/m", "v1.0.0"}}
	r := Release{Repository: "some/sandbox", Version: "1.2.3", Created: time.Unix(1, 0), Tool: "t", Programs: []Program{
		{"p-linux", sum, modules}, {"p-windows.exe", sum, modules[:1]},
	}}
	text, err := r.SPDX()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Name, DocumentNamespace string
		Packages                []struct{ SPDXID, Name, VersionInfo string }
		Relationships           []struct{ SpdxElementID, RelationshipType, RelatedSpdxElement string }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range doc.Packages {
		names = append(names, p.Name+" "+p.VersionInfo)
	}
	want := "some/sandbox 1.2.3, p-linux 1.2.3, stdlib 1.26.8, example.com/m v1.0.0, p-windows.exe 1.2.3"
	if got := strings.Join(names, ", "); got != want || len(doc.Relationships) != 6 || doc.Name != "some/sandbox@v1.2.3" ||
		doc.DocumentNamespace != "https://github.com/some/sandbox/releases/tag/v1.2.3" {
		t.Errorf("%s", text)
	}
	if again, err := r.SPDX(); err != nil || !bytes.Equal(again, text) {
		t.Errorf("another text: %s, %v", again, err)
	}
}
