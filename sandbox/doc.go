// Package sandbox runs Claude Code in containers that it cannot talk its way
// out of.
//
//	runplan.Plan: specs of two containers, policy, mounts
//	        │
//	       Run ─► sidecar: sbx-init run --sidecar   owns the network namespace, NET_ADMIN only
//	        │       └─ exec: sbx-init tunnel ══ credproxy in this process, which has the key
//	        └───► agent: sbx-init reap              joins the namespace, no capability at all
//	                 └─► claude -p                  when the firewall is verified
//	                 └─► Result: exit code, what Claude reported, egress report, timings
//
// The agent's container comes up when the network is closed, and the agent in it starts
// only after the sidecar has said that the firewall is verified. It is stopped when the
// sidecar dies. The namespace's rules stay
// in force as long as anything lives in it.
package sandbox
