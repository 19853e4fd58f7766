# Install uwf from its released archive
class Uwf < Formula
  desc "Run workflows of AI agents one step at a time and keep every step"
  homepage "https://github.com/uncaged/uwf"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on :linux

  on_intel do
    url "@URL_x86_64@"
    sha256 "@SHA256_x86_64@"
  end

  on_arm do
    url "@URL_aarch64@"
    sha256 "@SHA256_aarch64@"
  end

  def install
    bin.install "uwf"
    generate_completions_from_executable(bin/"uwf", "completions", shells: [:bash, :zsh, :fish])
    system bin/"uwf", "man", "--install", "--dir", man1
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/uwf --version")
  end
end
