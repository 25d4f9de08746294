package obeyed

// rules are the patterns by class, separated by white space. "name" is a file or
// folder of that name anywhere, "a/b" the end of a path, "name/" everything
// below a folder of that name, and a leading slash binds a pattern to the root
// of a repository or of the project. Wildcards are those of path.Match.
func rules() map[Class]string {
	return map[Class]string{
		// Repositories and what version control runs or obeys in them. jj, Sapling
		// and Mercurial name programs in a repository's own configuration, too.
		Git: `.git .git/ .gitmodules .gitattributes .gitconfig .lfsconfig
			.hg .hg/ .jj .jj/ .sl .sl/ .svn/ .bzr/ .pijul/ _darcs/ .fslckout _FOSSIL_ commondir`,

		// Prompts and version managers obey these when a shell enters the folder,
		// consoles and debuggers when they start there, and the file managers of desktops
		// when they show it.
		Shell: `.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout
			.inputrc .cshrc .tcshrc .kshrc .mkshrc config.fish fish/conf.d/* .xprofile .xinitrc
			.envrc .envrc.* .env .direnv/ direnvrc .autoenv .autoenv.zsh .autoenv_leave.zsh .shadowenv.d/
			mise.toml .mise.toml mise.*.toml .mise.*.toml .mise/ mise/config.toml mise/config.*.toml mise/conf.d/* .config/mise.toml
			.config/mise.*.toml
			.config/mise/ .rtx.toml .rtx.*.toml .tool-versions .prototools
			rust-toolchain rust-toolchain.toml .python-version .ruby-version .node-version .nvmrc .java-version .sdkmanrc .go-version
			.terraform-version
			.opentofu-version .swift-version .perl-version .php-version .lua-version .crystal-version .julia-version
			flake.nix flake.lock shell.nix default.nix devbox.json devbox.lock devenv.nix devenv.yaml devenv.lock devenv.local.nix .flox/ .pixi/
			.tmux.conf .tmuxinator.yml .tmuxp.* .screenrc .zellij/
			.gdbinit .lldbinit .pdbrc .pdbrc.py .irbrc .pryrc .ghci .iex.exs .ocamlinit .utoprc .rprofile .renviron renv/activate.r .octaverc
			startup.m
			desktop.ini autorun.inf *.lnk *.url *.scf *.library-ms *.searchconnector-ms *.desktop`,

		// Editors and the language servers that they start.
		Editor: `.vscode .vscode/ *.code-workspace .idea .idea/ *.iml *.ipr *.iws .fleet/ .zed/ .helix/ .vs/ .theia/ .nova/ .lapce/ .kak/ .kakrc
			.lazy.lua .vim .vim/ .nvim .nvim/ .vimrc _vimrc .gvimrc .exrc _exrc .nvimrc .nvim.lua .vimrc.local .local.vimrc .lvimrc .vimspector.json
			coc-settings.json .neoconf.json .dir-locals.el .dir-locals-2.el .projectile .sublime-project *.sublime-project *.sublime-workspace
			*.sublime-settings
			.devcontainer .devcontainer/ .devcontainer.json devcontainer.json .gitpod.yml .gitpod.dockerfile .gitpod/ .idx/ .replit replit.nix
			.luarc.json .luarc.jsonc .ycm_extra_conf.py .clangd .ccls .bsp/ .metals/ .bloop/ hie.yaml .hie.yaml .merlin .solargraph.yml
			.rubocop.yml .ruby-lsp/
			.standard.yml .steepfile .elixir_ls/ .lexical/ .rust-analyzer.toml rust-analyzer.toml .cargo/config .cargo/config.toml
			.eslintrc .eslintrc.* eslint.config.* .prettierrc .prettierrc.* prettier.config.* .stylelintrc .stylelintrc.* stylelint.config.*
			pyvenv.cfg .venv/bin/python* venv/bin/python* .venv/scripts/python.exe .pylintrc pylintrc .pylintrc.toml
			.project .classpath .factorypath .settings/ .externaltoolbuilders/ nbproject/ *.pbxproj *.xcscheme
			*.xcworkspacedata .swiftpm/ .sourcekit-lsp/
			graphql.config.* .graphqlrc .graphqlrc.* pyrightconfig.json omnisharp.json tslint.json .flake8 session.vim .run/`,

		// Instructions, servers, hooks and permissions of coding agents.
		Agent: `.mcp.json mcp.json .claude .claude/ claude.md claude.local.md .claude.json .claude-plugin/ agents.md agent.md
			agents.override.md .agents/ .agent/
			gemini.md .gemini .gemini/ .codex .codex/ .opencode .opencode/ opencode.json opencode.jsonc .cursor .cursor/ .cursorrules
			.kiro .kiro/ .windsurf .windsurf/ .windsurfrules .codeium/ .roo .roo/ .roomodes .roorules .roorules-* .clinerules .clinerules/ .cline/
			.continue .continue/ .continuerc.json .amazonq .amazonq/ .qwen .qwen/ qwen.md .aider* .kilocode .kilocode/ .kilocodemodes
			.kilocoderules*
			crush.json .crush.json .crush/ crush.md .junie .junie/ .factory .factory/ .amp .amp/ .augment/ .augment-guidelines .trae/
			.firebender/ firebender.json
			.openhands/ .openhands_instructions .goosehints .goose/ .copilot/ .rules .ruler/ .tabnine/ .cody/ .pearai/ .zencoder/ .warp/ warp.md
			.grok/ .iflow/ iflow.md .codebuddy/ codebuddy.md .vibe/ .plandex/ .devin/ .void/ .tabby/ .bolt/ .lovable/ skill.md`,

		// Managers of commit hooks, what their hooks run, and git's own hooks by their names, in
		// whatever folder core.hooksPath means.
		Hook: `.pre-commit-config.y*ml .pre-commit-hooks.yaml prek.toml hk.pkl hk.local.pkl lefthook.* .lefthook.* lefthook-local.*
			.lefthook-local.* .lefthook/
			.config/lefthook* .husky .husky/ .huskyrc .huskyrc.* husky.config.* .githooks .githooks/ .git-hooks/ githooks/ git-hooks/
			.lintstagedrc .lintstagedrc.* lint-staged.config.* .nano-staged.* nano-staged.* .nanostagedrc .overcommit.yml .overcommit/
			commitlint.config.* .commitlintrc .commitlintrc.* .czrc .cz.toml .cz.json .cz.yaml captainhook.json grumphp.y*ml grumphp.y*ml.dist
			.simple-git-hooks.* simple-git-hooks.* rusty-hook.toml .rusty-hook.toml .cargo-husky/ cog.toml .arcconfig .arclint .trunk/
			.githooks.* .hooks/
			applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit pre-rebase
			post-checkout post-merge post-rewrite pre-push pre-receive post-receive reference-transaction push-to-checkout pre-auto-gc
			post-index-change fsmonitor-watchman sendemail-validate`,

		// CI and code hosts obey these at the root of a repository only; an action
		// can be anywhere.
		CI: `/.github/ action.yml action.yaml /codeowners /docs/codeowners /.gitlab/ .gitlab-ci.y*ml *.gitlab-ci.y*ml /.circleci/ /.travis.y*ml
			/appveyor.y*ml /.appveyor.y*ml azure-pipelines*.y*ml /.azure-pipelines/ /.azuredevops/ jenkinsfile jenkinsfile.* *.jenkinsfile
			/bitbucket-pipelines.y*ml /.drone.* /.woodpecker.* /.woodpecker/ /.buildkite/ /.semaphore/ /.teamcity/ /.harness/ /cloudbuild.*
			/buildspec*.y*ml
			/appspec.y*ml /.forgejo/ /.gitea/ /.build.yml /.builds/ /.cirrus.* /.tekton/ /.concourse/ /.zuul.yaml /.zuul.d/ /zuul.yaml /zuul.d/
			/.copr/ /.packit.y*ml
			/renovate.json* /.renovaterc* /.mergify.y*ml /mergify.y*ml /.kodiak.toml /.bors.toml /bors.toml /netlify.toml /vercel.json
			/wrangler.* /fly.toml /render.yaml
			/railway.* /procfile /heroku.yml /app.json /app.yaml /.readthedocs.y*ml /.goreleaser.* /.releaserc* /release.config.* /.changeset/
			/.ci/ /ci/ /atlantis.y*ml /dagger.json /.dagger/ /sonar-project.properties /codecov.y*ml /.codecov.y*ml
			/codemagic.yaml /bitrise.yml /.depot/ /.codesandbox/ /.stackblitzrc /.pullapprove.y*ml /.lgtm.y*ml /codeql-config.yml`,

		// Manifests, lock files and configuration that is code: a build, a test, an
		// install or a deployment runs them.
		Build: `binding.gyp
			makefile gnumakefile makefile.am makefile.in makefile.inc *.mk justfile .justfile *.just taskfile.* rakefile *.rake thorfile
			gruntfile.* gulpfile.* jakefile* cakefile
			magefile.go noxfile.py tox.ini tasks.py fabfile.py invoke.* dodo.py wscript sconstruct sconscript configure configure.ac autogen.sh *.m4
			snakefile dvc.yaml jamroot jamfile premake*.lua xmake.lua dub.json dub.sdl *.nimble ivy.xml paket.dependencies anchor.toml build.fsx
			.simplecov docs/conf.py doc/conf.py import_map.json
			meson.build meson_options.txt
			cmakelists.txt *.cmake cmakepresets.json cmakeuserpresets.json build.ninja buck .buckconfig build.bazel build workspace
			workspace.bazel module.bazel
			module.bazel.lock .bazelrc .bazelversion .bazeliskrc *.bzl *.star pants.toml earthfile tiltfile skaffold.y*ml vagrantfile packer.*
			package.json package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml pnpm-workspace.yaml .pnpmfile.cjs .npmrc .yarnrc
			.yarnrc.yml .yarn/releases/
			.yarn/plugins/ bun.lock bun.lockb bunfig.toml deno.json deno.jsonc deno.lock lerna.json nx.json turbo.json rush.json project.json
			jsr.json
			tsconfig*.json jsconfig.json vite.config.* vitest.config.* webpack.config.* rollup.config.* babel.config.* .babelrc .babelrc.*
			jest.config.* .mocharc.*
			playwright.config.* cypress.config.* next.config.* nuxt.config.* svelte.config.* astro.config.* tailwind.config.* postcss.config.*
			.postcssrc* esbuild.*
			metro.config.* karma.conf.* wdio.conf.* .swcrc angular.json ember-cli-build.js remix.config.* tsup.config.* .env.*
			pyproject.toml setup.py setup.cfg requirements*.txt requirements*.in constraints*.txt pipfile pipfile.lock poetry.lock poetry.toml
			pdm.lock pdm.toml uv.lock
			uv.toml pixi.toml pixi.lock environment.y*ml conda-lock.yml hatch.toml pip.conf conftest.py pytest.ini sitecustomize.py
			usercustomize.py *.pth manage.py
			mkdocs.yml jupyter_*config.py .coveragerc .proverc .rspec mypy.ini
			go.mod go.sum go.work go.work.sum .golangci.* .ko.yaml cargo.toml cargo.lock build.rs clippy.toml .config/nextest.toml cross.toml
			gemfile gemfile.lock gems.rb *.gemspec .bundle/config bundle/config pom.xml build.gradle* settings.gradle* init.gradle*
			gradle.properties gradlew gradlew.bat
			gradle/wrapper/* gradle/*.toml mvnw mvnw.cmd .mvn/ build.xml build.sbt project/*.sbt project/build.properties .jvmopts .sbtopts
			build.sc build.mill
			*.csproj *.fsproj *.vbproj *.vcxproj *.sln *.slnx *.props *.targets nuget.config packages.lock.json global.json dotnet-tools.json
			*.cake
			composer.json composer.lock auth.json phpunit.xml* artisan mix.exs mix.lock .formatter.exs rebar.config rebar.lock erlang.mk
			stack.yaml cabal.project* *.cabal setup.hs setup.lhs package.yaml dune dune-project dune-workspace *.opam shard.yml project.clj
			deps.edn bb.edn shadow-cljs.edn
			package.swift package.resolved podfile podfile.lock cartfile fastfile fastlane/ pubspec.yaml pubspec.lock build.zig build.zig.zon
			manifest.toml project.toml description makevars cpanfile build.pl makefile.pl alire.toml v.mod gleam.toml spago.* elm.json
			conanfile.* vcpkg.json
			dockerfile dockerfile.* *.dockerfile containerfile containerfile.* .dockerignore compose.y*ml compose.*.y*ml docker-compose*.y*ml
			docker-bake.* *.bake.hcl
			chart.yaml helmfile.y*ml kustomization.y*ml serverless.y*ml template.yaml samconfig.toml cdk.json pulumi*.yaml *.tf *.tf.json
			.terraform.lock.hcl terragrunt.hcl
			ansible.cfg playbook*.y*ml kubeconfig compile_commands.json brewfile snapcraft.yaml debian/rules *.spec pkgbuild *.service *.timer
			crontab
			*.command
			.*rc .*rc.* .*.js .*.cjs .*.mjs .*.ts .*.php .*.rb .*.exs .*.hcl *.config.js *.config.cjs *.config.mjs *.config.ts
			*.config.mts *.config.cts
			*.conf.js *.setup.js *.setup.ts *.workspace.js *.workspace.ts globalsetup.* globalteardown.*
			knexfile.* plopfile.* gatsby-*.js gatsby-*.ts truffle-config.js codegen.ts codegen.y*ml electron-builder.*
			foundry.toml nodemon.json .pdm.toml .pdm-python buf.gen.y*ml *.xcconfig
			schema.prisma .storybook/ .vitepress/ .jest/ .ctags.d/ .terraform/ .air.toml .flaskenv .mypy.ini
			.runsettings *.runsettings
			guardfile capfile dangerfile appraisals config.ru phpstan.neon* psalm.xml* rector.php ecs.php wp-config.php .htaccess .user.ini
			alembic.ini gunicorn.conf.py locustfile.py trunk.toml local.settings.json procfile.* devspace.y*ml conda.y*ml meta-inf/services/*
			*.bat *.cmd *.ps1 *.psm1 *.vbs *.wsf *.hta *.reg *.scpt *.scr`,
	}
}

// Settings are the patterns, below the project's root, of settings that agents,
// editors and version control obey without asking and that an agent hardly has
// to change. A run mounts read-only what exists of them; new ones are shown at
// its end. Instructions such as CLAUDE.md, manifests and hooks are part of the
// work and are shown only.
func Settings() []string {
	return []string{
		".mcp.json", ".cursor", ".zed", ".helix", ".gemini", ".codex", ".opencode", "opencode.json", "opencode.jsonc", ".kiro", ".windsurf",
		".roo",
		".continue", ".amazonq", ".qwen", ".kilocode", "crush.json", ".crush.json", ".junie", ".factory", ".amp", ".augment", ".trae",
		".goose", ".openhands",
		".aider.conf.yml", ".fleet", ".vs", ".nova", ".theia", ".bsp", ".vim", ".nvim", ".nvim.lua", ".vimrc", ".nvimrc", ".gvimrc", ".exrc",
		".dir-locals.el", ".dir-locals-2.el", "*.code-workspace", "*.sublime-project",
		".hg/hgrc", ".hg/hgrc-not-shared", ".jj/repo/config.toml", ".sl/config", "rust-toolchain", "rust-toolchain.toml",
	}
}
