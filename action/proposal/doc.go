// Package proposal makes a commit of judged changes and brings it to a branch of GitHub's.
//
//	[]patch.File + HEAD of a checkout ─ Repository.Commit ─► a commit in its object store
//	commit ─ Repository.Push ─► a new branch of the server's; never one that is there
//
// No file of the agent's comes to lie in the checkout: content goes from the object store
// through the patch into the object store, by an index of our own. So no hook, filter,
// attribute or link can act on it. A file whose place in the commit is a link, a submodule
// or below one is refused. The token reaches git by its environment, and no other program.
package proposal
