#include "builder/build_image.h"

#include "async/cleanup.h"
#include "base/log.h"
#include "blueprint/problem.h"
#include "builder/build_stages.h"
#include "docker/engine_client.h"
#include "docker/json_path.h"
#include "wire/line_reader.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/json.hpp>

#include <exception>
#include <optional>

namespace hearth::builder {
namespace {

namespace json = boost::json;
using docker::text_at;

constexpr std::size_t most_line_bytes = std::size_t{1} << 20;
constexpr int most_attempts = 3;

// The engine colours standard error red.
std::string without_colours(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const std::size_t escape = text.find('\x1b');
    plain += text.substr(0, escape);
    if (escape == std::string_view::npos) break;
    const std::size_t end = text.find('m', escape);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return plain;
}

// What engines and registries say of an image that cannot be pulled.
bool is_missing_base(std::string_view error) {
  for (const std::string_view words :
       {"pull access denied", "manifest unknown", "manifest for ", "repository does not exist",
        "no such host", "dial tcp", "i/o timeout", "server misbehaving"})
    if (error.find(words) != std::string_view::npos) return true;
  return false;
}

class ImageBuild {
 public:
  ImageBuild(const BuildPlan& plan, const ImageOptions& options,
             const docker::EngineAddress& engine, const BuildLog::OnLine& on_line)
      : plan_(plan), options_(options), client_(engine), log_(on_line), lines_(most_line_bytes) {}

  Task<> run() {
    image_ = plan_image(plan_, options_);
    if (!plan_.is_anew && co_await is_there()) co_return;
    if (const std::string problem = problem_of(options_.pip, plan_.packages); !problem.empty())
      fail(problem);
    co_await then_clean_up(build_and_check(), remove_stage());
  }

  BuiltImage result() const { return {image_.tag, id_}; }

 private:
  Task<bool> is_there() {
    const docker::EngineAnswer found =
        co_await client_.call({.path = "/images/" + image_.tag + "/json", .accepted = {404}});
    const json::object* volumes = docker::at(found.body, {"Config", "Volumes"}).if_object();
    // The engine would mount a directory of its disk there, without limits and without clean-up.
    if (volumes != nullptr && !volumes->empty())
      fail("its base image declares the volume " + std::string(volumes->begin()->key()) +
           ", which would be writable; use one without");
    id_ = docker::image_id_at(found.body, {"Id"});
    co_return !id_.empty() &&
        text_at(found.body, {"Config", "Labels", image_recipe_label}) == image_.recipe;
  }

  Task<> build_and_check() {
    co_await build();
    if (!co_await is_there()) fail("the engine has not got it although it reported no error");
  }

  // If the engine fails although every command succeeded, it has most often lost a layer that it
  // was about to use.
  Task<> build() {
    co_await attempt_build(plan_.is_anew ? Layers::all_new : Layers::as_found);
    for (int attempt = 2; error_ && !is_final_ && attempt <= most_attempts; ++attempt) {
      log_.add_line("the engine failed; retrying");
      co_await attempt_build(Layers::all_new);
    }
    if (error_) fail(*error_);
  }

  // Layers of earlier builds may be gone although the engine remembers them: images are pruned
  // meanwhile, or it still cleans up after a cancelled build.
  enum class Layers { as_found, all_new };

  Task<> attempt_build(Layers layers) {
    error_.reset();
    lines_ = wire::LineReader(most_line_bytes);
    std::string path = "/build?rm=1&forcerm=1&t=" + docker::url_encode(image_.tag);
    if (layers == Layers::all_new) path += "&nocache=1";
    const std::string network = image_.needs_network ? options_.network : "none";
    if (!network.empty()) path += "&networkmode=" + docker::url_encode(network);
    json::object proxies;
    for (const auto& [name, value] : proxy_variables()) proxies[name] = value;
    if (!proxies.empty()) path += "&buildargs=" + docker::url_encode(json::serialize(proxies));
    docker::EngineClient::Upload context{"application/x-tar",
                                         image_context(plan_, options_, image_)};
    try {
      co_await client_.stream(
          {.method = "POST", .path = std::move(path), .limit = options_.build_timeout},
          std::move(context), [this](std::string_view bytes) { take(bytes); });
    } catch (const docker::EngineTimeout&) {
      log_.finish_line();
      fail("it took more than " + std::to_string(options_.build_timeout.count() / 1000) +
           " seconds (build_timeout_sec in [builder] of hearth.toml)");
    } catch (const docker::EngineError& error) {
      fail(error.what());
    }
    log_.finish_line();
  }

  void take(std::string_view bytes) {
    lines_.append(bytes);
    while (const auto line = lines_.next()) {
      boost::system::error_code failed;
      const json::value said = json::parse(line->text, failed);
      if (failed) continue;
      if (const std::string text = text_at(said, {"stream"}); !text.empty())
        log_.add(without_colours(text));
      if (const std::string status = text_at(said, {"status"}); !status.empty()) note(status, said);
      if (const std::string error = text_at(said, {"error"}); !error.empty()) {
        log_.finish_line();
        const std::string reason = log_.reason();
        error_ = reason.empty() ? error : error + ": " + reason + hint_to(reason, options_.pip);
        is_final_ = docker::number_at(said, {"errorDetail", "code"}) != 0;
        if (is_final_) {
          if (std::string why = unreachable_index(log_.text()); !why.empty()) error_ = why;
        } else if (is_missing_base(error)) {
          is_final_ = true;
          error_ = missing_base(error);
        }
        log_.add_line(error);
      }
    }
  }

  std::string missing_base(const std::string& error) const {
    const std::string base = base_image(plan_, options_);
    const std::string compilers = image_for_packages(plan_, options_);
    std::string images = "its base image " + base + " ([docker] base_image)";
    if (!plan_.packages.empty() && compilers != base)
      images += " or " + compilers + " ([docker] build_image)";
    return images + " is neither on the engine nor can it be pulled: " + error;
  }

  // Progress of a base image that is pulled. Lines that differ only in the progress bar are
  // dropped.
  void note(const std::string& status, const json::value& said) {
    const std::string id = text_at(said, {"id"});
    const std::string line = id.empty() ? status : id + ": " + status;
    if (line != last_note_) log_.add_line(line);
    last_note_ = line;
  }

  Task<> remove_stage() try {
    if (!plan_.packages.empty()) co_await remove_stages(client_, image_.stage);
  } catch (const Error& error) {
    log::error("stage of an image build could not be removed",
               {{"blueprint", plan_.blueprint}, {"image", image_.tag}, {"error", error.what()}});
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw BuildError(
        "build the image of blueprint " + blueprint::in_quotes(plan_.blueprint) + ": " + why,
        log_.text());
  }

  const BuildPlan& plan_;
  const ImageOptions& options_;
  docker::EngineClient client_;
  BuildLog log_;
  wire::LineReader lines_;
  ImagePlan image_;
  std::string id_;
  std::optional<std::string> error_;
  bool is_final_ = false;  // of a command or a base image: another attempt would end the same way
  std::string last_note_;
};

}  // namespace

BuiltImage build_image(const BuildPlan& plan, const ImageOptions& options,
                       const docker::EngineAddress& engine, const std::stop_token& stop,
                       const BuildLog::OnLine& on_line) {
  asio::io_context loop(1);
  ImageBuild build(plan, options, engine, on_line);
  asio::cancellation_signal give_up;
  const std::stop_callback on_stop(stop, [&] {
    asio::post(loop, [&give_up] { give_up.emit(asio::cancellation_type::terminal); });
  });
  std::exception_ptr failure;
  asio::co_spawn(loop, build.run(),
                 asio::bind_cancellation_slot(
                     give_up.slot(), [&failure](std::exception_ptr ended) { failure = ended; }));
  loop.run();
  if (failure && stop.stop_requested()) throw BuildStopped();
  if (failure) std::rethrow_exception(failure);
  return build.result();
}

}  // namespace hearth::builder
