#include "core/packed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace assay::core {
namespace {

TEST(Packed, NumbersAndTextsComeBack) {
  const std::int64_t integers[] = {0,
                                   1,
                                   -1,
                                   63,
                                   64,
                                   -64,
                                   -65,
                                   1 << 20,
                                   std::numeric_limits<std::int64_t>::max(),
                                   std::numeric_limits<std::int64_t>::min()};
  Packer packer;
  for (const std::int64_t integer : integers)
    packer.add(integer);
  packer.add(0.1);
  packer.add(std::nan(""));
  packer.add(std::string("a\0b", 3));
  packer.add(true);
  const std::string bytes = packer.take();
  Unpacker unpacker(bytes);
  for (const std::int64_t integer : integers)
    EXPECT_EQ(unpacker.integer(), integer);
  EXPECT_EQ(unpacker.real(), 0.1);
  EXPECT_TRUE(std::isnan(unpacker.real()));
  EXPECT_EQ(unpacker.text(), std::string("a\0b", 3));
  EXPECT_FALSE(unpacker.done());
  EXPECT_EQ(unpacker.integer(), 1);
  EXPECT_TRUE(unpacker.done());
}

TEST(Packed, SmallNumbersTakeOneByte) {
  Packer packer;
  packer.add(-64);
  packer.add(63);
  EXPECT_EQ(packer.take().size(), 2U);
}

TEST(Packed, WhatDoesNotFitFails) {
  Unpacker short_real("1234567");
  short_real.real();
  EXPECT_TRUE(short_real.failed());
  for (const std::string& bytes : {std::string(), std::string("\xFF"), std::string(11, '\xFF')}) {
    Unpacker unpacker(bytes);
    unpacker.integer();
    EXPECT_TRUE(unpacker.failed());
    EXPECT_FALSE(unpacker.done());
  }
  Packer packer;
  packer.add(300);
  const std::string bytes = packer.take();
  Unpacker narrow(bytes);
  EXPECT_EQ(narrow.integer<std::uint8_t>(), 0);
  EXPECT_TRUE(narrow.failed());
  Unpacker limited(bytes);
  EXPECT_EQ(limited.below(300), 0U);
  EXPECT_TRUE(limited.failed());
  Unpacker longer_than_there_is(bytes);
  EXPECT_EQ(longer_than_there_is.text(), "");
  EXPECT_TRUE(longer_than_there_is.failed());
}

}  // namespace
}  // namespace assay::core
