# Homebrew formula, for a tap: Formula/sbx-devc.rb.
class SbxDevc < Formula
  desc "Claude Code in a sandbox: behind a firewall that it cannot undo"
  homepage "https://github.com/@REPOSITORY@"
  version "@VERSION@"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "https://github.com/@REPOSITORY@/releases/download/v@VERSION@/sbx-devc-darwin-arm64"
      sha256 "@SHA256:sbx-devc-darwin-arm64@"
    end
    on_intel do
      url "https://github.com/@REPOSITORY@/releases/download/v@VERSION@/sbx-devc-darwin-amd64"
      sha256 "@SHA256:sbx-devc-darwin-amd64@"
    end
  end
  on_linux do
    on_arm do
      url "https://github.com/@REPOSITORY@/releases/download/v@VERSION@/sbx-devc-linux-arm64"
      sha256 "@SHA256:sbx-devc-linux-arm64@"
    end
    on_intel do
      url "https://github.com/@REPOSITORY@/releases/download/v@VERSION@/sbx-devc-linux-amd64"
      sha256 "@SHA256:sbx-devc-linux-amd64@"
    end
  end

  resource "man" do
    url "https://github.com/@REPOSITORY@/releases/download/v@VERSION@/sbx-devc-man.tar.gz"
    sha256 "@SHA256:sbx-devc-man.tar.gz@"
  end

  def install
    bin.install Dir["sbx-devc-*"].first => "sbx-devc"
    chmod 0755, bin/"sbx-devc" # a download is no program, and the next but one line runs it
    resource("man").stage { man1.install Dir["*.1"] }
    generate_completions_from_executable(bin/"sbx-devc", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/sbx-devc version")
  end
end
