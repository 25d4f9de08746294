package ledger

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/org/claude-sandbox/credproxy/spending"
)

// By says what a table has a row for.
type By string

// The rows.
const (
	ByModel   By = "model"
	ByDay     By = "day"
	ByProject By = "project"
)

// Row is what was spent of one model, on one day, or by the runs of one project.
type Row struct {
	Key string `json:"key"` // the model, 2026-11-23, or the project's folder
	spending.Usage
	USD float64 `json:"usd"`
}

// Total is the sum of rows, under a key of its own.
func Total(key string, rows []Row) Row {
	var sum spending.Spent
	for _, r := range rows {
		sum = sum.Add(spending.Spent{Usage: r.Usage, USD: r.USD})
	}
	return Row{key, sum.Usage, sum.USD}
}

// Table adds up the entries of a ledger in a folder since a time, those of a project
// or with "" of all. Days are in their order, and the dearest of others comes first.
func Table(dir string, since time.Time, project string, by By) ([]Row, error) {
	sums := map[string]spending.Spent{}
	err := Read(dir, since, func(e Entry) {
		if project != "" && e.Project != project {
			return
		}
		key := map[By]string{ByModel: e.Model, ByDay: e.At.Local().Format(dayForm), ByProject: e.Project}[by]
		sums[key] = sums[key].Add(e.Spent)
	})
	rows := []Row{}
	for _, key := range slices.Sorted(maps.Keys(sums)) {
		if s := sums[key]; !s.Zero() {
			rows = append(rows, Row{key, s.Usage, s.USD})
		}
	}
	if by != ByDay {
		slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(b.USD, a.USD) })
	}
	return rows, err
}
