#include "allreduce/bench/benchmark_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "allreduce/benchmark_csv.h"
#include "core/files.h"
#include "core/output_file.h"
#include "core/text.h"

namespace assay::allreduce {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr mode_t kBenchmarkFileMode = 0666;
constexpr const char* kAbsent = "(nothing)";

core::Error system_error(const char* doing, const fs::path& path, int error) {
  return core::Error{fmt::format("cannot {} '{}': {}", doing, path.string(), std::strerror(error))};
}

// `runs` holds the earlier runs of the same file, the oldest first.
json provenance_json(const Provenance& provenance, json runs) {
  runs.push_back(provenance.run);
  return {{"settings", provenance.settings}, {"runs", runs}};
}

core::Result<json> read_provenance(const fs::path& path) {
  constexpr bool kThrow = false;
  const json read = json::parse(ASSAY_TRY(core::read_file(path)), nullptr, kThrow);
  const bool whole = read.is_object() && read.contains("settings") &&
                     read["settings"].is_object() && read.contains("runs") &&
                     read["runs"].is_array();
  if (whole) return read;
  return core::Error{fmt::format(
      "'{}' does not say what was measured with: measure anew with --overwrite", path.string())};
}

std::string text_of(const json& settings, const std::string& name) {
  const auto found = settings.find(name);
  if (found == settings.end()) return kAbsent;
  return found->is_string() ? found->get<std::string>() : found->dump();
}

core::Status check_same(const fs::path& path, const json& before, const Provenance& provenance) {
  const json now = provenance.settings;
  std::set<std::string> names;
  for (const auto& [name, value] : before.items())
    names.insert(name);
  for (const auto& [name, value] : now.items())
    names.insert(name);
  for (const std::string& name : names) {
    const std::string was = text_of(before, name);
    const std::string is = text_of(now, name);
    if (was == is) continue;
    return core::Error{
        fmt::format("'{}' was measured with {} '{}', and now it is '{}': go on as it was begun, "
                    "use another --output, or measure anew with --overwrite",
                    path.string(), name, was, is)};
  }
  return {};
}

core::Status write_provenance(const fs::path& path, const json& provenance) {
  constexpr int kIndent = 2;
  return core::write_file(
      path, provenance.dump(kIndent, ' ', false, json::error_handler_t::replace) + "\n");
}

// Cuts off a partial last line, which a crash or a power failure can leave, and returns the number
// of bytes removed.
core::Result<std::int64_t> cut_torn_line(const fs::path& path) {
  const std::string content = ASSAY_TRY(core::read_file(path));
  const std::size_t end = content.rfind('\n');
  const std::size_t whole = end == std::string::npos ? 0 : end + 1;
  if (whole == content.size()) return std::int64_t{0};
  if (::truncate(path.c_str(), static_cast<off_t>(whole)) != 0) {
    return system_error("shorten", path, errno);
  }
  return static_cast<std::int64_t>(content.size() - whole);
}

core::Status write_all(int descriptor, const fs::path& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("write", path, errno);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  if (::fdatasync(descriptor) != 0) return system_error("write", path, errno);
  return {};
}

// Appends all of the text or, when that fails, nothing.
core::Status append_text(int descriptor, const fs::path& path, std::string_view text) {
  struct stat before = {};
  if (::fstat(descriptor, &before) != 0) return system_error("write", path, errno);
  auto written = write_all(descriptor, path, text);
  // If even this fails, the next run cuts off the torn line.
  if (!written.ok() && ::ftruncate(descriptor, before.st_size) != 0) return written;
  return written;
}

// A reason with several lines or with invalid UTF-8 would make the file hard to read and to repair.
std::string one_line(std::string_view text) {
  std::string line = core::valid_utf8(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c >= 0 && c < ' '; }, ' ');
  return line;
}

struct Earlier {
  std::int64_t cut_bytes = 0;
  std::vector<Measurement> measurements = {};
};

// Reads a file that is resumed; its settings must match.
core::Result<Earlier> read_earlier(const fs::path& path, const Provenance& provenance) {
  const json before = ASSAY_TRY(read_provenance(provenance_path(path)));
  const auto same = check_same(path, before["settings"], provenance);
  if (!same.ok()) return same.error();
  Earlier earlier;
  earlier.cut_bytes = ASSAY_TRY(cut_torn_line(path));
  std::error_code code;
  // A file that held only a torn header is treated like a new one.
  if (fs::file_size(path, code) == 0) return earlier;
  earlier.measurements = ASSAY_TRY(read_benchmark_csv(path));
  const auto written =
      write_provenance(provenance_path(path), provenance_json(provenance, before["runs"]));
  if (!written.ok()) return written.error();
  return earlier;
}

// Rows are appended and read again, which only a regular file can bear.
core::Status check_can_grow(const fs::path& path) {
  std::error_code code;
  const auto type = fs::status(path, code).type();
  if (type == fs::file_type::not_found || type == fs::file_type::regular) return {};
  return core::Error{fmt::format("cannot write '{}': it is no regular file", path.string())};
}

}  // namespace

core::Status check_free(const fs::path& path) {
  std::error_code code;
  if (!fs::exists(fs::symlink_status(path, code))) return {};
  return core::Error{
      fmt::format("'{}' is there already: go on with it by --resume, replace it by --overwrite, or "
                  "use another --output",
                  path.string())};
}

core::Status write_provenance_file(const fs::path& benchmark, const Provenance& provenance) {
  return write_provenance(provenance_path(benchmark), provenance_json(provenance, json::array()));
}

core::Status resume_provenance_file(const fs::path& benchmark, const Provenance& provenance) {
  const json before = ASSAY_TRY(read_provenance(provenance_path(benchmark)));
  auto same = check_same(benchmark, before["settings"], provenance);
  if (!same.ok()) return same;
  return write_provenance(provenance_path(benchmark), provenance_json(provenance, before["runs"]));
}

fs::path provenance_path(const fs::path& benchmark) {
  fs::path path = benchmark;
  return path.replace_extension(".json");
}

core::Result<BenchmarkFile> BenchmarkFile::open(const fs::path& path,
                                                Existing existing,
                                                const Provenance& provenance) {
  if (existing == Existing::kRefuse) ASSAY_TRY(check_free(path));
  ASSAY_TRY(check_can_grow(path));
  Earlier earlier;
  if (existing == Existing::kResume && core::is_regular_file(path)) {
    earlier = ASSAY_TRY(read_earlier(path, provenance));
  }
  std::error_code code;
  const bool anew =
      existing != Existing::kResume || !fs::exists(path, code) || fs::file_size(path, code) == 0;
  if (anew) {
    // The provenance is written first, so that no row is ever without it.
    const json written = provenance_json(provenance, json::array());
    ASSAY_TRY(write_provenance(provenance_path(path), written));
    ASSAY_TRY(core::write_file(path, std::string(benchmark_csv_header()) + "\n"));
  }
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC, kBenchmarkFileMode);
  if (descriptor < 0) return system_error("write", path, errno);
  BenchmarkFile file(path, descriptor);
  file.cut_bytes_ = earlier.cut_bytes;
  file.remember(earlier.measurements);
  return file;
}

BenchmarkFile::BenchmarkFile(fs::path path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

BenchmarkFile::BenchmarkFile(BenchmarkFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      cut_bytes_(other.cut_bytes_),
      measurements_(std::move(other.measurements_)),
      present_(std::move(other.present_)) {}

BenchmarkFile::~BenchmarkFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

core::Status BenchmarkFile::append(const std::vector<Measurement>& measurements) {
  std::string lines;
  for (Measurement measurement : measurements) {
    measurement.reason = one_line(measurement.reason);
    lines += benchmark_csv_line(measurement) + '\n';
  }
  ASSAY_TRY(append_text(descriptor_, path_, lines));
  remember(measurements);
  return {};
}

void BenchmarkFile::remember(const std::vector<Measurement>& measurements) {
  for (const Measurement& measurement : measurements) {
    measurements_.push_back(measurement);
    present_.emplace(measurement.cell, measurement.strategy);
  }
}

bool BenchmarkFile::has(const Cell& cell, Strategy strategy) const {
  return present_.count({cell, strategy}) > 0;
}

}  // namespace assay::allreduce
