// Package digest finds out which digest an image's name stands for now. The
// registry's answer counts; about an image whose registry cannot be reached the
// container engine is asked, which may have got it from there.
//
//	reference ─> registry ──answered──────────────> digest, or its no
//	                │
//	                └─ not reached ─> engine ─────> digest, with a notice
package digest
