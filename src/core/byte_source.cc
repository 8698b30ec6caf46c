#include "core/byte_source.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

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

  Result<std::size_t> read(char* destination, std::size_t capacity) override {
    ssize_t n = -1;
    do {
      n = ::read(fd_, destination, capacity);
    } while (n < 0 && errno == EINTR);
    if (n < 0) return Error{fmt::format("cannot read '{}': {}", path_, std::strerror(errno))};
    bytes_read_ += static_cast<std::uint64_t>(n);
    return static_cast<std::size_t>(n);
  }

  [[nodiscard]] std::uint64_t file_bytes_read() const override { return bytes_read_; }

 private:
  int fd_;
  std::string path_;
  std::uint64_t bytes_read_ = 0;
};

bool starts_as_gzip(int fd) {
  std::array<unsigned char, 2> magic{};
  return ::pread(fd, magic.data(), magic.size(), 0) == 2 && magic[0] == 0x1F && magic[1] == 0x8B;
}

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
  if (starts_as_gzip(fd)) return inflating_source(std::move(file), path.string());
  return std::unique_ptr<ByteSource>(std::move(file));
}

}  // namespace assay::core
