// Package spending is what runs use of the model API, and how much they may. It is
// pure.
//
//	"20 usd/day", "2M tokens/run claude-opus-*" -> Parse -> Budget ─┐
//	an answer of the model -> Spent -> Ledger ── Sum(period) ───────┴-> Used: how much of it
//
// Money is US dollars at list price.
package spending
