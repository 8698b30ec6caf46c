#include "core/files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "core/interrupt.h"
#include "core/temporary_file.h"

namespace assay::core {
namespace {

namespace fs = std::filesystem;

Error system_error(const fs::path& path, const char* doing) {
  return Error{fmt::format("cannot {} '{}': {}", doing, path.string(), std::strerror(errno))};
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

using File = std::unique_ptr<std::FILE, CloseFile>;

// Errors name `path`, which the user knows, not the temporary file.
Status write_plain(const fs::path& temporary, const fs::path& path, std::string_view content) {
  File file(std::fopen(temporary.c_str(), "wb"));
  if (!file) return system_error(path, "write");
  if (std::fwrite(content.data(), 1, content.size(), file.get()) != content.size() ||
      std::fflush(file.get()) != 0) {
    return system_error(path, "write");
  }
  return {};
}

Status sync_file(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return system_error(path, "open");
  const bool synced = ::fsync(fd) == 0;
  ::close(fd);
  if (!synced) return system_error(path, "sync");
  return {};
}

}  // namespace

bool is_folder(const fs::path& path) {
  std::error_code code;
  return fs::is_directory(path, code);
}

bool is_regular_file(const fs::path& path) {
  std::error_code code;
  return fs::is_regular_file(path, code);
}

Result<std::string> read_file(const fs::path& path) {
  File file(std::fopen(path.c_str(), "rb"));
  if (!file) return system_error(path, "read");
  std::string content;
  std::vector<char> buffer(1 << 16);
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    content.append(buffer.data(), n);
  }
  if (std::ferror(file.get()) != 0) return system_error(path, "read");
  return content;
}

Status write_file_with(const fs::path& path,
                       const std::function<Status(const fs::path&)>& write,
                       Durability durability) {
  ASSAY_TRY(check_interrupt());
  const TemporaryFile temporary = TemporaryFile::beside(path);
  ASSAY_TRY(write(temporary.path()));
  if (durability == Durability::kSynced) ASSAY_TRY(sync_file(temporary.path()));
  ASSAY_TRY(check_interrupt());
  if (::rename(temporary.path().c_str(), path.c_str()) != 0) {
    return system_error(path, "rename to");
  }
  return {};
}

Status write_file(const fs::path& path, std::string_view content, Durability durability) {
  return write_file_with(
      path, [&](const fs::path& temporary) { return write_plain(temporary, path, content); },
      durability);
}

Status make_directories(const fs::path& path) {
  std::error_code code;
  fs::create_directories(path, code);
  if (code) {
    return Error{fmt::format("cannot make the folder '{}': {}", path.string(), code.message())};
  }
  return {};
}

Result<std::vector<fs::path>> list_directory(const fs::path& path) {
  std::error_code code;
  std::vector<fs::path> names;
  for (fs::directory_iterator it(path, code), end; !code && it != end; it.increment(code)) {
    names.push_back(it->path().filename());
  }
  if (code) {
    return Error{fmt::format("cannot list the folder '{}': {}", path.string(), code.message())};
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace assay::core
