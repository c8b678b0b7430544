#include "init/options.h"

#include "base/error.h"

#include <charconv>
#include <string_view>

namespace hearth::init {

const char* const usage_text =
    "usage: hearth-init [--host-fd N] [--wipe DIR]... -- HARNESS [ARGUMENT]...\n"
    "\n"
    "PID 1 of a sandbox: speaks Hearth's protocol on standard input and output, starts HARNESS\n"
    "and has it run scripts. Works only as PID 1 of a pid namespace of its own.\n"
    "\n"
    "  --host-fd N   speak on descriptor N instead\n"
    "  --wipe DIR    emptied by a reset (default: /workspace, /tmp and /dev/shm)\n";

namespace {

int descriptor(std::string_view text) {
  int fd = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), fd);
  if (error != std::errc() || end != text.data() + text.size() || fd < 0)
    throw Error("--host-fd takes the number of a descriptor, not \"" + std::string(text) + '"');
  return fd;
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  std::vector<std::string> wiped;
  int at = 1;
  for (; at < argc && std::string_view(argv[at]) != "--"; at += 2) {
    const std::string_view option = argv[at];
    if (at + 1 >= argc) throw Error(std::string(option) + " lacks its value");
    if (option == "--host-fd") {
      options.host_read_fd = options.host_write_fd = descriptor(argv[at + 1]);
    } else if (option == "--wipe") {
      wiped.emplace_back(argv[at + 1]);
    } else {
      throw Error("unknown option " + std::string(option));
    }
  }
  if (!wiped.empty()) options.wiped_directories = std::move(wiped);
  if (at < argc) options.harness_command.assign(argv + at + 1, argv + argc);
  if (options.harness_command.empty()) throw Error("no harness is named after --");
  return options;
}

}  // namespace hearth::init
