COPY --from=tools-node /usr/local/bin/ /usr/local/bin/
COPY --from=tools-node /usr/local/lib/node_modules/ /usr/local/lib/node_modules/
RUN if command -v corepack >/dev/null; then corepack enable; fi
