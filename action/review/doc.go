// Package review reads what an agent says about a pull request, and finds the places for it.
//
//	the agent's answer ─ Parse, by Schema ─► Review: a summary, and remarks on lines
//	Review + files of the pull request ─ Place ─► remarks that GitHub shows at a line, and the others
//
// It is pure. Every text is the agent's.
package review
