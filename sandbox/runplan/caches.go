package runplan

import (
	"slices"

	"github.com/org/claude-sandbox/internal/engine"
)

// cacheFolder is where the programs that fetch and compile for the agent keep what
// they need again.
const cacheFolder = AgentHome + "/.cache"

// cacheVariables lead package managers to cacheFolder that would keep their caches
// elsewhere: below a home folder that ends with the run, in an image that is
// read-only, or, as pnpm does, in the project. The same ones are in the dev
// container's Dockerfiles; see templates/parts/shared/caches.dockerfile. Installers
// of git hooks do nothing, because the project's are the host's, and Puppeteer's
// browser is fetched by a command of its own, which fails aloud where its host is
// closed.
func cacheVariables() []string {
	return []string{
		"npm_config_cache=" + cacheFolder + "/npm",
		"pnpm_config_store_dir=" + cacheFolder + "/pnpm",
		"PNPM_HOME=" + cacheFolder + "/pnpm", // before version 11
		"YARN_GLOBAL_FOLDER=" + cacheFolder + "/yarn-global",
		"COREPACK_HOME=" + cacheFolder + "/corepack",
		"COREPACK_ENABLE_DOWNLOAD_PROMPT=0",
		"UV_PYTHON_INSTALL_DIR=" + cacheFolder + "/uv-python",
		"UV_LINK_MODE=copy",
		"GOMODCACHE=" + cacheFolder + "/go-mod",
		"CARGO_HOME=" + cacheFolder + "/cargo",
		"MAVEN_ARGS=-Dmaven.repo.local=" + cacheFolder + "/maven",
		"MAVEN_USER_HOME=" + cacheFolder + "/maven-user",
		"GRADLE_USER_HOME=" + cacheFolder + "/gradle",
		"BUNDLE_PATH=" + cacheFolder + "/bundle",
		"COMPOSER_CACHE_DIR=" + cacheFolder + "/composer",
		"NUGET_PACKAGES=" + cacheFolder + "/nuget",
		"PUPPETEER_SKIP_DOWNLOAD=1",
		"HUSKY=0",
		"LEFTHOOK=0",
		"SKIP_INSTALL_SIMPLE_GIT_HOOKS=1",
	}
}

// withCaches adds the variables of caches that are not set.
func withCaches(env []string, taken map[string]string) []string {
	return withVariables(env, cacheVariables(), taken)
}

// withVariables adds those of more that are not set.
func withVariables(env, more []string, taken map[string]string) []string {
	for _, v := range more {
		if _, set := taken[nameOf(v)]; !set {
			env = append(env, v)
		}
	}
	return env
}

// MountCache gives the agent a volume of the engine for what its package managers
// keep, which belongs to its user. Without one they begin anew in each run. It comes
// after whatever holds the agent's home. A mount of the user's at its place stays.
func (p *Plan) MountCache(volume string) {
	if slices.ContainsFunc(p.Agent.Mounts, func(m engine.Mount) bool { return m.Target == cacheFolder }) {
		return
	}
	delete(p.Agent.Tmpfs, cacheFolder) // on the way to a mount in it
	p.Agent.Mounts = append(p.Agent.Mounts, engine.Mount{Named: volume, Target: cacheFolder})
}

// AgentUser is the user of the agent's processes.
func (p *Plan) AgentUser() (uid, gid int) { return p.Place.Owner.UID, p.Place.Owner.GID }
