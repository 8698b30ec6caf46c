#include "store/answers/table_cache.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "core/files.h"
#include "core/output_file.h"
#include "core/parallel.h"
#include "core/text.h"
#include "store/answers/packed_tables.h"
#include "store/database/store_key.h"
#include "store/files/perf_file.h"

namespace assay::store {
namespace {

namespace fs = std::filesystem;

constexpr std::array<char, 16> kEntryMagic = {'a', 's', 's', 'a', 'y', ' ',  'c',  'a',
                                              'c', 'h', 'e', ' ', '1', '\n', '\n', '\n'};
constexpr const char* kEntryEnding = ".tables";
constexpr std::int64_t kNanoseconds = 1'000'000'000;

// The first bytes of an entry; packed tables follow.
struct EntryHead {
  std::array<char, 16> magic = kEntryMagic;
  std::uint64_t program = 0;
  std::uint64_t learner = 0;
  FileStamp table;
  std::uint64_t table_hash = 0;
  std::uint64_t body_size = 0;
  std::uint64_t body_hash = 0;
};

static_assert(sizeof(EntryHead) % 8 == 0, "packed tables begin where 8 divides");

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * kNanoseconds + time.tv_nsec;
}

std::optional<FileStamp> stamp_of(const fs::path& file) {
  struct stat status = {};
  if (::stat(file.c_str(), &status) != 0) return std::nullopt;
  return FileStamp{.size = static_cast<std::uint64_t>(status.st_size),
                   .changed_ns = nanoseconds(status.st_mtim),
                   .inode = status.st_ino};
}

// Another build of the program may pack tables, or learn from them, in another way.
std::uint64_t this_program() {
  static const std::uint64_t program = [] {
    const FileStamp stamp = stamp_of("/proc/self/exe").value_or(FileStamp());
    return stable_hash(fmt::format("{} {}", stamp.size, stamp.changed_ns));
  }();
  return program;
}

std::string_view bytes_of(const EntryHead& head) {
  return {reinterpret_cast<const char*>(&head), sizeof(head)};
}

// The origin of packed tables: the file, the number of rows that were not read, then a line for
// each note.
std::string origin_lines(const fs::path& file,
                         std::int64_t unread,
                         const std::vector<std::string>& notes) {
  std::string lines = fmt::format("{}\n{}", core::printable_line(file.string()), unread);
  for (const std::string& note : notes)
    lines += '\n' + core::printable_line(note);
  return lines;
}

std::vector<std::string> lines_of(const std::string& origin) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = origin.find('\n', begin);
    lines.push_back(origin.substr(begin, end == std::string::npos ? end : end - begin));
  }
  return lines;
}

// The table of packed bytes, which `owner` keeps.
core::Result<TableOfFile> table_in(std::string_view body,
                                   const fs::path& file,
                                   std::shared_ptr<const void> owner) {
  const PackedTables packed = ASSAY_TRY(PackedTables::open(body));
  const std::vector<std::string> lines = lines_of(packed.origin());
  if (lines.size() < 2 || lines.front() != core::printable_line(file.string()))
    return core::Error{"these are packed tables of another file"};
  const std::vector<std::string> names = packed.names();
  if (names.size() != 1) return core::Error{"these are several packed tables"};
  TableOfFile table{.rows = ASSAY_TRY(packed.table(names.front())),
                    .notes = {lines.begin() + 2, lines.end()}};
  std::from_chars(lines[1].data(), lines[1].data() + lines[1].size(), table.unread);
  table.rows.data = std::move(owner);
  return table;
}

}  // namespace

// A table that is asked for, and what its entry must say.
struct TableCache::Asked {
  fs::path file;
  fs::path entry;  // empty: entries are not kept
  const SpreadLearner* learner = nullptr;
  std::uint64_t learner_hash = 0;
  FileStamp stamp;

  [[nodiscard]] EntryHead head(std::uint64_t table_hash, std::string_view body) const {
    return {.program = this_program(),
            .learner = learner_hash,
            .table = stamp,
            .table_hash = table_hash,
            .body_size = body.size(),
            .body_hash = stable_hash(body)};
  }
};

TableCache::TableCache(fs::path folder, std::uint64_t most_bytes)
    : folder_(std::move(folder)), most_bytes_(most_bytes) {}

fs::path TableCache::users_folder(const std::function<const char*(const char* name)>& variable) {
  const auto value = [&](const char* name) {
    const char* text = variable(name);
    return std::string(text == nullptr ? "" : text);
  };
  if (value("ASSAY_CACHE") == "off") return {};
  // The XDG Base Directory Specification wants relative paths passed over.
  if (const fs::path caches = value("XDG_CACHE_HOME"); caches.is_absolute())
    return caches / "assay" / "tables";
  const fs::path home = value("HOME");
  return home.is_absolute() ? home / ".cache" / "assay" / "tables" : fs::path();
}

TableCache::Asked TableCache::asked(const fs::path& file, const SpreadLearner& learner) const {
  std::error_code unknown;
  const fs::path whole = fs::absolute(file, unknown).lexically_normal();
  Asked asked{.file = whole.empty() ? file : whole,
              .entry = {},
              .learner = &learner,
              .learner_hash = stable_hash((learner.learn ? "" : "none ") + learner.key),
              .stamp = stamp_of(file).value_or(FileStamp())};
  if (!folder_.empty()) {
    asked.entry = folder_ / fmt::format("{}-{:016x}{}", file.stem().string(),
                                        stable_hash(asked.file.string()), kEntryEnding);
  }
  return asked;
}

// The entry's table, or nothing if there is no entry to use.
std::optional<TableOfFile> TableCache::kept(const Asked& asked) const {
  if (asked.entry.empty() || !core::is_regular_file(asked.entry)) return std::nullopt;
  auto opened = core::MappedFile::open(asked.entry);
  if (!opened.ok()) return std::nullopt;
  const auto mapped = std::make_shared<core::MappedFile>(std::move(opened).value());
  const std::string_view bytes = mapped->bytes();
  EntryHead head;
  if (bytes.size() < sizeof(head)) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof(head));
  const std::string_view body = bytes.substr(sizeof(head));
  const bool is_ours = head.magic == kEntryMagic && head.program == this_program() &&
                       head.learner == asked.learner_hash && head.body_size == body.size();
  if (!is_ours) return std::nullopt;
  const FileStamp own = stamp_of(asked.entry).value_or(FileStamp());
  if (own.changed_ns != head.table.changed_ns && stable_hash(body) != head.body_hash)
    return std::nullopt;
  if (head.table != asked.stamp) {
    const auto table = core::MappedFile::open(asked.file);
    if (!table.ok() || stable_hash(table.value().bytes()) != head.table_hash) return std::nullopt;
    keep(asked, bytes_of(asked.head(head.table_hash, body)), body);
  }
  auto table = table_in(body, asked.file, mapped);
  if (!table.ok()) return std::nullopt;
  table.value().was_kept = true;
  return std::move(table).value();
}

core::Result<TableOfFile> TableCache::made(const Asked& asked) const {
  const std::string bytes = ASSAY_TRY(core::read_file(asked.file));
  model::Warnings warnings;
  const auto file = parse_perf_file(bytes, asked.file, warnings);
  if (!file.ok()) return file.error().context(asked.file.string());
  auto rows = make_work_rows(file.value().table, file.value().rows);
  if (!rows.ok()) return rows.error().context(asked.file.string());
  const auto& learn = asked.learner->learn;
  const Spreads spreads = learn ? learn(rows.value()) : Spreads();
  const auto& learn_power = asked.learner->learn_power;
  TablePower power =
      learn_power ? learn_power(file.value().table, file.value().rows) : TablePower();
  std::vector<std::string> notes;
  for (const model::Warning& warning : warnings.all())
    notes.push_back(warning.sentence());
  const auto body = std::make_shared<std::string>(pack_tables(
      origin_lines(asked.file, file.value().unread, notes),
      {{.rows = std::move(rows).value(), .spreads = spreads, .power = std::move(power)}}));
  if (!asked.entry.empty()) keep(asked, bytes_of(asked.head(stable_hash(bytes), *body)), *body);
  return table_in(*body, asked.file, body);
}

void TableCache::keep(const Asked& asked, std::string_view head, std::string_view body) const {
  const auto write = [&](const core::WritePiece& piece) -> core::Status {
    ASSAY_TRY(piece(head));
    return piece(body);
  };
  core::Status kept = core::make_directories(folder_);
  if (kept.ok()) kept = core::write_file_in_pieces(asked.entry, write);
  if (!kept.ok()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (note_.empty()) note_ = "tables are read anew each time: " + kept.error().message;
    return;
  }
  const timespec changed = {.tv_sec = asked.stamp.changed_ns / kNanoseconds,
                            .tv_nsec = asked.stamp.changed_ns % kNanoseconds};
  const std::array<timespec, 2> times = {timespec{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, changed};
  // Where the time cannot be set, the sum of the entry's bytes is looked at each time.
  static_cast<void>(::utimensat(AT_FDCWD, asked.entry.c_str(), times.data(), 0));
  remove_oldest(asked.entry);
}

void TableCache::remove_oldest(const fs::path& newest) const {
  struct Entry {
    std::int64_t written_ns = 0;
    std::uint64_t size = 0;
    fs::path path;
  };

  std::vector<Entry> entries;
  std::uint64_t bytes = 0;
  const auto names = core::list_directory(folder_);
  if (!names.ok()) return;
  for (const fs::path& name : names.value()) {
    struct stat status = {};
    const fs::path path = folder_ / name;
    if (name.extension() != kEntryEnding || ::lstat(path.c_str(), &status) != 0 ||
        !S_ISREG(status.st_mode)) {
      continue;
    }
    bytes += static_cast<std::uint64_t>(status.st_size);
    if (path != newest) {
      entries.push_back({.written_ns = nanoseconds(status.st_ctim),
                         .size = static_cast<std::uint64_t>(status.st_size),
                         .path = path});
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.written_ns < b.written_ns; });
  for (const Entry& entry : entries) {
    if (bytes <= most_bytes_) return;
    std::error_code unknown;
    if (fs::remove(entry.path, unknown)) bytes -= entry.size;
  }
}

core::Result<TableOfFile> TableCache::table(const fs::path& file,
                                            const SpreadLearner& learner) const {
  return std::move(tables(std::span(&file, 1), learner, 1).front());
}

std::vector<core::Result<TableOfFile>> TableCache::tables(std::span<const fs::path> files,
                                                          const SpreadLearner& learner,
                                                          unsigned threads) const {
  std::vector<core::Result<TableOfFile>> results;
  std::vector<Asked> all;
  std::vector<std::size_t> missing;
  for (const fs::path& file : files) {
    all.push_back(asked(file, learner));
    if (auto entry = kept(all.back())) {
      results.emplace_back(*std::move(entry));
    } else {
      missing.push_back(results.size());
      results.emplace_back(core::Error{"not read yet"});
    }
  }
  // The largest begin, so that none is left to one thread at the end.
  std::sort(missing.begin(), missing.end(),
            [&](std::size_t a, std::size_t b) { return all[a].stamp.size > all[b].stamp.size; });
  core::parallel_for(missing.size(), threads,
                     [&](std::size_t i) { results[missing[i]] = made(all[missing[i]]); });
  for (auto& result : results) {
    if (result.ok() && !learner.learn) result.value().rows.spreads = nullptr;
  }
  return results;
}

std::string TableCache::note() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return note_;
}

}  // namespace assay::store
