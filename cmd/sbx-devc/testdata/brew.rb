# Stands in for Homebrew, of which a formula needs little:
#
#   ruby brew.rb FORMULA MIRROR PREFIX
#
# It reads the formula as each system and processor does, downloads what that names from MIRROR in
# place of https://github.com, and compares the sums. What this machine's names it installs into
# PREFIX, in Homebrew's order: a download is no program until the formula makes it one, and what lies
# in bin is made one after install alone. Then it runs the formula's test.
require "digest"
require "fileutils"
require "open3"
require "open-uri"
require "pathname"
require "tmpdir"

# Pathname has what formulas use of Homebrew's.
class Pathname
  def install(*sources)
    sources.flatten.each do |source|
      (source.is_a?(Hash) ? source : { source => File.basename(source) }).each do |from, name|
        mkpath
        FileUtils.mv(from, self/name)
      end
    end
  end
end

# Download is what url and sha256 name.
class Download
  def url(text = nil) = text ? @url = text : @url

  def sha256(text = nil) = text ? @sum = text : @sum

  # fetch puts it into the current folder, for nobody to run.
  def fetch
    file = Pathname(url).basename.to_s
    content = URI.parse(url.sub("https://github.com", MIRROR)).open(&:read)
    raise "#{url} has the SHA-256 #{Digest::SHA256.hexdigest(content)}, not #{sha256}" if Digest::SHA256.hexdigest(content) != sha256

    File.binwrite(file, content)
    File.chmod(0o644, file)
    file
  end

  def stage
    Dir.mktmpdir do |dir|
      Dir.chdir(dir) do
        file = fetch
        system("tar", "-xzf", file, exception: true)
        File.delete(file)
        yield
      end
    end
  end
end

# Formula has the words of formulas.
class Formula
  include FileUtils

  class << self
    attr_reader :main, :resources, :check

    def inherited(formula)
      super
      formula.instance_eval { @main, @resources, @words = Download.new, {}, {} }
      Formula.instance_variable_set(:@last, formula)
    end

    attr_reader :last

    %i[desc homepage license version].each { |word| define_method(word) { |text = nil| text ? @words[word] = text : @words.fetch(word) } }
    %i[url sha256].each { |word| define_method(word) { |text| @main.public_send(word, text) } }

    def on_macos = (yield if SYSTEM[:os] == "darwin")

    def on_linux = (yield if SYSTEM[:os] == "linux")

    def on_arm = (yield if SYSTEM[:cpu] == "arm64")

    def on_intel = (yield if SYSTEM[:cpu] == "amd64")

    def resource(name, &block) = (@resources[name] = Download.new).instance_eval(&block)

    def test(&block) = @check = block
  end

  def version = self.class.version

  def bin = PREFIX/"bin"

  def man1 = PREFIX/"share/man/man1"

  def resource(name) = self.class.resources.fetch(name)

  def generate_completions_from_executable(*command)
    %w[bash zsh fish].each do |shell|
      text, status = Open3.capture2(*command.map(&:to_s), shell)
      raise "no completion for #{shell}" if !status.success? || text.empty?

      (PREFIX/"completions").mkpath
      (PREFIX/"completions"/shell).write(text)
    end
  end

  def shell_output(command)
    text, status = Open3.capture2(command)
    raise "#{command} failed" unless status.success?

    text
  end

  def assert_match(want, text) = text.include?(want) || raise("#{text.inspect} lacks #{want.inspect}")
end

SYSTEM = {} # which one reads the formula
MIRROR = ARGV[1]
PREFIX = Pathname(ARGV[2])
here = { os: "linux", cpu: RUBY_PLATFORM.start_with?("x86_64") ? "amd64" : "arm64" }
systems = %w[darwin linux].product(%w[amd64 arm64]).map { |os, cpu| { os: os, cpu: cpu } }
(systems - [here] + [here]).each do |system| # this machine's last
  SYSTEM.replace(system)
  load ARGV[0]
  formula = Formula.last
  %i[desc homepage license version].each { |word| formula.public_send(word) }
  raise "#{system} gets #{formula.main.url}" unless formula.main.url.end_with?("-#{system[:os]}-#{system[:cpu]}")

  Object.send(:remove_const, formula.name)
  Dir.mktmpdir do |dir|
    Dir.chdir(dir) do
      formula.main.fetch
      next unless system == here

      formula.new.install
      PREFIX.glob("bin/*").each { |file| file.chmod(0o555) }
      formula.new.instance_eval(&formula.check)
    end
  end
end
