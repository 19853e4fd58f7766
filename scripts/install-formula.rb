# Does what Homebrew does with our formula, for scripts/check-installs.sh: neither Debian, PyPI nor npm has Homebrew itself.
# Usage: ruby install-formula.rb FORMULA CPU ARCHIVE PREFIX
# It compares ARCHIVE with the name and checksum that the formula has for CPU (intel or arm), unpacks it, and runs `install` and `test`.
# Only the methods that the formula uses are here: another one fails.
require "digest"
require "fileutils"
require "open3"
require "pathname"
require "tmpdir"

FORMULA, CPU, ARCHIVE, PREFIX = ARGV
abort "usage: ruby install-formula.rb FORMULA CPU ARCHIVE PREFIX" unless PREFIX

class Formula
  class << self
    attr_reader :test_block

    %i[desc homepage version url sha256].each do |key|
      define_method(key) do |value = nil|
        @values ||= {}
        value ? @values[key] = value : @values[key]
      end
    end

    def license(any_of:); end

    def depends_on(what)
      abort "depends on #{what}" unless what == :linux
    end

    def on_intel
      yield if CPU == "intel"
    end

    def on_arm
      yield if CPU == "arm"
    end

    def test(&block)
      @test_block = block
    end
  end

  def version = self.class.version
  def bin = Pathname.new(PREFIX) / "bin"
  def man1 = Pathname.new(PREFIX) / "share/man/man1"

  def system(*command)
    Kernel.system(*command.map(&:to_s), out: File::NULL, exception: true)
  end

  def shell_output(command)
    output, status = Open3.capture2(command)
    abort "#{command} failed" unless status.success?
    output
  end

  def assert_match(expected, actual)
    abort "#{actual.inspect} has no #{expected}" unless actual.include?(expected)
  end

  def generate_completions_from_executable(*command, shells:)
    shells.each do |shell|
      file = Pathname.new(PREFIX) / "completions/#{shell}"
      file.dirname.mkpath
      file.write(shell_output([*command, shell].join(" ")))
    end
  end
end

class Pathname
  def install(file)
    mkpath
    FileUtils.mv(file, self)
  end
end

load FORMULA
abort "#{Uwf.url} does not end with #{File.basename(ARCHIVE)}" unless Uwf.url.end_with?("/#{File.basename(ARCHIVE)}")
abort "the checksum in #{FORMULA} is not that in #{ARCHIVE}" unless Uwf.sha256 == Digest::SHA256.file(ARCHIVE).hexdigest
Dir.mktmpdir do |dir|
  Kernel.system("tar", "-xzf", ARCHIVE, "-C", dir, exception: true)
  # Homebrew enters the only directory of an archive.
  entries = Dir.children(dir)
  abort "#{ARCHIVE} has #{entries.size} entries" unless entries.size == 1
  Dir.chdir(File.join(dir, entries.first)) { Uwf.new.install }
end
Uwf.new.instance_exec(&Uwf.test_block)
