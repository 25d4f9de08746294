// Package credential decides which of the user's keys goes with which request. It is
// pure: it touches no file, clock, resolver or socket.
//
//	keys: name, "for" a typed entry, form ─┐
//	the policy's typed entries ────────────┴─► Bind ─► Bindings (no value in them)
//	                                                      │ Fill(values)
//	a request that the firewall allowed ──► Keys.Choose ──┴─► Key ─► Attach, Redactor
//
// A key is bound to the entries of the policy that its "for" names: one entry as it
// is written, or all of one target, as "git:github.com/acme/app" names
// "git:github.com/acme/app push refs/heads/agent/*". It goes with requests that these
// entries by themselves allow, whatever else the policy allows.
//
// Promises:
//
//   - Every request is judged anew by operation.Rules. A claim that a
//     request was allowed gets no key.
//   - Attach takes every credential of the request's sender away, and is the one place
//     that puts the key into a request.
//   - No error, text or printed form of a Key holds its value.
package credential
