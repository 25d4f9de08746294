package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// Use is what a running container takes of its machine.
type Use struct {
	Memory  int64         // bytes at this moment, without files in the page cache that are not in use
	CPU     time.Duration // since its start, of all processors together
	PIDs    int64         // processes and threads at this moment
	Written int64         // bytes to disks since its start, as far as the kernel tells whose they are
}

// Use asks the engine what a container takes. The zero Use is of one that does not run.
func (e *Engine) Use(ctx context.Context, id string) (Use, error) {
	r, err := e.client.ContainerStats(ctx, id, client.ContainerStatsOptions{})
	if err != nil {
		return Use{}, wrap(err, "asking what it uses of container", short(id))
	}
	defer r.Body.Close()
	var stats container.StatsResponse
	if err := json.NewDecoder(io.LimitReader(r.Body, maxPlain)).Decode(&stats); err != nil {
		return Use{}, fmt.Errorf("asking what container %s uses: %w", short(id), err)
	}
	memory := stats.MemoryStats
	// Version 1 of control groups and version 2 have different names for it.
	cache := max(memory.Stats["total_inactive_file"], memory.Stats["inactive_file"])
	use := Use{
		Memory: int64(memory.Usage - min(cache, memory.Usage)),
		CPU:    time.Duration(stats.CPUStats.CPUUsage.TotalUsage),
		PIDs:   int64(stats.PidsStats.Current),
	}
	for _, entry := range stats.BlkioStats.IoServiceBytesRecursive {
		if strings.EqualFold(entry.Op, "write") {
			use.Written += int64(entry.Value)
		}
	}
	return use, nil
}
