// A libFuzzer target that treats any bytes as a library that a process has loaded. No input may
// cause a crash, a hang or a leak, and no section may reach beyond the file.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "core/check.h"
#include "sweep/elf_sections.h"
#include "sweep/library_file.h"

namespace {

using namespace assay::sweep;  // NOLINT(google-build-using-namespace)

// A file in memory under a name that can be opened.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size)
      : descriptor_(::memfd_create("library", MFD_CLOEXEC)) {
    ASSAY_CHECK(descriptor_ >= 0, "files in memory can be made");
    ASSAY_CHECK(::write(descriptor_, data, size) == static_cast<ssize_t>(size),
                "a file in memory takes any bytes");
  }

  ~MemoryFile() { ::close(descriptor_); }

  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile memory(data, size);
  const RegularFile file(memory.path());
  for (const ElfSection& section : elf_sections(file)) {
    ASSAY_CHECK(section.offset <= size && section.size <= size - section.offset,
                "a section lies within the file");
  }
  for (const char* name : {"libnccl.so.2", "librccl.so.1.0.60403"}) {
    const LibraryText text = read_library_text(memory.path(), name);
    ASSAY_CHECK(text.build_id.find_first_not_of("0123456789abcdef") == std::string::npos,
                "a build's id is hexadecimal");
  }
  return 0;
}
