#include "core/byte_source.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/inflate.h"

namespace assay::core {
namespace {

class FileSource : public ByteSource {
 public:
  FileSource(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  ~FileSource() override { ::close(fd_); }

  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  // Looks at the first two bytes; read() gives them all the same, from a pipe too.
  Result<bool> starts_as_gzip() {
    while (start_size_ < start_.size()) {
      const std::size_t n =
          ASSAY_TRY(read_on(start_.data() + start_size_, start_.size() - start_size_));
      if (n == 0) return false;
      start_size_ += n;
    }
    return start_[0] == '\x1F' && start_[1] == '\x8B';
  }

  Result<std::size_t> read(char* destination, std::size_t capacity) override {
    if (start_given_ == start_size_) return read_on(destination, capacity);
    const std::size_t n = std::min(capacity, start_size_ - start_given_);
    std::memcpy(destination, start_.data() + start_given_, n);
    start_given_ += n;
    return n;
  }

  [[nodiscard]] std::uint64_t file_bytes_read() const override { return bytes_read_; }

 private:
  Result<std::size_t> read_on(char* destination, std::size_t capacity) {
    ssize_t n = -1;
    do {
      n = ::read(fd_, destination, capacity);
    } while (n < 0 && errno == EINTR);
    if (n < 0) return Error{fmt::format("cannot read '{}': {}", path_, std::strerror(errno))};
    bytes_read_ += static_cast<std::uint64_t>(n);
    return static_cast<std::size_t>(n);
  }

  int fd_;
  std::string path_;
  std::array<char, 2> start_{};
  std::size_t start_size_ = 0;
  std::size_t start_given_ = 0;
  std::uint64_t bytes_read_ = 0;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> open_bytes(const std::filesystem::path& path) {
  const auto failed = [&](const char* reason) {
    return Error{fmt::format("cannot read '{}': {}", path.string(), reason)};
  };
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed(std::strerror(errno));
  auto file = std::make_unique<FileSource>(fd, path.string());

  struct stat status {};

  if (::fstat(fd, &status) != 0) return failed(std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return failed("it is a folder");
  if (ASSAY_TRY(file->starts_as_gzip())) return inflating_source(std::move(file), path.string());
  return std::unique_ptr<ByteSource>(std::move(file));
}

}  // namespace assay::core
