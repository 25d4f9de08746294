// Sbx-devc makes it safe to let Claude Code work with
// --dangerously-skip-permissions: it writes and checks dev containers, builds
// images and runs the agent behind a firewall.
//
// The commands are in the packages below, one file each. Each parses, calls a
// package and prints; this one alone reads the environment and exits.
package main
