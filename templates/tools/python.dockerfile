COPY --from=tools-python /usr/local/ /usr/local/
RUN set -eu; \
    export DEBIAN_FRONTEND=noninteractive; \
    apt-get update; \
    apt-get install -y --no-install-recommends libffi8 libreadline8 libsqlite3-0 libssl3; \
    rm -rf /var/lib/apt/lists/*; \
    ldconfig
