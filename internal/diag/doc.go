// Package diag holds what every checker reports: findings with a position and
// a rule, and errors with a hint.
//
//	checker -> []Finding -> Sort -> WriteText | WriteExcerpts | WriteJSON | WriteGitHub | WriteSARIF
//	package -> error (WithHint) -> cmd prints "error:" and "hint:" lines
package diag
