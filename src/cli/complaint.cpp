#include "cli/complaint.h"

#include "backend/errors.h"
#include "base/printable.h"
#include "cli/exit_code.h"
#include "settings/diagnostic.h"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <iostream>
#include <string>

namespace hearth::cli {
namespace {

int complain(const std::string& message, int code) {
  std::cerr << "hearth: " << printable(message) << '\n';
  return code;
}

}  // namespace

int complain_about_current_exception(BuildLog log) try {
  throw;
} catch (const backend::BackendUnavailable& error) {
  return complain(error.what(), exit_code::cannot_sandbox);
} catch (const backend::SpawnError& error) {
  // With a traceback it is a tool or a preloaded module, else the machine.
  std::cerr << printable(error.traceback);
  return complain(error.what(),
                  error.traceback.empty() ? exit_code::cannot_sandbox : exit_code::invalid_input);
} catch (const backend::ReadyTimeout& error) {
  return complain(error.what(), exit_code::cannot_sandbox);
} catch (const backend::BuildError& error) {
  if (log == BuildLog::is_new) std::cerr << printable(error.log);
  return complain(error.what(), exit_code::invalid_input);
} catch (const settings::SettingsError& error) {
  std::cerr << settings::render(error, false);
  return exit_code::invalid_input;
} catch (const boost::system::system_error& error) {
  if (error.code() != boost::asio::error::operation_aborted) throw;
  return complain("interrupted", exit_code::interrupted);
} catch (const Error& error) {
  return complain(error.what(), exit_code::invalid_input);
}

void show_build_line(const std::string& blueprint, const std::string& line) {
  std::cerr << blueprint << ": " << printable_line(line) << '\n';
}

}  // namespace hearth::cli
