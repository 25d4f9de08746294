# The image of the firewall's container in a run. sbx-init is copied in at each
# start, and brings everything but the packet filter's own programs and the
# authorities by which it verifies hosts whose TLS it opens.
FROM debian:bookworm-slim
RUN set -eu; \
    export DEBIAN_FRONTEND=noninteractive; \
    apt-get update; \
    apt-get install -y --no-install-recommends ca-certificates iptables; \
    rm -rf /var/lib/apt/lists/*
