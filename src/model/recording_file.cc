#include "model/recording_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "core/files.h"

namespace assay::model::recording {
namespace {

constexpr std::size_t kUnit = 8;

bool all_zero(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == '\0'; });
}

}  // namespace

core::Result<File> File::read(const std::filesystem::path& path) {
  return parse(ASSAY_TRY(core::read_file(path)), path.string());
}

core::Result<File> File::parse(std::string bytes, const std::string& name) {
  File file;
  file.bytes_ = std::move(bytes);
  file.header_.magic = {};
  const std::size_t head_bytes = std::min(file.bytes_.size(), sizeof(Header));
  if (head_bytes < sizeof(Header) || all_zero({file.bytes_.data(), kMagic.size()})) {
    if (all_zero({file.bytes_.data(), std::min(head_bytes, kMagic.size())})) return file;
    return core::Error{name + ": no recording of assay's recorder"};
  }
  Header header;
  std::memcpy(&header, file.bytes_.data(), sizeof header);
  if (header.magic != kMagic) return core::Error{name + ": no recording of assay's recorder"};
  if (header.version != kVersion || header.block_bytes != kBlockBytes) {
    return core::Error{fmt::format("{}: a recording of version {}; this program reads version {}",
                                   name, header.version, kVersion)};
  }
  file.header_ = header;
  for (std::size_t block = kBlockBytes; block < file.bytes_.size(); block += kBlockBytes)
    file.find_records(block);
  return file;
}

bool File::cut() const {
  if (bytes_.size() < header_.saved_blocks * kBlockBytes) return true;
  return bytes_.size() > kBlockBytes && bytes_.size() % kBlockBytes != 0;
}

void File::find_records(std::size_t block) {
  const std::size_t end = std::min(block + kBlockBytes, bytes_.size());
  std::size_t at = block;
  while (at + sizeof(Head) <= end && bytes_[at] != '\0') {
    Head head;
    std::memcpy(&head, bytes_.data() + at, sizeof head);
    const std::size_t size = head.size_bytes;
    if (size < sizeof(Head) || size % kUnit != 0 || at + size > end) {
      const bool cut_here = end == bytes_.size() && end < block + kBlockBytes;
      if (!cut_here) ++damaged_blocks_;
      return;
    }
    records_.emplace_back(static_cast<std::uint32_t>(at / kUnit),
                          std::span(reinterpret_cast<const std::byte*>(bytes_.data() + at), size));
    at += size;
  }
}

bool is_recording(const std::filesystem::path& path) {
  if (path.extension() != kFileSuffix) return false;
  std::ifstream file(path, std::ios::binary);
  std::array<char, kMagic.size()> first{};
  file.read(first.data(), first.size());
  return first == kMagic || first == std::array<char, kMagic.size()>{};
}

}  // namespace assay::model::recording
