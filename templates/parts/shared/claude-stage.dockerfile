# sbx:begin claude-stage
# Claude Code comes from npm with a pinned checksum, and leaves npm behind. Its
# file can be run and not read: the kernel then closes the running program's
# memory, environment and open files to other programs of the same user.
FROM node:22-bookworm-slim AS claude
ARG CLAUDE_VERSION=${templateOption:claudeVersion}
# @anthropic-ai/claude-code-linux-x64@${templateOption:claudeVersion}
ARG CLAUDE_INTEGRITY_X64=${templateOption:claudeIntegrityX64}
# @anthropic-ai/claude-code-linux-arm64@${templateOption:claudeVersion}
ARG CLAUDE_INTEGRITY_ARM64=${templateOption:claudeIntegrityArm64}
WORKDIR /claude
RUN set -eu; \
    case "$(dpkg --print-architecture)" in \
      amd64) arch=x64; want="$CLAUDE_INTEGRITY_X64" ;; \
      arm64) arch=arm64; want="$CLAUDE_INTEGRITY_ARM64" ;; \
      *) echo "no Claude Code for $(dpkg --print-architecture)" >&2; exit 1 ;; \
    esac; \
    npm pack --silent "@anthropic-ai/claude-code-linux-$arch@$CLAUDE_VERSION"; \
    mv ./*.tgz claude.tgz; \
    got="sha512-$(node -p 'require("crypto").createHash("sha512").update(require("fs").readFileSync("claude.tgz")).digest("base64")')"; \
    if [ "$got" != "$want" ]; then echo "Claude Code is not what was pinned: got $got, want $want" >&2; exit 1; fi; \
    tar -xzf claude.tgz --strip-components=1 package/claude; \
    rm claude.tgz; \
    chmod 0111 claude
# sbx:end claude-stage
