// The sections of an ELF file. The file may be damaged, truncated or malicious, so every value is
// checked against the file's size before it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::sweep {

struct ElfSection {
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  // in bytes; the section lies within the file
};

// An open file that is read by position. The destructor closes it.
class RegularFile {
 public:
  // Never waits. The file is not open if `path` is not a regular file or may not be read.
  explicit RegularFile(const std::string& path);
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;
  ~RegularFile();

  [[nodiscard]] std::uint64_t size() const { return size_; }

  // Reads all `bytes`, or returns false.
  [[nodiscard]] bool read(std::uint64_t offset, void* to, std::size_t bytes) const;

 private:
  int descriptor_;
  std::uint64_t size_ = 0;
};

// Returns the sections of a 64-bit little-endian file, and none for any other file.
std::vector<ElfSection> elf_sections(const RegularFile& file);

// Calls `body` with pieces of the section. Each piece repeats the last `overlap` bytes of the one
// before it, so that a shorter text is complete in one of them. Reads at most `limit` bytes.
void for_each_piece(const RegularFile& file,
                    const ElfSection& section,
                    std::size_t overlap,
                    std::uint64_t limit,
                    const std::function<void(std::string_view)>& body);

}  // namespace assay::sweep
