package settings

import "testing"

func TestOnlyListsIsForFilesThatHoldNothingElse(t *testing.T) {
	file, err := ParseFile("f", []byte("{\n}\n"),
		NoFiles).Amend(Change{Add: Lists{Allow: []string{"a.example", "b.example"}, Deny: []string{"c.example"}}})
	if err != nil {
		t.Fatal(err)
	}
	made := file.Source
	if lists, ok := OnlyLists("f", made); !ok || len(lists.Allow) != 2 || len(lists.Deny) != 1 {
		t.Errorf("%s: %+v, %t", made, lists, ok)
	}
	for _, other := range []string{
		`{"network": {"allow": ["a.example"]}} // mine`, `{"network": {"allow": ["a.example"], "mode": "audit"}}`,
		`{"image": "x", "network": {"allow": ["a.example"]}}`, `{"network": {"allow": ["@hosts"]}}`, `no settings`,
	} {
		if lists, ok := OnlyLists("f", []byte(other)); ok {
			t.Errorf("%s: %+v", other, lists)
		}
	}
}
