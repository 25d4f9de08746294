// Package explain says why a policy decides as it does about one host or operation.
//
//	firewall.Policy ─┐
//	firewall.Target ─┼─ Explainer.Write ─► one line for each port: verdict, reason, the entry that
//	places of entries┘                     decides and where it stands, the entry that would open it
//	Question ──────── Explainer.WriteOperation ─► the same for a request, or all that an entry names
//
// It asks the matcher that enforces the policy, and so cannot say anything else than
// what happens. Nothing is resolved and nothing is connected to.
package explain
