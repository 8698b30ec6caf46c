#include "core/mapped_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/files.h"

namespace assay::core {
namespace {

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

}  // namespace

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

}  // namespace assay::core
