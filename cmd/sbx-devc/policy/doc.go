// Package policy has the commands about which hosts are open: policy and what is below it,
// allow, deny and preset, and the report of what was denied.
//
//	settings ──► firewall.Policy ──► check, explain, compile
//	audit log ──► firewall/learn ──► settings; firewall/report ──► text
//	allow, deny, preset ──► session/amend ──► the file, and the firewalls that run
//
// The matcher that enforces a policy answers here too.
package policy
