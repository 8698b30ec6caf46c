#include "goal/inputs/input_files.h"

#include <string>

#include "core/byte_source.h"

namespace assay::goal {

core::Status for_each_line(core::ByteSource& source,
                           const std::string& name,
                           const std::function<void(std::string_view)>& visit) {
  constexpr std::size_t kBlockBytes = std::size_t{1} << 18U;
  constexpr std::size_t kMostLineBytes = std::size_t{64} << 20U;
  std::string block;
  std::size_t kept = 0;  // bytes of a line whose end is in the next block
  while (true) {
    block.resize(kept + kBlockBytes);
    const std::size_t got = ASSAY_TRY(source.read(block.data() + kept, kBlockBytes));
    block.resize(kept + got);
    std::string_view rest = block;
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      visit(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
    if (got == 0) {
      if (!rest.empty()) visit(rest);
      return {};
    }
    if (rest.size() > kMostLineBytes) {
      return core::Error{name + ": a line of more than 64 MiB: not a text file"};
    }
    kept = rest.size();
    block.erase(0, block.size() - kept);
  }
}

core::Status for_each_line(const std::filesystem::path& path,
                           const std::function<void(std::string_view)>& visit) {
  const auto source = ASSAY_TRY(core::open_bytes(path));
  return for_each_line(*source, path.string(), visit);
}

std::string first_bytes(const std::filesystem::path& path, std::size_t count) {
  const auto source = core::open_bytes(path);
  if (!source.ok()) return {};
  std::string bytes(count, '\0');
  std::size_t size = 0;
  while (size < count) {
    const auto got = source.value()->read(bytes.data() + size, count - size);
    if (!got.ok() || got.value() == 0) break;
    size += got.value();
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace assay::goal
