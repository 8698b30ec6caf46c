#include "collect/kernels/attention_layout.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace assay::collect {
namespace {

TEST(AttentionLayout, HeadsLieBesideEachOtherInARow) {
  const AttentionSpec spec{.batch = 2,
                           .query_length = 3,
                           .kv_length = 5,
                           .heads = 4,
                           .kv_heads = 2,
                           .head_dim = 64,
                           .value_dim = 32};
  const AttentionLayout layout = layout_of(spec);
  EXPECT_EQ(layout.query, (AttentionStrides{3 * 4 * 64, 64, 4 * 64, 1}));
  EXPECT_EQ(layout.output, (AttentionStrides{3 * 4 * 32, 32, 4 * 32, 1}));
  EXPECT_EQ(layout.keys, (AttentionStrides{5 * 2 * 64, 64, 2 * 64, 1}));
  EXPECT_EQ(layout.values, (AttentionStrides{5 * 2 * 32, 32, 2 * 32, 1}));
  EXPECT_EQ(layout.query_elements, 2 * 3 * 4 * 64);
  EXPECT_EQ(layout.output_elements, 2 * 3 * 4 * 32);
  EXPECT_EQ(layout.key_elements, 2 * 5 * 2 * 64);
  EXPECT_EQ(layout.value_elements, 2 * 5 * 2 * 32);
}

TEST(AttentionLayout, APageHoldsRowsOfOneHeadAfterTheOther) {
  const AttentionSpec spec{.batch = 3, .kv_length = 65, .heads = 8, .kv_heads = 2, .page_size = 64};
  const AttentionLayout layout = layout_of(spec);
  EXPECT_EQ(layout.pages_per_sequence, 2);
  EXPECT_EQ(layout.pages, 6);
  EXPECT_EQ(layout.keys, (AttentionStrides{2 * 64 * 128, 64 * 128, 128, 1}));
  // The last page is also complete.
  EXPECT_EQ(layout.key_elements, 6 * 64 * 2 * 128);
}

TEST(AttentionLayout, ValuesInKeysTakeNoMemory) {
  const AttentionSpec spec{
      .kv_length = 100, .heads = 128, .head_dim = 576, .value_dim = 512, .values_in_keys = true};
  const AttentionLayout layout = layout_of(spec);
  EXPECT_EQ(layout.value_elements, 0);
  EXPECT_EQ(layout.values, layout.keys);
  EXPECT_EQ(layout.keys[2], 576);
}

TEST(AttentionLayout, PageTablesHaveEachPageOnceInNoOrder) {
  const AttentionSpec spec{.batch = 4, .kv_length = 1000, .page_size = 16};
  std::vector<std::int32_t> pages = page_table(spec);
  ASSERT_EQ(pages.size(), 4U * 63U);
  EXPECT_FALSE(std::is_sorted(pages.begin(), pages.end()));
  EXPECT_EQ(pages, page_table(spec));  // the same in each call
  std::sort(pages.begin(), pages.end());
  for (std::size_t i = 0; i < pages.size(); ++i)
    EXPECT_EQ(pages[i], static_cast<std::int32_t>(i));
}

TEST(AttentionLayout, WithoutPagesThereIsNoTable) {
  EXPECT_TRUE(page_table({.kv_length = 1000}).empty());
}

// Compares all small sizes with the definition.
TEST(AttentionLayout, AQuerySeesTheKeysUpToItsOwnWithinTheWindow) {
  for (std::int64_t keys = 1; keys <= 6; ++keys) {
    for (std::int64_t queries = 1; queries <= keys; ++queries) {
      for (std::int64_t window = 0; window <= 7; ++window) {
        const AttentionSpec spec{.query_length = queries, .kv_length = keys, .window = window};
        for (std::int64_t query = 0; query < queries; ++query) {
          const VisibleKeys visible = visible_keys(spec, query);
          for (std::int64_t key = 0; key < keys; ++key) {
            const std::int64_t back = query + keys - queries - key;
            const bool sees = back >= 0 && (window == 0 || back < window);
            EXPECT_EQ(key >= visible.begin && key < visible.end, sees);
          }
        }
      }
    }
  }
}

TEST(AttentionLayout, MasksAreNeededWhereAQueryMissesKeys) {
  EXPECT_FALSE(needs_mask({.query_length = 1, .kv_length = 1024}));
  EXPECT_FALSE(needs_mask({.query_length = 8, .kv_length = 1024, .causal = false}));
  EXPECT_TRUE(needs_mask({.query_length = 2, .kv_length = 1024}));
  EXPECT_FALSE(needs_mask({.query_length = 1, .kv_length = 128, .window = 128}));
  EXPECT_TRUE(needs_mask({.query_length = 1, .kv_length = 129, .window = 128}));
}

TEST(AttentionLayout, NewTokensFillACacheOfAnotherType) {
  AttentionSpec spec{.batch = 2, .query_length = 10, .kv_length = 10, .heads = 4, .kv_heads = 2};
  EXPECT_FALSE(fills_cache(spec));
  spec.kv_type = DataType::kFp8;
  EXPECT_TRUE(fills_cache(spec));
  EXPECT_EQ(cached_elements(spec), 2 * 10 * 2 * (128 + 128));
  AttentionSpec latent = spec;
  latent.latent_dim = 576;
  EXPECT_EQ(cached_elements(latent), 2 * 10 * 576);
  AttentionSpec after_others = spec;
  after_others.kv_length = 11;
  EXPECT_FALSE(fills_cache(after_others));
  AttentionSpec paged = spec;
  paged.page_size = 64;
  EXPECT_FALSE(fills_cache(paged));
}

TEST(AttentionLayout, CausalAttentionOfNewTokensMayBeOverWholeTiles) {
  const AttentionSpec spec{.batch = 2, .query_length = 130, .kv_length = 130};
  const auto whole = in_whole_tiles(spec);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->query_length, 256);
  EXPECT_EQ(whole->kv_length, 256);
  EXPECT_EQ(whole->batch, 2);
  for (std::int64_t query = 0; query < spec.query_length; ++query)
    EXPECT_EQ(visible_keys(*whole, query).end, visible_keys(spec, query).end);
  EXPECT_FALSE(in_whole_tiles(*whole));
  EXPECT_FALSE(in_whole_tiles({.query_length = 130, .kv_length = 131}))
      << "the last key is the last query's";
  EXPECT_FALSE(in_whole_tiles({.query_length = 130, .kv_length = 130, .causal = false}));
  EXPECT_FALSE(in_whole_tiles({.query_length = 130, .kv_length = 130, .page_size = 64}));
  EXPECT_FALSE(in_whole_tiles({.query_length = 16, .kv_length = 16}));
  EXPECT_FALSE(in_whole_tiles({.query_length = 130, .kv_length = 130, .type = DataType::kFp8}));
}

TEST(AttentionLayout, ImpossibleShapesAreNamed) {
  EXPECT_FALSE(impossible({.heads = 32, .kv_heads = 8}));
  EXPECT_EQ(impossible({.heads = 12, .kv_heads = 8}),
            "the heads cannot share the heads of keys evenly");
  EXPECT_EQ(impossible({.query_length = 5, .kv_length = 4}),
            "there are more new tokens than tokens");
  EXPECT_EQ(impossible({.head_dim = 64, .value_dim = 128, .values_in_keys = true}),
            "the keys are too narrow for the values in them");
  EXPECT_TRUE(impossible({.batch = 0}));
  EXPECT_TRUE(impossible({.page_size = -1}));
}

TEST(AttentionLayout, ADescriptionNamesWhatMatters) {
  const AttentionSpec spec{.batch = 4,
                           .kv_length = 1000,
                           .heads = 32,
                           .kv_heads = 8,
                           .window = 128,
                           .page_size = 64,
                           .kv_type = DataType::kFp8};
  EXPECT_EQ(description_of(spec),
            "32 heads of 128, 8 of keys, 4 x 1 queries, 1000 keys, a window of 128, pages of 64, "
            "bfloat16, cache fp8");
}

}  // namespace
}  // namespace assay::collect
