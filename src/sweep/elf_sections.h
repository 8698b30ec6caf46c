// Sections of an ELF file that may be damaged, truncated or made to deceive: nothing in it is
// believed before it is checked against the file's size.
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
  std::uint64_t size = 0;  // lies within the file
};

// An open file that is read by position; closed with the object.
class RegularFile {
 public:
  // Not open if `path` is no regular file or may not be read; never waits.
  explicit RegularFile(const std::string& path);
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;
  ~RegularFile();

  [[nodiscard]] std::uint64_t size() const { return size_; }

  // Whole or not at all.
  [[nodiscard]] bool read(std::uint64_t offset, void* to, std::size_t bytes) const;

 private:
  int descriptor_;
  std::uint64_t size_ = 0;
};

// The sections of a 64-bit little-endian file; none for any other file.
std::vector<ElfSection> elf_sections(const RegularFile& file);

// Calls `body` with pieces of the section; each repeats the last `overlap` bytes of the one before,
// so that a shorter text is whole in one of them. Reads at most `limit` bytes.
void for_each_piece(const RegularFile& file,
                    const ElfSection& section,
                    std::size_t overlap,
                    std::uint64_t limit,
                    const std::function<void(std::string_view)>& body);

}  // namespace assay::sweep
