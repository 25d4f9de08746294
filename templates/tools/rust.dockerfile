COPY --from=tools-rust /usr/local/cargo /usr/local/cargo
COPY --from=tools-rust /usr/local/rustup /usr/local/rustup
ENV RUSTUP_HOME=/usr/local/rustup
RUN set -eu; \
    export DEBIAN_FRONTEND=noninteractive; \
    apt-get update; \
    apt-get install -y --no-install-recommends gcc libc6-dev pkg-config; \
    rm -rf /var/lib/apt/lists/*; \
    ln -sf /usr/local/cargo/bin/* /usr/local/bin/
