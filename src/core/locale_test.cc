#include "core/locale.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>

#include "core/parallel.h"

namespace assay::core {
namespace {

TEST(Locale, IsRestored) {
  const locale_t before = ::uselocale(nullptr);
  {
    const InLocale plain(plain_locale());
    EXPECT_EQ(::uselocale(nullptr), plain_locale());
    {
      const InLocale process(LC_GLOBAL_LOCALE);
      EXPECT_EQ(::uselocale(nullptr), LC_GLOBAL_LOCALE);
    }
    EXPECT_EQ(::uselocale(nullptr), plain_locale());
  }
  EXPECT_EQ(::uselocale(nullptr), before);
}

TEST(Locale, IsThatOfTheThreadsOfALoop) {
  const InLocale plain(plain_locale());
  std::atomic<int> ours = 0;
  parallel_for(64, 4, [&](std::size_t) { ours += ::uselocale(nullptr) == plain_locale() ? 1 : 0; });
  EXPECT_EQ(ours, 64);
}

}  // namespace
}  // namespace assay::core
