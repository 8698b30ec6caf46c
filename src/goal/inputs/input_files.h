// Reads the files of a recording: all of them at once, and text line by line.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/parallel.h"
#include "core/result.h"

namespace assay::core {
class ByteSource;
}

namespace assay::goal {

// Returns the results of read(file) for all files, in their order. At most `threads` files (0: one
// per processor) are read at the same time. Fails with the first error in the order of the files.
template <class Value>
core::Result<std::vector<Value>> read_all(
    const std::vector<std::filesystem::path>& files,
    unsigned threads,
    core::Result<Value> (*read)(const std::filesystem::path& file)) {
  std::vector<std::optional<core::Result<Value>>> results(files.size());
  core::parallel_for(files.size(), threads,
                     [&](std::size_t i) { results[i].emplace(read(files[i])); });
  std::vector<Value> values;
  for (auto& result : results)
    values.push_back(ASSAY_TRY(std::move(*result)));
  return values;
}

// Calls visit(line) for each line of a text, without the line's end, in bounded memory. The last
// line may lack its end. A line longer than 64 MiB is an error, which names the file.
core::Status for_each_line(core::ByteSource& source,
                           const std::string& name,
                           const std::function<void(std::string_view)>& visit);

// The same for a file, which may be gzip.
core::Status for_each_line(const std::filesystem::path& path,
                           const std::function<void(std::string_view)>& visit);

// Returns the first bytes of a file; none when it cannot be read.
std::string first_bytes(const std::filesystem::path& path, std::size_t count);

}  // namespace assay::goal
