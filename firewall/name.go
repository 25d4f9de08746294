package firewall

import "github.com/org/claude-sandbox/firewall/hostname"

// CanonicalName is hostname.Canonical: the one form in which names are compared.
func CanonicalName(s string) (string, error) { return hostname.Canonical(s) }
