// Reads deflated zip files below 4 GB, such as workbooks (APPNOTE.TXT 4.3.7, 4.3.12, 4.3.16).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::report {

struct ZipMember {
  std::string name;
  std::string_view packed;  // view into the bytes of the zip
  std::uint32_t size_bytes;
  std::uint32_t checksum;  // CRC-32 of the content
};

// Returns the members of a zip file, whose bytes must outlive them.
core::Result<std::vector<ZipMember>> zip_members(std::string_view zip);

// Passes the content to `take` in pieces. An error means that the member is damaged.
core::Status inflate_member(const ZipMember& member,
                            const std::function<void(std::string_view)>& take);

}  // namespace assay::report
