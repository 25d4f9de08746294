// Package manual writes what people read about the rules.
//
//	lint's table, the example of each rule ─┬─ Pages ───► docs/checks.md and docs/checks/
//	                                        ├─ Explain ─► 'sbx-devc explain RULE'
//	                                        └─ Tool ────► the rules in a SARIF report
//
// The findings of a bad example are found out by checking it, so no page shows
// another text than users get.
package manual
