// Package ledger holds what a user's runs spent of the model API, so that runs
// share budgets, also those that go on side by side.
//
//	run ── credproxy ── Add ──► STATE/ledger/2026-11-23.jsonl ◄── Add ── another run
//	            └────── Sum ◄── the lines of the period, read once and then as they come
//	usage ───────────── Read ◄──┘
//
// There is one file for each day, to which runs append a line for what an answer
// of the model used. A line is written at once and whole, so a run that is killed loses
// nothing but the answer under way. The run holds the file meanwhile, with a lock that ends
// with it. From a megabyte on it puts sums for each run, project and model into the file's
// place, which takes the name as a whole. No number of cheap requests fills it.
//
// A file that cannot be read or written is an error: a budget that cannot be counted
// has no room. A line that a full disk cut counts nothing; the run that wrote it was
// told. Days and months are those of this machine's clock and time zone: a clock that
// is set back finds the files of the day that it shows.
package ledger
