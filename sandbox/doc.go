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
// The parts of a run have types of their own, which get what they need as data:
//
//	sidecar, canaries   the firewall's container, and the proofs that it holds
//	process             the agent's: attach, start, prompt or terminal, last output
//	modelAPI, keyHolder what is asked from this process, which has the keys
//	watch               waits for the end, and brings it about
//	tree, search        the copy of the project, if there is one, and what changed
//	committer           git in a container like the agent's, for what is not committed
//	conversations       Claude's messages, out of the engine's volumes
//	notices, journal    what people hear, and the records
//	live                the note by which Reap finds a run whose program was killed
//
// Run puts them into their order: finish and cleanup come in every case.
//
// The agent's container comes up when the network is closed, and the agent in it starts
// only after the sidecar has said that the firewall is verified. It is stopped when the
// sidecar dies. The namespace's rules stay
// in force as long as anything lives in it.
package sandbox
