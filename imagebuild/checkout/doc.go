// Package checkout says what an image is made of, as far as a repository tells: its ref,
// commit and date, for labels, tags and the provenance.
//
//	variables of GitHub Actions ─┐
//	                             ├─► Checkout ─► Ref, Commit, Date, Run; Describe ─► imagebuild.About
//	git, if it is installed ─────┘
//
// The variables come first. Git is asked about the folder alone, and starts no program
// that the repository names.
package checkout
