package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/initproc/tamper"
	"github.com/org/claude-sandbox/internal/atomicfile"
)

// pushedRefs, in the audit log's folder, keeps over a restart of a dev container which
// refs are the sandbox's own.
const pushedRefs = "pushed.json"

// restoreMemory returns the memory of this sandbox's earlier starts, and keeps it in the
// file at path. If another user could change the file, he could make the
// commits of others its own, so then nothing is remembered, and each ref that exists is somebody else's.
func (p *program) restoreMemory(path string, who tamper.Who) *operation.Memory {
	pushed, err := readPushed(path, who)
	if err != nil {
		p.printWarning(fmt.Errorf("no ref that was pushed before is this sandbox's own: %w", err))
	}
	return operation.RestoreMemory(pushed, p.keepPushed(path))
}

func (p *program) keepPushed(path string) func(operation.Pushed) {
	return func(pushed operation.Pushed) {
		text, err := json.Marshal(pushed)
		if err == nil {
			err = atomicfile.WriteBytes(path, 0o644, text)
		}
		if err != nil {
			p.printWarning(fmt.Errorf("after the next start no ref that was pushed will be this sandbox's own: %w", err))
		}
	}
}

func readPushed(path string, who tamper.Who) (operation.Pushed, error) {
	pushed := operation.Pushed{}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return pushed, nil
	}
	if err != nil {
		return pushed, err
	}
	if err := who.Check(path); err != nil {
		return pushed, err
	}
	if err := json.Unmarshal(text, &pushed); err != nil || pushed == nil {
		return operation.Pushed{}, fmt.Errorf("%s is not what was written there: %w", path, err)
	}
	return pushed, nil
}
