// Package report tells people what the firewall decided.
//
//	audit records, policy -> New -> Report -> WriteText | WriteRunText | WriteJSON | WriteMarkdown | WriteHTML
//
// There is one Report for the end of a run, the step summary of a workflow and
// `sbx-devc report`. Denied hosts stand first, with the exact line that
// would open it; the one matcher has confirmed that it would.
//
// Host names, programs and their command lines are the agent's words. None of
// the forms lets anything of them through but visible ASCII, which each form
// then escapes once more in its own way.
package report
