package ledger

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/org/claude-sandbox/credproxy/spending"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.Local)

func spent(model string, requests int64, usd float64) spending.Spent {
	return spending.Spent{Model: model, Usage: spending.Usage{Requests: requests}, USD: usd}
}

func all(string) bool { return true }

func TestPeriods(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ledger")
	at := func(run, project string, now time.Time) *Ledger {
		return Open(dir, run, project, func() time.Time { return now })
	}
	one := at("r1", "/a", noon)
	for _, add := range []struct {
		to      *Ledger
		model   string
		request int64
	}{
		{one, "opus", 1}, {one, "haiku", 2}, {at("r2", "/b", noon), "opus", 4}, {at("r0", "/a", noon.AddDate(0, 0, -1)), "opus", 8},
		{at("r0", "/a", noon.AddDate(0, -1, 0)), "opus", 16}, {at("r0", "/b", noon.AddDate(0, 0, -3)), "opus", 32},
	} {
		if err := add.to.Add(spent(add.model, add.request, 0.5)); err != nil {
			t.Fatal(err)
		}
	}
	for per, want := range map[spending.Period]int64{
		spending.PerDay: 1 + 2 + 4, spending.PerProjectDay: 1 + 2, spending.PerMonth: 1 + 2 + 4 + 8 + 32, spending.PerProjectMonth: 1 + 2 + 8,
	} {
		for range 2 { // the second time from what was read
			if got, err := one.Sum(per, all); got.Requests != want || err != nil {
				t.Errorf("%s: %+v %v, want %d", per, got, err, want)
			}
		}
	}
	if got, err := one.Sum(spending.PerDay, func(m string) bool { return m == "haiku" }); got.Requests != 2 || got.USD != 0.5 || err != nil {
		t.Errorf("of one model: %+v %v", got, err)
	}
	others := Open(t.TempDir(), "r", "/a", func() time.Time { return noon })
	if err := others.Add(spent(spending.OtherModels, 3, 0)); err != nil {
		t.Fatal(err)
	}
	if got, err := others.Sum(spending.PerDay, func(string) bool { return false }); got.Requests != 3 || err != nil {
		t.Errorf("of models without a name of their own: %+v %v", got, err)
	}
	var read int
	if err := Read(dir, noon.AddDate(0, 0, -1), func(Entry) { read++ }); read != 4 || err != nil {
		t.Errorf("%d entries since yesterday, %v", read, err)
	}
	for by, want := range map[By]string{ByModel: "[opus:45 haiku:2]", ByDay: "[2026-11-20:32 2026-11-22:8 2026-11-23:7]",
		ByProject: "[/a:11 /b:36]"} {
		rows, err := Table(dir, noon.AddDate(0, 0, -3), "", by)
		var got []string
		for _, r := range rows {
			got = append(got, fmt.Sprintf("%s:%d", r.Key, r.Requests))
		}
		if fmt.Sprint(got) != want || err != nil {
			t.Errorf("by %s: %v %v, want %s", by, got, err, want)
		}
	}
	if err := Prune(dir, noon); err != nil {
		t.Fatal(err)
	}
	if got, err := one.Sum(spending.PerDay, all); got.Requests != 7 || err != nil {
		t.Errorf("after the old days went: %+v %v", got, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%d files are left", len(left))
	}
}

func TestRunsSeeEachOther(t *testing.T) {
	dir := t.TempDir()
	var runs sync.WaitGroup
	for range 8 {
		runs.Go(func() {
			l := Open(dir, "r", "/a", func() time.Time { return noon })
			for range 50 {
				if err := l.Add(spent("opus", 1, 0)); err != nil {
					t.Error(err)
				}
				if _, err := l.Sum(spending.PerDay, all); err != nil {
					t.Error(err)
				}
			}
		})
	}
	runs.Wait()
	if got, err := Open(dir, "", "", func() time.Time { return noon }).Sum(spending.PerDay, all); got.Requests != 400 || err != nil {
		t.Errorf("%+v %v", got, err)
	}
}

// A line that a full disk cut takes no other entry with it, and a file that cannot be counted is an
// error.
func TestAttackFiles(t *testing.T) {
	dir := t.TempDir()
	l := Open(dir, "r", "/a", func() time.Time { return noon })
	file := filepath.Join(dir, "2026-11-23.jsonl")
	if err := os.WriteFile(file, []byte(`{"requests":7}`+"\n"+`{"model":"opus","requests":9`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Add(spent("opus", 1, 0)); err != nil {
		t.Fatal(err)
	}
	if got, err := l.Sum(spending.PerDay, all); got.Requests != 8 || err != nil {
		t.Errorf("%+v %v", got, err)
	}
	for name, change := range map[string]func() error{
		"shorter":   func() error { return os.Truncate(file, 3) },
		"too large": func() error { return os.Truncate(file, maxDay+1) },
		"a folder":  func() error { return errorsOf(os.Remove(file), os.Mkdir(file, 0o700)) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if got, err := l.Sum(spending.PerDay, all); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
		if err := errorsOf(os.RemoveAll(file), os.WriteFile(file, make([]byte, 200), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := Open(file, "r", "/a", time.Now).Add(spent("opus", 1, 0)); err == nil {
		t.Error("a file is no folder")
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
