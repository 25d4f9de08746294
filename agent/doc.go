// Package agent holds what we know of Claude Code: its arguments, the
// environment that keeps it quiet and on our proxy, its stream-json output and
// how to judge from that whether a run succeeded.
//
//	Headless.Args, Env, NetworkNotice -> container -> claude -p (prompt on standard input)
//	claude's stdout -> Scanner.Write -> the caller's stdout, byte for byte
//	                             \-> Event callback (progress), Result
//	Result, exit code, how it ended -> Judge -> Outcome
//
// Facts about the program are measured on version 2.1.329. Everything read
// from its output is untrusted: the agent decides what is in it.
package agent
