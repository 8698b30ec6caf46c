#include "core/gzip_output.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/byte_source.h"

namespace assay::core {
namespace {

std::string inflated(const std::string& compressed) {
  const auto source =
      inflating_source(std::make_unique<MemorySource>(compressed), "compressed in memory");
  std::string text;
  std::string piece(1000, ' ');
  while (const std::size_t size = source->read(piece.data(), piece.size()).value())
    text.append(piece, 0, size);
  return text;
}

std::string compressed_in_pieces(const std::string& text, std::size_t piece_bytes) {
  std::string compressed;
  GzipOutput output([&](std::string_view bytes) -> Status {
    compressed += bytes;
    return {};
  });
  for (std::size_t at = 0; at < text.size(); at += piece_bytes)
    EXPECT_TRUE(output.write(std::string_view(text).substr(at, piece_bytes)).ok());
  EXPECT_TRUE(output.finish().ok());
  return compressed;
}

TEST(GzipOutput, WhatIsInflatedIsWhatWasWritten) {
  std::string text;
  for (int i = 0; i < 200000; ++i)
    text += std::to_string(i * 7919 % 10007) + ",";
  const std::string compressed = compressed_in_pieces(text, 12345);
  EXPECT_LT(compressed.size(), text.size() / 2);
  EXPECT_EQ(inflated(compressed), text);
}

TEST(GzipOutput, NothingIsAnEmptyMember) {
  const std::string compressed = compressed_in_pieces("", 1);
  EXPECT_FALSE(compressed.empty());
  EXPECT_EQ(inflated(compressed), "");
}

TEST(GzipOutput, AFailingSinkEndsIt) {
  GzipOutput output([](std::string_view) -> Status { return Error{"disk full"}; });
  EXPECT_FALSE(output.finish().ok());
}

}  // namespace
}  // namespace assay::core
