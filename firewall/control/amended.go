package control

import "github.com/org/claude-sandbox/firewall"

// Amended is the answer to the command "amend", as JSON on its standard output.
type Amended struct {
	Network firewall.Network `json:"network"` // the policy that is in force now
	// Lost says why the policy file does not hold the change, which then ends with
	// the firewall; "" = it holds it.
	Lost string `json:"lost,omitempty"`
}
