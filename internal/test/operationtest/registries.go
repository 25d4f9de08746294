package operationtest

// Registries is what registries of packages and images would do.
func Registries() Class {
	entries := []string{"npm:read", "pypi:read", "go:read", "crates:read", "oci:read", "oci:ghcr.io read",
		"npm:repo.example.com/npm/team read"}
	return Class{Name: "registries", Entries: entries, Cases: lines(
		// publishing and what changes it
		"PUT packages.npmjs.org/left-pad", "PUT packages.npmjs.org/@scope%2fname", "PUT packages.npmjs.org/@scope/name",
		"PUT packages.npmjs.org/left-pad/-rev/1-a", "DELETE packages.npmjs.org/left-pad/-/left-pad-1.0.0.tgz/-rev/1-a",
		"PUT packages.npmjs.org/-/package/left-pad/dist-tags/latest", "POST packages.npmjs.org/-/package/left-pad/dist-tags",
		"DELETE packages.npmjs.org/-/package/left-pad/dist-tags/beta", "POST packages.npmjs.org/left-pad", "PATCH packages.npmjs.org/left-pad",
		"PUT registry.yarnpkg.com/left-pad", "POST packages.npmjs.org/-/stage/left-pad",
		"POST upload.pypi.org/legacy/", "POST pypi.org/legacy/", "POST test.pypi.org/legacy/", "POST pypi.org/pypi",
		"PUT files.pythonhosted.org/packages/x",
		"PUT crates.io/api/v1/crates/new", "DELETE crates.io/api/v1/crates/leaf/1.0.0/yank", "PUT crates.io/api/v1/crates/leaf/owners",
		"PUT crates.io/api/v1/trusted_publishing/tokens", "POST crates.io/api/v1/trusted_publishing/tokens", "POST static.crates.io/crates/x/y",
		"POST modules.golang.org/example.com/m/@v/v1.0.0.zip", "PUT modules.golang.org/example.com/m/@v/v1.0.0.zip",
		"POST registry-1.docker.io/v2/a/b/blobs/uploads/", "POST registry-1.docker.io/v2/a/b/blobs/uploads/?mount=sha256:a&from=c/d",
		"PATCH ghcr.io/v2/a/b/blobs/uploads/1", "PUT ghcr.io/v2/a/b/manifests/latest", "DELETE ghcr.io/v2/a/b/manifests/sha256:a",
		"GET ghcr.io/v2/a/b/blobs/uploads/1", "PUT production.cloudflare.docker.com/registry-v2/x",
		// accounts and tokens
		"PUT packages.npmjs.org/-/user/org.couchdb.user:evil", "POST packages.npmjs.org/-/v1/login", "GET packages.npmjs.org/-/whoami",
		"GET packages.npmjs.org/-/npm/v1/tokens", "POST packages.npmjs.org/-/npm/v1/tokens", "POST packages.npmjs.org/-/npm/v1/user",
		"POST packages.npmjs.org/-/npm/v1/oidc/token/exchange/package/left-pad", "PUT packages.npmjs.org/-/org/scope/user",
		"POST packages.npmjs.org/-/npm/v1/hooks/hook", "POST pypi.org/_/oidc/mint-token", "GET pypi.org/manage/account/token/",
		"POST pypi.org/account/login/",
		"GET crates.io/api/v1/me", "PUT crates.io/api/v1/me/tokens", "GET crates.io/me",
		"POST auth.docker.io/token", "GET auth.docker.io/token?service=registry.docker.io", "GET hub.docker.com/v2/users/login",
		"GET auth.docker.io/token?scope=repository:a/b:pull,push", "GET auth.docker.io/token?scope=repository:a/b:push",
		"GET auth.docker.io/token?scope=repository:a/b:*", "GET auth.docker.io/token?scope=repository:a/b:pull&scope=repository:a/b:push",
		"GET auth.docker.io/token?scope=repository:a/b:pull%20repository:c/d:push",
		"GET auth.docker.io/token?scope=repository:a/b:pull&SCOPE=repository:a/b:push",
		"GET auth.docker.io/token?scope=repository:a/b:pull&offline_token=true", "GET auth.docker.io/token?scope=registry:catalog:*",
		"GET auth.docker.io/token?scope=repository:a/b:pull;scope=repository:a/b:push", "GET ghcr.io/token?scope=repository:a/b:delete",
		"GET auth.docker.io/token?scope=repository:a/b:push,repository:c/d:pull",
		"GET auth.docker.io/token?scope=repository:a/b:push%2Crepository:c/d:pull",
		"GET ghcr.io/token?scope=repository:a/b:*,x:pull", "GET ghcr.io/token?scope=repository:a/b:push:pull",
		"GET ghcr.io/token?scope=repository::pull",
		"GET ghcr.io/token?scope=repository:a/b:pull%09repository:a/b:push", "GET ghcr.io/token?scope=repository:a/b:push%0arepository:a/b:pull",
		// paths and methods
		"GET packages.npmjs.org/left-pad%2f..%2f-%2fwhoami", "GET packages.npmjs.org/%2d/whoami", "GET packages.npmjs.org/-%2fwhoami",
		"GET packages.npmjs.org/left-pad/%2e%2e/-/whoami", "GET packages.npmjs.org//-/whoami", "GET packages.npmjs.org/_users/x",
		"GET packages.npmjs.org/@scope%2fa%2fb", "GET packages.npmjs.org/left%2fpad", "GET packages.npmjs.org/@%2f-%2fwhoami",
		"CONNECT packages.npmjs.org/left-pad", "get packages.npmjs.org/left-pad", "OPTIONS packages.npmjs.org/left-pad",
		"GET packages.npmjs.org/left-pad?write=true", "GET www.npmjs.org/-/x/y", "GET pypi.org/simple/a%2fb/", "GET docs.pythonhosted.org/x",
		"GET repo.example.com/npm/other/left-pad", "PUT repo.example.com/npm/team/left-pad", "GET repo.example.com/left-pad",
		"GET repo.example.com/npm/team", "POST repo.example.com/npm/team/-/npm/v1/security/audits",
		// what an audit could carry
		"POST packages.npmjs.org/-/npm/v1/security/audits {}", "POST packages.npmjs.org/-/npm/v1/security/audits/quick {}",
		`POST packages.npmjs.org/-/npm/v1/security/advisories/bulk {"a":["a secret"]}`,
		`POST packages.npmjs.org/-/npm/v1/security/advisories/bulk {"a secret":["1.0.0"]}`,
		`POST packages.npmjs.org/-/npm/v1/security/advisories/bulk {"a":{"b":"c"}}`,
		`POST packages.npmjs.org/-/npm/v1/security/advisories/bulk {"a":["1.0.0"],"a":["1.0.0"]}`,
		`POST packages.npmjs.org/-/npm/v1/security/advisories/bulk ["a"]`,
		`POST packages.npmjs.org/-/npm/v1/security/advisories/bulk?x=1 {"a":["1.0.0"]}`,
	)}
}
