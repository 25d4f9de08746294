package sandbox

import (
	"path"
	"strconv"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox/kept"
)

// keptHomes holds the volumes of the firewall's container for the paths of the agent's
// home that outlive the run, by their numbers.
const keptHomes = "/.sbx-home"

// HomePaths reads the paths in the agent's home that a user wants to keep.
func HomePaths(texts []string) ([]string, error) { return kept.CheckPaths(agentHome, texts) }

// keptVolumes are the places of the volumes for the kept paths.
func keptVolumes(paths []string) (places []string) {
	for i := range paths {
		places = append(places, path.Join(keptHomes, strconv.Itoa(i)))
	}
	return places
}

// keptMounts show the agent the kept paths.
func keptMounts(paths []string) (mounts []engine.Mount) {
	for i, place := range keptVolumes(paths) {
		mounts = append(mounts, engine.Mount{Volume: place, Target: path.Join(agentHome, paths[i])})
	}
	return mounts
}
