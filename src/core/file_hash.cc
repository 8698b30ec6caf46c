#include "core/file_hash.h"

#include <fmt/core.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

namespace assay::core {
namespace {

constexpr std::uint64_t kFnvOffset = 14695981039346656037U;
constexpr std::uint64_t kFnvPrime = 1099511628211U;

}  // namespace

Result<std::uint64_t> file_hash(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::uint64_t hash = kFnvOffset;
  std::array<char, 1 << 16> buffer{};
  while (stream.read(buffer.data(), buffer.size()) || stream.gcount() > 0) {
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(stream.gcount()));
    for (const char byte : bytes)
      hash = (hash ^ static_cast<unsigned char>(byte)) * kFnvPrime;
  }
  if (stream.eof()) return hash;
  return Error{fmt::format("cannot read '{}': {}", path.string(), std::strerror(errno))};
}

}  // namespace assay::core
