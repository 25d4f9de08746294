# sbx:begin caches
# What package managers fetch stays in one folder: a volume of this project's own.
# The installers of git hooks do nothing, because the hooks are the host's. Puppeteer's
# browser is fetched by 'npx puppeteer browsers install', where its host is allowed.
ENV npm_config_cache=/home/agent/.cache/npm \
    pnpm_config_store_dir=/home/agent/.cache/pnpm \
    PNPM_HOME=/home/agent/.cache/pnpm \
    YARN_GLOBAL_FOLDER=/home/agent/.cache/yarn-global \
    COREPACK_HOME=/home/agent/.cache/corepack \
    COREPACK_ENABLE_DOWNLOAD_PROMPT=0 \
    UV_PYTHON_INSTALL_DIR=/home/agent/.cache/uv-python \
    UV_LINK_MODE=copy \
    GOMODCACHE=/home/agent/.cache/go-mod \
    CARGO_HOME=/home/agent/.cache/cargo \
    MAVEN_ARGS=-Dmaven.repo.local=/home/agent/.cache/maven \
    MAVEN_USER_HOME=/home/agent/.cache/maven-user \
    GRADLE_USER_HOME=/home/agent/.cache/gradle \
    BUNDLE_PATH=/home/agent/.cache/bundle \
    COMPOSER_CACHE_DIR=/home/agent/.cache/composer \
    NUGET_PACKAGES=/home/agent/.cache/nuget \
    PUPPETEER_SKIP_DOWNLOAD=1 \
    HUSKY=0 \
    LEFTHOOK=0 \
    SKIP_INSTALL_SIMPLE_GIT_HOOKS=1
# pnpm reads the variable above from version 11 on, and this file before.
RUN set -eu; \
    install -d -o agent -g agent /home/agent/.cache /home/agent/.config /home/agent/.config/pnpm; \
    echo 'store-dir=/home/agent/.cache/pnpm' >/home/agent/.config/pnpm/rc
# sbx:end caches
