COPY --from=tools-uv /uv /uvx /usr/local/bin/
