# sbx:begin entrypoint
# Owned by root, and with it the folder: the agent cannot change what it may
# reach. Last, so that an edit rebuilds only this.
COPY sandbox.jsonc /etc/sbx/sandbox.jsonc

ENTRYPOINT ["/usr/local/sbin/sbx-init", "run", "--policy", "/etc/sbx/sandbox.jsonc", "--user", "agent", "--"]
CMD ["sleep", "infinity"]
# sbx:end entrypoint
