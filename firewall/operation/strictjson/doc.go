// Package strictjson reads a JSON text in the one way that every server agrees on.
//
//	{"operation":"download"} -> Parse -> map[string]any
//
// Promises: a text with two members of one name (in any case of letters), with
// bytes that are no UTF-8, with half of a surrogate pair, deeper than MaxDepth, with more
// than MaxValues, or with anything behind it is an error. Parsers differ on each of these, and a judge
// who reads one and a server who reads the other have judged nothing.
package strictjson
