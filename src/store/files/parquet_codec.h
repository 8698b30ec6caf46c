// Packing and unpacking of Parquet pages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay::store::parquet {

// `size_bytes` is what the page says it unpacks to; the caller has bounded it. The result lies in
// `packed` or `buffer`. Errors: an unknown codec, damaged bytes, another size.
core::Result<std::string_view> unpack(std::int64_t codec,
                                      std::string_view packed,
                                      std::size_t size_bytes,
                                      std::string& buffer);

std::string pack_zstd(std::string_view bytes);

}  // namespace assay::store::parquet
