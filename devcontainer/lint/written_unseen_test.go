package lint_test

// writtenUnseen are mistakes of which each was confirmed with the engine, docker-compose, the reference CLI or
// BuildKit's own conversion, before there was anything to find them.
var writtenUnseen = []written{
	{"unit that is none", `SBX321 "--memory=4gg"`, `{"image": "a:1", "runArgs": ["--memory=4gg"]}`},
	{"processors in words", `SBX321 "--cpus"`, `{"image": "a:1", "runArgs": ["--cpus", "two"]}`},
	{"limit without a number", `SBX321 "--ulimit=nofile"`, `{"image": "a:1", "runArgs": ["--ulimit=nofile"]}`},
	{"restart misspelt in an option", `SBX321 "--restart=allways"`, `{"image": "a:1", "runArgs": ["--restart=allways"]}`},
	{"host without an address", `SBX321 "--add-host=host`, `{"image": "a:1", "runArgs": ["--add-host=host.docker.internal"]}`},
	{"capability misspelt", `SBX321 "SYS_PTRCE"`, `{"image": "a:1", "capAdd": ["SYS_PTRCE"]}`},
	{"capability misspelt in Compose", `SBX321 NET_ADMN`,
		"services:\n  app:\n    image: debian:13\n    cap_add: [NET_ADMN]\n    volumes: [\"..:/w\"]\n"},
	{"security option misspelt", `SBX321 "secomp=unconfined"`, `{"image": "a:1", "securityOpt": ["secomp=unconfined"]}`},
	{"tilde in a volume", `SBX321 "-v"`, `{"image": "a:1", "runArgs": ["-v", "~/data:/data"]}`},
	{"relative folder in a volume", `SBX321 "--volume=data/x:/data"`, `{"image": "a:1", "runArgs": ["--volume=data/x:/data"]}`},
	{"mode of a volume in words", `SBX321 "-v"`, `{"image": "a:1", "runArgs": ["-v", "/opt/a:/a:read-only"]}`},
	{"protocol in the place of a port", `SBX321 "-p"`, `{"image": "a:1", "runArgs": ["-p", "3000:3000:tcp"]}`},
	{"protocol misspelt", `SBX321 "127.0.0.1:3000:3000/tpc"`, `{"image": "a:1", "appPort": ["127.0.0.1:3000:3000/tpc"]}`},
	{"health check without CMD", `SBX316 curl`,
		"services:\n  app:\n    image: debian:13\n    healthcheck: {test: [curl, -f, \"http://localhost\"]}\n" +
			"    volumes: [\"..:/w\"]\n"},
	{"services in a circle", `SBX316 app`, "services:\n  app:\n    image: debian:13\n    depends_on: [db]\n    volumes: [\"..:/w\"]\n" +
		"  db:\n    image: postgres:17\n    depends_on: [app]\n"},
	{"ports with another's network", `SBX316 ["127`, "services:\n  app:\n    image: debian:13\n    network_mode: service:db\n" +
		"    ports: [\"127.0.0.1:3000:3000\"]\n    volumes: [\"..:/w\"]\n  db:\n    image: postgres:17\n"},
}
