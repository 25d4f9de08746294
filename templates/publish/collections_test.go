package publish

import "testing"

func TestNamespaces(t *testing.T) {
	for namespace, fine := range map[string]bool{
		"": true, "ghcr.io/me/templates": true, "localhost:5000/x": true, "ghcr.io/Me": false, "a b": false, "ghcr.io//x": false,
	} {
		if err := CheckNamespace(namespace); (err == nil) != fine {
			t.Errorf("%q: %v", namespace, err)
		}
	}
}
