#include "sweep/library_file.h"

#include <elf.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "sweep/elf_sections.h"
#include "sweep/library_version.h"

namespace assay::sweep {
namespace {

// libnccl has 0.2 MB of read-only data; its 200 MB of GPU code are in other sections.
constexpr std::uint64_t kMostTextBytes = 64 << 20;
constexpr std::uint64_t kMostNoteBytes = 4096;

std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes)
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

// The section holds one note, which consists of its header, "GNU" and the id.
std::string build_id(const RegularFile& file, const ElfSection& section) {
  Elf64_Nhdr header = {};
  if (section.size > kMostNoteBytes || section.size < sizeof header) return {};
  std::string note(section.size, '\0');
  if (!file.read(section.offset, note.data(), note.size())) return {};
  std::memcpy(&header, note.data(), sizeof header);
  const std::uint64_t start = sizeof header + ((std::uint64_t{header.n_namesz} + 3) & ~3ULL);
  if (header.n_type != NT_GNU_BUILD_ID || start > note.size()) return {};
  return hexadecimal(std::string_view(note).substr(start, header.n_descsz));
}

}  // namespace

std::optional<FileIdentity> file_identity(const std::filesystem::path& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return FileIdentity{
      .device = status.st_dev,
      .inode = status.st_ino,
      .size_bytes = static_cast<std::uint64_t>(status.st_size),
      .modified_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

LibraryText read_library_text(const std::filesystem::path& path, const std::string& name) {
  const RegularFile file(path.string());
  VersionSearch search(name);
  LibraryText text;
  std::uint64_t left = kMostTextBytes;
  for (const ElfSection& section : elf_sections(file)) {
    if (section.name.starts_with(".rodata")) {
      for_each_piece(file, section, VersionSearch::kOverlap, left, [&](std::string_view piece) {
        search.add(piece);
        add_variable_names(piece, text.variables);
      });
      left -= std::min(left, section.size);
    }
    if (section.name == ".note.gnu.build-id") text.build_id = build_id(file, section);
  }
  text.version = search.version();
  if (text.version.empty()) text.version = version_in_name(name);
  return text;
}

const LibraryText& LibraryTexts::of(const FileIdentity& identity,
                                    const std::filesystem::path& path,
                                    const std::string& name) {
  const auto found = known_.find(identity);
  if (found != known_.end()) return found->second;
  return known_.emplace(identity, read_library_text(path, name)).first->second;
}

}  // namespace assay::sweep
