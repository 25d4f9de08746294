// Package peercred asks the kernel whose process is at the other end of a Unix
// socket (SO_PEERCRED, unix(7)). The other end cannot choose the answer.
//
//	accepted connection ──► UID ──► the user that connected
//	own connection      ──► UID ──► the user that began to listen
package peercred
