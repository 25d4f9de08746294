package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/templates/detect"
	"github.com/org/claude-sandbox/workspace"
)

// Labels that Compose gives its containers (Compose specification, reference
// implementation).
const (
	composeFolder  = "com.docker.compose.project.working_dir"
	composeService = "com.docker.compose.service"
)

// JoinServices puts a run into the network of the project's Compose services that its
// policy opens, unless a network is named: each name is open and may lead to private
// addresses, so the user has allowed it, and its container was made from the
// project's folder. It says so, and which services do not run.
func JoinServices(ctx context.Context, e *engine.Engine, p *runplan.Plan, say func(string)) error {
	wanted := openServices(p)
	if len(wanted) == 0 || p.Asked.EngineNetwork != "" || p.Sidecar.Link.Network != runplan.DefaultNetwork || e.Remote() {
		return nil
	}
	all, err := e.Containers(ctx, composeFolder, "")
	if err != nil {
		return err
	}
	project := p.Sidecar.Labels[runplan.LabelProject]
	of := slices.DeleteFunc(all, func(c engine.Container) bool { return !workspace.Below(project, c.Labels[composeFolder]) })
	network, found := servicesNetwork(of, wanted)
	if len(found) > 0 {
		p.Sidecar.Link.Network = network
		say(fmt.Sprintf("note: the run is in the network %s, for %s", network, strings.Join(found, ", ")))
	}
	for _, name := range wanted {
		isIts := func(c engine.Container) bool { return c.Labels[composeService] == name }
		named := func(p detect.Proposal) bool { return strings.HasPrefix(p.Value, name+":") }
		if !slices.Contains(found, name) && (slices.ContainsFunc(of, isIts) || slices.ContainsFunc(detect.Services(project).Services, named)) {
			say(fmt.Sprintf("note: the service %s does not run or is in another network: 'docker compose up -d %[1]s' starts it", name))
		}
	}
	return nil
}

// openServices are the names of one label that a run's policy opens and lets lead to
// private addresses.
func openServices(p *runplan.Plan) (names []string) {
	for _, name := range p.Network.Private {
		open := func(entry string) bool { host, _, _ := strings.Cut(entry, ":"); return host == name }
		if !strings.ContainsAny(name, ".*:/") && slices.ContainsFunc(p.Network.Allow, open) {
			names = append(names, name)
		}
	}
	return names
}

// servicesNetwork returns the network that most of the wanted services run in, and which
// of them do.
func servicesNetwork(containers []engine.Container, wanted []string) (network string, found []string) {
	in := map[string][]string{}
	for _, c := range containers {
		name := c.Labels[composeService]
		if !c.Running || !slices.Contains(wanted, name) {
			continue
		}
		for _, n := range c.Networks {
			if runplan.OwnsNetwork(n) && !slices.Contains(in[n], name) {
				in[n] = append(in[n], name)
			}
		}
	}
	for n, services := range in {
		if len(services) > len(found) || len(services) == len(found) && n < network {
			network, found = n, services
		}
	}
	return network, found
}
