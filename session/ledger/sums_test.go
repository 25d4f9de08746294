package ledger

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/org/claude-sandbox/credproxy/spending"
)

// fill writes some bytes of entries, each of one request, of so many runs in turn.
func fill(t *testing.T, dir string, size, runs int) (requests int64) {
	var text []byte
	for ; len(text) < size; requests++ {
		text = fmt.Appendf(text, "\n"+`{"at":"2026-11-23T11:00:00Z","run":"r%d","project":"/a","model":"opus","requests":1,"usd":0.25}`+"\n",
			requests%int64(runs))
	}
	if err := os.WriteFile(filepath.Join(dir, "2026-11-23.jsonl"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return requests
}

func size(t *testing.T, dir string) int64 {
	info, err := os.Stat(filepath.Join(dir, "2026-11-23.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// Attack: an agent asks for so many cheap answers that the file of the day becomes larger than
// what is read, and no run with a budget works until tomorrow.
func TestAttackCheapRequestsFillTheDay(t *testing.T) {
	dir := t.TempDir()
	before := fill(t, dir, sumFrom-64<<10, 2)
	at := func(run, project string) *Ledger { return Open(dir, run, project, func() time.Time { return noon }) }
	one, other, reader := at("r1", "/a"), at("r2", "/b"), at("r3", "/b")
	const answers = 3000
	for i := range int64(answers) {
		by := one
		if i%3 == 0 {
			by = other
		}
		if err := by.Add(spent([]string{"opus", "haiku"}[i%2], 1, 0.25)); err != nil {
			t.Fatal(err)
		}
		if i%50 == 0 {
			got, err := reader.Sum(spending.PerDay, all)
			if want := before + i + 1; got.Requests != want || got.USD != 0.25*float64(want) || err != nil {
				t.Fatalf("after %d answers: %+v %v, want %d", i+1, got, err, want)
			}
		}
	}
	if now := size(t, dir); now > sumFrom/2 {
		t.Errorf("the file has %d bytes", now)
	}
	for model, want := range map[string]int64{"opus": before + answers/2, "haiku": answers / 2} {
		got, err := one.Sum(spending.PerMonth, func(m string) bool { return m == model })
		if got.Requests != want || err != nil {
			t.Errorf("%s: %+v %v", model, got, err)
		}
	}
	if got, err := reader.Sum(spending.PerProjectDay, all); got.Requests != answers/3 || err != nil {
		t.Errorf("of the project: %+v %v", got, err)
	}
	rows, err := Table(dir, noon, "", ByDay)
	if len(rows) != 1 || rows[0].Key != "2026-11-23" || rows[0].Requests != before+answers || err != nil {
		t.Errorf("%+v %v", rows, err)
	}
}

// Runs that end at any moment, also in the middle of sums, lose no entry, and neither do those
// that go on.
func TestAttackARunIsKilledAmongSums(t *testing.T) {
	if dir := os.Getenv("LEDGER_OF_THE_TEST"); dir != "" {
		l := Open(dir, "killed", "/a", func() time.Time { return noon })
		for range 5 {
			if err := l.Add(spent("opus", 1, 0.25)); err != nil {
				t.Fatal(err)
			}
			fmt.Println("added")
		}
		return
	}
	dir := t.TempDir()
	before := fill(t, dir, sumFrom+sumFrom/16, 1<<20) // sums of so many runs are no smaller
	var added, lived, killed int64
	live := Open(dir, "lives", "/a", func() time.Time { return noon })
	for range 20 {
		child := exec.Command(os.Args[0], "-test.run=^TestAttackARunIsKilledAmongSums$")
		child.Env = append(os.Environ(), "LEDGER_OF_THE_TEST="+dir)
		out, err := child.StdoutPipe()
		if err == nil {
			err = child.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		var reading sync.WaitGroup
		reading.Go(func() {
			for lines := bufio.NewScanner(out); lines.Scan(); {
				if lines.Text() == "added" {
					added++
				}
			}
		})
		// It puts sums at its first entry, which takes some time.
		for range 3 {
			time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond)
			if err := live.Add(spent("opus", 1, 0.25)); err != nil {
				t.Fatal(err)
			}
			lived++
		}
		child.Process.Kill()
		reading.Wait()
		child.Wait()
		killed++
		got, err := live.Sum(spending.PerDay, all)
		least := before + added + lived
		if got.Requests < least || got.Requests > least+killed || got.USD != 0.25*float64(got.Requests) || err != nil {
			t.Fatalf("%+v %v, want %d and at most one more for each of %d", got, err, least, killed)
		}
	}
	if added == 0 {
		t.Error("none added anything before it ended")
	}
	fresh, err := Open(dir, "", "", func() time.Time { return noon }).Sum(spending.PerDay, all)
	if got, _ := live.Sum(spending.PerDay, all); err != nil || got != fresh {
		t.Errorf("a new reader sees %+v, an old one %+v: %v", fresh, got, err)
	}
	// What the killed ones did not name goes with the old days.
	left, _ := filepath.Glob(filepath.Join(dir, ".new-*"))
	for _, name := range left {
		if err := os.Chtimes(name, noon, noon); err != nil {
			t.Fatal(err)
		}
	}
	if err := Prune(dir, noon.AddDate(0, 0, 1)); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("%d files are left, of them unnamed %d", len(entries), len(left))
	}
}
