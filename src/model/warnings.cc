#include "model/warnings.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"

namespace assay::model {
namespace {

// Makes one short line of valid text, since examples come from damaged files and are shown on
// terminals.
std::string shown(std::string_view example) {
  constexpr std::size_t kMostBytes = 240;
  const bool cut = example.size() > kMostBytes;
  std::string line = core::valid_utf8(example.substr(0, kMostBytes));
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7F') c = ' ';
  }
  return cut ? line + "…" : line;
}

}  // namespace

std::string Warning::whole_effect() const {
  return gpu_ms == 0 ? effect : fmt::format("{}; {:.3f} ms of GPU work in all", effect, gpu_ms);
}

std::string Warning::sentence() const {
  const bool once = count == 1;
  const std::string place =
      example.empty() ? "" : fmt::format(" ({}{})", once ? "" : "first: ", example);
  return fmt::format("{}{}: {}{}", reason, once ? "" : fmt::format(", {} times", count),
                     whole_effect(), place);
}

void Warnings::add(std::string_view reason,
                   std::string_view effect,
                   std::string_view example,
                   std::int64_t count,
                   double gpu_ms) {
  const auto found = std::find_if(warnings_.begin(), warnings_.end(),
                                  [&](const Warning& w) { return w.reason == reason; });
  if (found != warnings_.end()) {
    found->count += count;
    found->gpu_ms += gpu_ms;
  } else {
    warnings_.push_back({std::string(reason), std::string(effect), shown(example), count, gpu_ms});
  }
}

void Warnings::merge(const Warnings& other) {
  for (const Warning& w : other.warnings_)
    add(w.reason, w.effect, w.example, w.count, w.gpu_ms);
}

void Warnings::merge(const Warnings& other, std::string_view file) {
  for (const Warning& w : other.warnings_)
    add(w.reason, w.effect, fmt::format("{}: {}", file, w.example), w.count, w.gpu_ms);
}

}  // namespace assay::model
