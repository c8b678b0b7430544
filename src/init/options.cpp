#include "init/options.h"

#include "base/error.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace hearth::init {

const char* const usage_text =
    "usage: hearth-init [--host-fd N] [--wipe DIR]... [--confined LIST] [--passwd FILE,DIR]\n"
    "                   [--packages DIR] -- HARNESS [ARGUMENT]...\n"
    "       hearth-init [--host-fd N] [--wipe DIR]... [--packages DIR] --adopt "
    "CONTROL,OUT,ERR,EMIT,RUN,VERSIONS\n"
    "\n"
    "PID 1 of a sandbox: speaks Hearth's protocol on standard input and output, starts HARNESS,\n"
    "and lets it run scripts. Works only as PID 1 of a pid namespace of its own.\n"
    "\n"
    "  --host-fd N   use file descriptor N instead of standard input and output\n"
    "  --wipe DIR    directory that a reset empties (default: /workspace, /tmp and /dev/shm)\n"
    "  --confined L  start only if these hold: caps,no-new-privs,seccomp,user,read-only\n"
    "  --passwd F,D  copy the list of users F to D/passwd, with this process's uid for sandbox;\n"
    "                a reset empties D and writes it again\n"
    "  --packages D  the directory of Python packages, for the environment of commands\n"
    "  --adopt ...   use a worker that exists already, and ask the host for others: the\n"
    "                descriptors of the socket to the host and of the worker's pipes; VERSIONS\n"
    "                are those of Python and of the harness, as in 3.11.2/1\n";

namespace {

int number(std::string_view option, std::string_view text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    throw Error(std::string(option) + " takes numbers, not \"" + std::string(text) + '"');
  return value;
}

Options::Adopted adopted(std::string_view list) {
  std::array<int, 5> numbers{};
  for (int& one : numbers) {
    const std::size_t comma = list.find(',');
    if (comma == std::string_view::npos) throw Error("--adopt takes five numbers and versions");
    one = number("--adopt", list.substr(0, comma));
    list.remove_prefix(comma + 1);
  }
  const std::size_t slash = std::min(list.find('/'), list.size());
  return {numbers[0],
          {numbers[1], numbers[2], numbers[3], numbers[4]},
          std::string(list.substr(0, slash)),
          std::string(list.substr(std::min(slash + 1, list.size())))};
}

Options::Passwd passwd(std::string_view value) {
  const std::size_t comma = value.find(',');
  if (comma == std::string_view::npos) throw Error("--passwd takes a file and a directory");
  return {std::string(value.substr(0, comma)), std::string(value.substr(comma + 1))};
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  std::vector<std::string> wiped;
  int at = 1;
  for (; at < argc && std::string_view(argv[at]) != "--"; at += 2) {
    const std::string_view option = argv[at];
    if (at + 1 >= argc) throw Error(std::string(option) + " needs a value");
    if (option == "--host-fd") {
      options.host_read_fd = options.host_write_fd = number(option, argv[at + 1]);
    } else if (option == "--adopt") {
      options.adopted = adopted(argv[at + 1]);
    } else if (option == "--confined") {
      options.confined = argv[at + 1];
    } else if (option == "--passwd") {
      options.passwd = passwd(argv[at + 1]);
    } else if (option == "--packages") {
      options.packages = argv[at + 1];
    } else if (option == "--wipe") {
      wiped.emplace_back(argv[at + 1]);
    } else {
      throw Error("unknown option " + std::string(option));
    }
  }
  if (!wiped.empty()) options.wiped_directories = std::move(wiped);
  if (at < argc) options.harness_command.assign(argv + at + 1, argv + argc);
  if (options.harness_command.empty() != options.adopted.has_value())
    throw Error("name either a harness after --, or one to --adopt");
  return options;
}

}  // namespace hearth::init
