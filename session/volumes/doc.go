// Package volumes keeps volumes of the engine that outlive a run: one with Claude
// Code for each of its packages, one with sbx-init for each of its versions, and one with the package managers' caches for each
// project.
//
//	kind, what it is for ─► Note in the user's cache folder ─► name of the volume, with 128 random bits
//	                                                             │
//	         owner and content, as labels of the volume ──── compared ─► taken, or made and filled anew
//
// No file of a project can name such a volume, because only the cache folder knows
// the names, and no label, which everybody may put on a volume of his own, leads to
// one. A volume that leads to a folder of the machine is not taken. Trusted are the
// engine, whoever may give it orders, and the user's cache folder.
//
// The cache of a project is written by its agents, and nothing on the host reads it.
// Its content label says for which folder it was made: path, inode, time of birth,
// and the agent's user. So another project, another user of the machine, and a clone
// that takes the place of a removed folder each have one of their own. Linked
// worktrees of a repository share one, by trust.Project.
package volumes
