#include "sweep/elf_sections.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace assay::sweep {
namespace {

constexpr std::uint64_t kMostNamesBytes = 1 << 20;
constexpr std::size_t kMostNameBytes = 64;
constexpr std::size_t kPieceBytes = 1 << 18;

bool within(std::uint64_t offset, std::uint64_t size, const RegularFile& file) {
  return offset <= file.size() && size <= file.size() - offset;
}

bool is_supported(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
         header.e_shentsize == sizeof(Elf64_Shdr) && header.e_shstrndx < header.e_shnum;
}

std::vector<Elf64_Shdr> read_headers(const RegularFile& file, const Elf64_Ehdr& header) {
  std::vector<Elf64_Shdr> headers(header.e_shnum);
  if (!file.read(header.e_shoff, headers.data(), headers.size() * sizeof(Elf64_Shdr))) return {};
  return headers;
}

std::string read_names(const RegularFile& file, const Elf64_Shdr& section) {
  std::string names;
  if (section.sh_size > kMostNamesBytes || !within(section.sh_offset, section.sh_size, file)) {
    return names;
  }
  names.resize(section.sh_size);
  if (!file.read(section.sh_offset, names.data(), names.size())) names.clear();
  return names;
}

}  // namespace

// Without O_NONBLOCK, opening a pipe would wait for a writer.
RegularFile::RegularFile(const std::string& path)
    : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat status = {};
  if (descriptor_ < 0) return;
  if (::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::uint64_t>(status.st_size);
  }
}

RegularFile::~RegularFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool RegularFile::read(std::uint64_t offset, void* to, std::size_t bytes) const {
  if (!within(offset, bytes, *this)) return false;
  auto* position = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t n = ::pread(descriptor_, position, bytes, static_cast<off_t>(offset));
    if (n <= 0) return false;
    position += n;
    offset += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

std::vector<ElfSection> elf_sections(const RegularFile& file) {
  Elf64_Ehdr header = {};
  if (!file.read(0, &header, sizeof header) || !is_supported(header)) return {};
  const std::vector<Elf64_Shdr> headers = read_headers(file, header);
  if (headers.empty()) return {};
  const std::string names = read_names(file, headers[header.e_shstrndx]);
  std::vector<ElfSection> sections;
  for (const Elf64_Shdr& section : headers) {
    if (section.sh_name >= names.size() || section.sh_type == SHT_NOBITS ||
        !within(section.sh_offset, section.sh_size, file)) {
      continue;
    }
    const char* name = names.c_str() + section.sh_name;
    sections.push_back(
        {std::string(name, ::strnlen(name, kMostNameBytes)), section.sh_offset, section.sh_size});
  }
  return sections;
}

void for_each_piece(const RegularFile& file,
                    const ElfSection& section,
                    std::size_t overlap,
                    std::uint64_t limit,
                    const std::function<void(std::string_view)>& body) {
  const std::uint64_t size = std::min(section.size, limit);
  std::string piece;
  for (std::uint64_t at = 0; at < size;) {
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, size - at)));
    if (!file.read(section.offset + at, piece.data(), piece.size())) return;
    body(piece);
    at += piece.size();
    if (at < size) at -= overlap;
  }
}

}  // namespace assay::sweep
