COPY --from=claude /claude/claude /usr/local/bin/claude

# The version is pinned above, and a sandbox does not update itself.
ENV DISABLE_AUTOUPDATER=1 \
    DISABLE_UPDATES=1

# No program may lend root's rights, whatever the packages brought along.
RUN find / -xdev -perm /6000 -type f -exec chmod a-s {} +
