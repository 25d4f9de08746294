// Package fakeapi is a scripted Messages API: it lets the real Claude Code run
// from start to end without a key, a network or a cost. Every answer says that
// it is scripted; nothing here thinks.
//
//	Script (turns, final text) + the request's number of tool results
//	        -> the turn that is due -> SSE or JSON, as the request asks
//
// The turn is found from the request alone, so a repeated request gets the
// same answer, and several sessions can share a server.
//
// It ships in sbx-devc because `sbx-devc demo` runs against it; nothing else of
// the product uses it, and the tests do.
package fakeapi
