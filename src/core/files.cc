#include "core/files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "core/interrupt.h"
#include "core/text.h"

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

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// Room for the zero byte, even where the file fills its last page.
std::size_t reserved_bytes(std::size_t size) {
  return (size / page_bytes() + 1) * page_bytes();
}

void* map(int file, std::size_t size) {
  void* room = mmap(nullptr, reserved_bytes(size), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  void* data = mmap(room, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0);
  if (data != MAP_FAILED) return data;
  munmap(room, reserved_bytes(size));
  return nullptr;
}

using Clock = std::chrono::steady_clock;

constexpr mode_t kLockFileMode = 0666;
constexpr std::chrono::milliseconds kPause{50};
constexpr std::chrono::milliseconds kSilentWait{1000};
std::atomic<FileLock::Notice> g_notice = nullptr;

}  // namespace

bool is_folder(const fs::path& path) {
  std::error_code code;
  return fs::is_directory(path, code);
}

bool is_regular_file(const fs::path& path) {
  std::error_code code;
  return fs::is_regular_file(path, code);
}

Status check_file_name(std::string_view name) {
  constexpr std::size_t kLongest = 240;  // leaves room for an ending
  const bool harmful =
      name.find_first_of("/\n\t") != std::string_view::npos || printable(name) != name;
  if (!name.empty() && name.front() != '.' && name.size() <= kLongest && !harmful) return {};
  return Error{fmt::format("'{}' cannot be the name of a file",
                           json_escaped(valid_utf8(name.substr(0, kLongest))))};
}

Status check_is_readable(int descriptor, const fs::path& path) {
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) return system_error(path, "read");
  const auto refused = [&](const char* kind) {
    return Error{fmt::format("cannot read '{}': it is a {}", path.string(), kind)};
  };
  if (S_ISDIR(status.st_mode)) return refused("folder");
  const bool is_device = S_ISBLK(status.st_mode) || S_ISCHR(status.st_mode);
  if (is_device && ::isatty(descriptor) == 0) return refused("device");
  return {};
}

Result<std::string> read_file(const fs::path& path) {
  File file(std::fopen(path.c_str(), "rb"));
  if (!file) return system_error(path, "read");
  ASSAY_TRY(check_is_readable(::fileno(file.get()), path));
  std::string content;
  std::vector<char> buffer(1 << 16);
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    content.append(buffer.data(), n);
  }
  if (std::ferror(file.get()) != 0) return system_error(path, "read");
  return content;
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

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status = {};
  const bool known = file >= 0 && fstat(file, &status) == 0;
  MappedFile mapped;
  int error = known ? 0 : errno;
  if (known && S_ISREG(status.st_mode) && status.st_size > 0) {
    mapped.size_ = static_cast<std::size_t>(status.st_size);
    mapped.data_ = map(file, mapped.size_);
    if (mapped.data_ == nullptr) error = errno;
  } else if (known && S_ISDIR(status.st_mode)) {
    error = EISDIR;
  }
  if (file >= 0) ::close(file);
  if (error != 0) {
    return Error{fmt::format("cannot read '{}': {}", path.string(), std::strerror(error))};
  }
  if (known && !S_ISREG(status.st_mode)) mapped.content_ = ASSAY_TRY(read_file(path));
  if (mapped.bytes().empty()) return Error{fmt::format("'{}' is empty", path.string())};
  return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(other.size_),
      forgotten_(other.forgotten_),
      content_(std::move(other.content_)) {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, reserved_bytes(size_));
}

std::string_view MappedFile::bytes() const {
  return data_ != nullptr ? std::string_view(static_cast<const char*>(data_), size_) : content_;
}

void MappedFile::forget(std::size_t end) {
  const std::size_t whole_pages = end / page_bytes() * page_bytes();
  if (data_ == nullptr || whole_pages <= forgotten_) return;
  madvise(static_cast<char*>(data_) + forgotten_, whole_pages - forgotten_, MADV_DONTNEED);
  forgotten_ = whole_pages;
}

// A link could lead to a file that is not ours to change, and a FIFO could wait for a reader.
Result<FileLock> FileLock::acquire(const std::filesystem::path& path,
                                   std::chrono::milliseconds patience) {
  const int descriptor =
      ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, kLockFileMode);
  if (descriptor < 0 && errno != ELOOP) {
    return Error{fmt::format("cannot write '{}': {}", path.string(), std::strerror(errno))};
  }
  FileLock lock(descriptor);
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    return Error{fmt::format("cannot lock '{}': it is no regular file", path.string())};
  }
  const std::string held = fmt::format("'{}' is locked by another process", path.string());
  const int error = ASSAY_TRY(lock.wait(patience, held));
  if (error == 0) return lock;
  if (error != EWOULDBLOCK) {
    return Error{fmt::format("cannot lock '{}': {}", path.string(), std::strerror(error))};
  }
  return Error{held};
}

Result<FileLock> FileLock::acquire_folder(const std::filesystem::path& path,
                                          std::chrono::milliseconds patience) {
  ASSAY_TRY(make_directories(path));
  FileLock lock(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::string held = fmt::format("another process is writing into '{}'", path.string());
  if (lock.descriptor_ < 0 || ASSAY_TRY(lock.wait(patience, held)) != EWOULDBLOCK) return lock;
  return Error{held};
}

void FileLock::set_notice(Notice notice) {
  g_notice = notice;
}

Result<int> FileLock::wait(std::chrono::milliseconds patience, const std::string& held) const {
  const Clock::time_point start = Clock::now();
  const Clock::time_point give_up_at = start + patience;
  Notice notice = g_notice;
  for (;;) {
    const int error = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    if (error != EWOULDBLOCK || Clock::now() >= give_up_at) return error;
    ASSAY_TRY(check_interrupt());
    if (notice != nullptr && Clock::now() >= start + kSilentWait)
      std::exchange(notice, nullptr)(held);
    std::this_thread::sleep_for(kPause);
  }
}

// Nothing depends on the text.
void FileLock::note(std::string_view text) const {
  const bool written =
      ::ftruncate(descriptor_, 0) == 0 && ::pwrite(descriptor_, text.data(), text.size(), 0) >= 0;
  static_cast<void>(written);
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace assay::core
