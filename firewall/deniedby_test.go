package firewall

import "testing"

// DeniedBy and Lacks say the same of an entry: one takes it away when nothing is left.
func TestDeniedBy(t *testing.T) {
	for _, c := range []struct{ entry, deny, want string }{
		{"a.example", "a.example", "a.example"},
		{" A.example ", "*.example", "*.example"},
		{"a.example:443", "a.example", "a.example"},
		{"a.example", "a.example:443", ""}, // its other port stays
		{"a.example:443", "a.example:443", "a.example:443"},
		{"*.a.example", "b.a.example", ""},
		{"10.1.2.3", "10.0.0.0/8", "10.0.0.0/8"},
		{"10.0.0.0/8", "10.1.0.0/16", ""},
		{"a.example", "b.example", ""},
		{"no entry", "a.example", ""},
	} {
		policy, bad := NewPolicy(Network{Deny: []string{"other.test", c.deny}})
		if bad != nil {
			t.Fatal(bad)
		}
		if got := policy.DeniedBy(c.entry); got != c.want {
			t.Errorf("%q is denied by %q, want %q", c.entry, got, c.want)
		}
		left, bad := Closed().Lacks(Network{Allow: []string{c.entry}, Deny: []string{c.deny}})
		if (bad == nil && len(left) == 0) != (c.want != "") {
			t.Errorf("%q: Lacks leaves %q, %v", c.entry, left, bad)
		}
	}
}
