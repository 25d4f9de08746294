package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/firewall"
)

// countPolicies runs the command line in this process, and then prints on standard error
// how many policies it made, by the function that had each made: from the allocations,
// all of which are on record from the beginning.
func countPolicies() {
	runtime.MemProfileRate = 1
	app := &cli.App{Self: os.Args[0], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}
	code := cli.Main(context.Background(), app, root, os.Args[1:])
	for range 3 { // a profile is that of the cycle before the last
		runtime.GC()
	}
	records := make([]runtime.MemProfileRecord, 1<<20)
	n, ok := runtime.MemProfile(records, true)
	if !ok {
		panic(fmt.Sprintf("%d allocations", n))
	}
	made := map[string]int64{}
	for _, r := range records[:n] {
		if r.AllocObjects == 0 || uintptr(r.AllocBytes/r.AllocObjects) < unsafe.Sizeof(firewall.Policy{}) {
			continue
		}
		if maker := policyMaker(runtime.CallersFrames(r.Stack())); maker != "" {
			made[maker] += r.AllocObjects
		}
	}
	var makers []string
	for _, maker := range slices.Sorted(maps.Keys(made)) {
		makers = append(makers, fmt.Sprintf("%s %d", maker, made[maker]))
	}
	fmt.Fprintf(os.Stderr, "policies: %s\n", strings.Join(makers, ", "))
	os.Exit(code)
}

// policyMaker names the function that called NewPolicy, if that made the allocation with
// this stack.
func policyMaker(stack *runtime.Frames) string {
	const ours = "github.com/org/claude-sandbox/"
	inNewPolicy := false
	for {
		f, more := stack.Next()
		name, isOurs := strings.CutPrefix(f.Function, ours)
		switch {
		case inNewPolicy:
			return cmp.Or(name, "?")
		case isOurs && name != "firewall.NewPolicy":
			return ""
		}
		if inNewPolicy = isOurs; !more {
			return ""
		}
	}
}
