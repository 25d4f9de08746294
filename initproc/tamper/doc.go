// Package tamper says whether a user could change a file that root obeys.
//
//	Who, path ── Check ──► each entry on the way, links too: owner, mode, sticky folder, mount ──► nil, or how
//
// It decides by what the kernel would allow, and tries nothing. An owner counts as able to write,
// because he can give himself the right; so does the group of a file with an access control list.
package tamper
