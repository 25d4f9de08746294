// Package manual writes what people read about the rules.
//
//	lint's table, the example of each rule ─┬─ Pages ───► docs/checks.md and docs/checks/
//	                                        ├─ Explain ─► 'sbx-devc explain RULE'
//	                                        └─ Tool ────► the rules in a SARIF report
//
// What validate says about a bad example is found out by checking it, so no page shows
// another text than users get.
package manual
