#include "bench/transfer_bench.h"

#include "channel/sandbox_files.h"
#include "files/directory_tree.h"
#include "files/tree_writer.h"
#include "native/native_sandbox.h"
#include "native/pidfd.h"
#include "os/read_file.h"
#include "tests/support/native_sandbox.h"
#include "tests/support/temporary_directory.h"

#include <boost/asio/thread_pool.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth::bench {
namespace {

namespace fs = std::filesystem;
using BenchClock = std::chrono::steady_clock;

constexpr int rounds = 9;
constexpr std::size_t file_bytes = 100'000'000;
constexpr std::size_t piece_bytes = std::size_t{64} << 10;
constexpr TreeLimits ample{100'000, std::uint64_t{1} << 30};

double seconds(const std::function<void()>& work) {
  const auto begin = BenchClock::now();
  work();
  return std::chrono::duration<double>(BenchClock::now() - begin).count();
}

// Its processor time has no limit, as that of the references has none.
blueprint::SandboxConfig roomy() {
  blueprint::SandboxConfig config;
  config.scratch_size_mb = 512;
  config.resource_limits.memory_mb = 1024;
  config.resource_limits.cpu_quota = 64;
  return config;
}

class Place {
 public:
  void run(const std::string& script) {
    const auto result = sandboxes_.run_in(*sandbox_, script, 60);
    if (result.verdict != execution::Verdict::ok)
      throw Error("the script failed: " + result.detail);
  }
  template <typename T>
  T wait(Task<T> task) {
    return test::run_task(sandboxes_.loop(), std::move(task));
  }
  SandboxFiles& files() { return files_; }
  pid_t init() const {
    return native::pid_of(dynamic_cast<const native::NativeSandbox&>(*sandbox_).pidfd());
  }

 private:
  test::NativeSandboxes sandboxes_{roomy()};
  std::unique_ptr<backend::Sandbox> sandbox_ = sandboxes_.spawn();
  SandboxFiles files_{sandbox_->channel()};
};

// A command of the shell's, with one end of a pipe in its hands.
class Piped {
 public:
  Piped(const std::string& line, const char* mode)
      : pipe_(::popen(("exec " + line).c_str(), mode)) {  // NOLINT: a shell is wanted
    if (pipe_ == nullptr) throw OsError("run " + line);
  }
  ~Piped() {
    if (pipe_ != nullptr) ::pclose(pipe_);
  }
  Piped(const Piped&) = delete;
  Piped& operator=(const Piped&) = delete;

  int fd() const { return ::fileno(pipe_); }
  void finish() {
    if (::pclose(std::exchange(pipe_, nullptr)) != 0) throw Error("a reference failed");
  }

 private:
  std::FILE* pipe_;
};

void read_all(const std::string& line) {
  Piped command(line, "r");
  std::vector<char> piece(piece_bytes);
  while (::read(command.fd(), piece.data(), piece.size()) > 0) {
  }
  command.finish();
}

void write_all(const std::string& line, std::string_view bytes) {
  Piped command(line, "w");
  while (!bytes.empty()) {
    const ssize_t put = ::write(command.fd(), bytes.data(), std::min(bytes.size(), piece_bytes));
    if (put < 0) throw OsError("write to " + line);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  command.finish();
}

// ---- one large file

Task<> read_file(SandboxFiles& files, std::string path) {
  FileReader reader = co_await files.open(std::move(path));
  std::size_t size = 0;
  for (std::string bytes = co_await reader.next(); !bytes.empty(); bytes = co_await reader.next())
    size += bytes.size();
  if (size != file_bytes) throw Error("the file came without its end");
}

Task<> write_file(SandboxFiles& files, std::string path, std::string_view bytes) {
  FileWriter writer = co_await files.create(std::move(path));
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), piece_bytes)))
    co_await writer.append(bytes.substr(0, piece_bytes));
  co_await writer.finish();
}

double peak_megabytes(const std::string& pid) {
  const std::string status = os::read_file("/proc/" + pid + "/status", std::size_t{1} << 16);
  const std::string word = "VmHWM:";
  return std::strtod(status.c_str() + status.find(word) + word.size(), nullptr) / 1024;
}

void measure_file(Report& report) {
  Place place;
  const test::TemporaryDirectory shared("/dev/shm");
  const std::string beside = (shared.path() / "file").string();
  std::string content(file_bytes, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7919 >> 8);
  const std::string init = std::to_string(place.init());
  place.wait(place.files().write("warm", "x"));
  std::ofstream("/proc/self/clear_refs") << 5;  // what other groups needed does not count
  const double init_before = peak_megabytes(init);
  const double own_before = peak_megabytes("self");
  std::vector<double> in;
  std::vector<double> out;
  std::vector<double> cat_in;
  std::vector<double> cat_out;
  for (int round = 0; round < rounds; ++round) {
    cat_in.push_back(seconds([&] { write_all("cat >" + beside, content); }));
    in.push_back(seconds([&] { place.wait(write_file(place.files(), "file", content)); }));
    cat_out.push_back(seconds([&] { read_all("cat " + beside); }));
    out.push_back(seconds([&] { place.wait(read_file(place.files(), "file")); }));
    fs::remove(beside);
    place.wait(place.files().remove("file"));
  }
  const double megabytes = file_bytes / 1e6;
  const auto add = [&](const char* name, std::vector<double>& ours, std::vector<double>& cat) {
    report.add({name, megabytes / percentile(ours, 0.5), "MB/s", "cat through a pipe",
                megabytes / percentile(cat, 0.5), "at least half"});
  };
  add("100 MB out of a sandbox", out, cat_out);
  add("100 MB into a sandbox", in, cat_in);
  report.add(
      {"init's peak memory after them", peak_megabytes(init), "MB", "before", init_before, "flat"});
  report.add({"the host's peak memory after them", peak_megabytes("self"), "MB", "before",
              own_before, "flat"});
}

// ---- many small files

constexpr const char* make_files = R"(
import os
for folder in range(100):
    os.makedirs(f"small/{folder}")
    for number in range(100):
        with open(f"small/{folder}/{number}", "wb") as file: file.write(b"x" * 1000)
)";

void make_files_beside(const fs::path& top) {
  for (int folder = 0; folder < 100; ++folder) {
    fs::create_directories(top / std::to_string(folder));
    for (int number = 0; number < 100; ++number)
      std::ofstream(top / std::to_string(folder) / std::to_string(number))
          << std::string(1000, 'x');
  }
}

Task<> read_tree(SandboxFiles& files) {
  const std::unique_ptr<TreeReader> tree = co_await files.read_tree("small", ample);
  int entries = 0;
  while (const std::optional<wire::FileEntry> entry = co_await tree->next()) {
    ++entries;
    if (entry->kind != wire::FileKind::file) continue;
    while (!(co_await tree->read()).empty()) {
    }
  }
  if (entries != 10'100) throw Error("the tree came without some of its entries");
}

// As `hearth run --save` does.
Task<> save_tree(SandboxFiles& files, const fs::path& into, asio::thread_pool& threads) {
  files::TreeWriter writer(files::open_directory(AT_FDCWD, into.c_str()),
                           files::TreeRules::onto_host);
  const std::unique_ptr<TreeReader> tree = co_await files.read_tree("small", ample);
  co_await copy_tree(*tree, writer, threads);
  writer.finish();
  if (writer.files() != 10'000) throw Error("the tree came without some of its files");
}

void measure_tree(Report& report) {
  Place place;
  const test::TemporaryDirectory shared("/dev/shm");
  const fs::path source = shared.path() / "source";
  const fs::path target = shared.path() / "target";
  place.run(make_files);
  make_files_beside(source);
  asio::thread_pool threads(1);
  std::vector<double> streamed;
  std::vector<double> saved;
  std::vector<double> tar_streamed;
  std::vector<double> tar_saved;
  const std::string tar = "tar -C " + source.string() + " -cf - .";
  for (int round = 0; round < rounds; ++round) {
    tar_streamed.push_back(seconds([&] { read_all(tar); }));
    streamed.push_back(seconds([&] { place.wait(read_tree(place.files())); }));
    fs::create_directory(target);
    tar_saved.push_back(
        seconds([&] { read_all("sh -c '" + tar + " | tar -C " + target.string() + " -xf -'"); }));
    fs::remove_all(target);
    fs::create_directory(target);
    saved.push_back(seconds([&] { place.wait(save_tree(place.files(), target, threads)); }));
    fs::remove_all(target);
  }
  const auto add = [&](const char* name, std::vector<double>& ours, const char* reference,
                       std::vector<double>& theirs) {
    report.add({name, percentile(ours, 0.5) * 1e3, "ms", reference, percentile(theirs, 0.5) * 1e3,
                "at most 2 times"});
  };
  add("10,000 small files out of a sandbox", streamed, "tar into a pipe", tar_streamed);
  add("10,000 small files onto the host", saved, "tar into another tar", tar_saved);
}

}  // namespace

void measure_transfers(Report& report) {
  measure_file(report);
  measure_tree(report);
}

}  // namespace hearth::bench
