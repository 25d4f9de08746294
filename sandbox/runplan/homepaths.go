package runplan

import (
	"path"
	"strconv"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox/kept"
)

// KeptHomes holds the volumes of the firewall's container for the paths of the agent's
// home that outlive the run, by their numbers.
const KeptHomes = "/.sbx-home"

// HomePaths reads the paths in the agent's home that a user wants to keep.
func HomePaths(texts []string) ([]string, error) { return kept.CheckPaths(AgentHome, texts) }

// KeptVolumes are the places of the volumes for the kept paths.
func KeptVolumes(paths []string) (places []string) {
	for i := range paths {
		places = append(places, path.Join(KeptHomes, strconv.Itoa(i)))
	}
	return places
}

// keptMounts show the agent the kept paths.
func keptMounts(paths []string) (mounts []engine.Mount) {
	for i, place := range KeptVolumes(paths) {
		mounts = append(mounts, engine.Mount{Volume: place, Target: path.Join(AgentHome, paths[i])})
	}
	return mounts
}
