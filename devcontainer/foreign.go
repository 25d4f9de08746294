package devcontainer

// Services names the services of the project's Compose files that are not its
// dev container, in their order; nothing without Compose.
func (p *Project) Services() []string {
	if p.Composed == nil {
		return nil
	}
	var out []string
	for _, s := range p.Composed.Project.Services() {
		if p.Composed.Service == nil || s.Name != p.Composed.Service.Name {
			out = append(out, s.Name)
		}
	}
	return out
}
