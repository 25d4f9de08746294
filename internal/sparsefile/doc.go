// Package sparsefile copies files of an agent's, which may say that they have a terabyte
// and take no room: the copy has the same holes, and takes no room either.
//
//	from ── Copy ──► data ──► to, at the same place; holes are left out
package sparsefile
