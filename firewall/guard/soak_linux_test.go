package guard_test

import (
	"os"
	"testing"
	"time"
)

// TestSoak runs only when SBX_SOAK says for how long (make soak: ten minutes).
// Under connections of every kind, as many as the machine carries, the guard
// must come to rest each time with what it held after the first rounds.
func TestSoak(t *testing.T) {
	text := os.Getenv("SBX_SOAK")
	if text == "" {
		t.Skip("takes as long as SBX_SOAK says, such as 10m: see make soak")
	}
	length, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("SBX_SOAK: %v", err)
	}
	const round, warm = 20, 3 // seconds, rounds
	y := newYard(t)
	var base, last state
	total := 0
	start := time.Now()
	for n := 1; n <= warm+1 || time.Since(start) < length; n++ {
		total += y.client.ask("storm guard %d 16", round)[0]
		last = y.settled(base.files)
		if n == warm {
			base = last
		}
		t.Logf("%6s: %8d connections, then %d files, %d goroutines, %d KiB of heap and stacks, %d MiB resident",
			time.Since(start).Round(time.Second), total, last.files, last.goroutines, last.bytes>>10, last.resident>>20)
	}
	if last.files > base.files+2*64 || last.goroutines > base.goroutines+2 {
		t.Errorf("at the end %+v, after %d rounds %+v", last, warm, base)
	}
	// The reserve of the collector and the kernel varies.
	if last.bytes > base.bytes*5/4+4<<20 || last.resident > base.resident*5/4+16<<20 {
		t.Errorf("memory at the end %+v, after %d rounds %+v", last, warm, base)
	}
}
