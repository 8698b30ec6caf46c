#include <initializer_list>

#include "collect/cuda/self_test_shapes.h"

namespace assay::collect {
namespace {

constexpr std::int64_t kPage = 64;

AttentionSpec grouped() {
  return {.heads = 32, .kv_heads = 8};
}

AttentionSpec new_tokens(AttentionSpec spec, std::int64_t batch, std::int64_t length) {
  spec.batch = batch;
  spec.query_length = length;
  spec.kv_length = length;
  return spec;
}

AttentionSpec decoding(AttentionSpec spec, std::int64_t batch, std::int64_t keys) {
  spec.batch = batch;
  spec.kv_length = keys;
  return spec;
}

AttentionSpec paged(AttentionSpec spec, std::int64_t page_size = kPage) {
  spec.page_size = page_size;
  return spec;
}

AttentionSpec windowed(AttentionSpec spec, std::int64_t window) {
  spec.window = window;
  return spec;
}

AttentionSpec with_heads(std::int64_t heads, std::int64_t kv_heads, std::int64_t head_dim) {
  return {.heads = heads, .kv_heads = kv_heads, .head_dim = head_dim, .value_dim = head_dim};
}

AttentionSpec of_type(AttentionSpec spec, DataType type) {
  spec.type = type;
  spec.kv_type = type;
  return spec;
}

AttentionSpec mla_context(std::int64_t heads) {
  return {.heads = heads, .kv_heads = heads, .head_dim = 192, .value_dim = 128};
}

AttentionSpec mla_decode(std::int64_t heads) {
  return {.heads = heads, .head_dim = 576, .value_dim = 512, .values_in_keys = true};
}

void add_contexts(std::vector<AttentionSpec>& to) {
  for (const std::int64_t length : {1, 16, 100, 1024, 4096})
    to.push_back(new_tokens(grouped(), 1, length));
  to.push_back(new_tokens(with_heads(16, 16, 128), 2, 1024));
  to.push_back(new_tokens(with_heads(16, 1, 128), 2, 1000));
  to.push_back(new_tokens(with_heads(12, 4, 128), 3, 333));
  for (const std::int64_t head_dim : {64, 96, 192, 256})
    to.push_back(new_tokens(with_heads(16, 4, head_dim), 1, 512));
  to.push_back(new_tokens(windowed(grouped(), 128), 1, 2048));
  to.push_back(new_tokens(windowed(grouped(), 17), 1, 100));
  to.push_back(new_tokens(of_type(grouped(), DataType::kFloat16), 1, 1024));
  AttentionSpec whole = new_tokens(grouped(), 1, 1024);
  whole.causal = false;
  to.push_back(whole);
  AttentionSpec chunk = new_tokens(grouped(), 1, 128);
  chunk.kv_length = 1000;
  to.push_back(chunk);
  to.push_back(windowed(chunk, 200));
  to.push_back(paged(chunk));
  to.push_back(paged(windowed(chunk, 200)));
}

void add_decodes(std::vector<AttentionSpec>& to) {
  for (const std::int64_t keys : {1, 17, 1024, 32768}) {
    to.push_back(decoding(grouped(), 4, keys));
    to.push_back(paged(decoding(grouped(), 4, keys)));
  }
  to.push_back(decoding(with_heads(16, 16, 128), 64, 1024));
  to.push_back(paged(decoding(with_heads(16, 1, 128), 8, 4000), 16));
  to.push_back(paged(decoding(with_heads(16, 4, 64), 8, 1000)));
  to.push_back(paged(decoding(with_heads(16, 4, 256), 8, 1000)));
  to.push_back(decoding(windowed(grouped(), 128), 4, 1024));
  to.push_back(paged(decoding(windowed(grouped(), 128), 4, 1024)));
}

void add_latent(std::vector<AttentionSpec>& to) {
  to.push_back(new_tokens(mla_context(16), 1, 1024));
  to.push_back(new_tokens(mla_context(128), 1, 300));
  for (const std::int64_t keys : {1, 100, 4096})
    to.push_back(decoding(mla_decode(128), 4, keys));
  to.push_back(decoding(mla_decode(16), 32, 1000));
  to.push_back(paged(decoding(mla_decode(128), 4, 1000)));
}

void add_fp8(std::vector<AttentionSpec>& to) {
  const AttentionSpec spec = of_type(grouped(), DataType::kFp8);
  to.push_back(new_tokens(spec, 1, 100));
  to.push_back(new_tokens(spec, 1, 1024));
  to.push_back(new_tokens(of_type(with_heads(16, 16, 64), DataType::kFp8), 2, 512));
  to.push_back(new_tokens(of_type(with_heads(16, 4, 256), DataType::kFp8), 1, 512));
  to.push_back(new_tokens(of_type(mla_context(16), DataType::kFp8), 1, 512));
  to.push_back(decoding(spec, 4, 1024));
  to.push_back(paged(decoding(spec, 4, 1024)));
}

AttentionSpec with_fp8_cache(AttentionSpec spec) {
  spec.kv_type = DataType::kFp8;
  return spec;
}

// New tokens with a cache of fp8. Attention reads them in bfloat16, and another kernel quantises
// them.
void add_filled_caches(std::vector<AttentionSpec>& to) {
  for (const std::int64_t length : {7, 100, 1024})
    to.push_back(with_fp8_cache(new_tokens(grouped(), 2, length)));
  to.push_back(with_fp8_cache(new_tokens(with_heads(16, 16, 64), 1, 1000)));
  to.push_back(with_fp8_cache(new_tokens(with_heads(12, 1, 256), 1, 333)));
  to.push_back(with_fp8_cache(new_tokens(windowed(grouped(), 128), 1, 2048)));
  AttentionSpec latent = with_fp8_cache(new_tokens(mla_context(16), 2, 1000));
  latent.latent_dim = 576;
  to.push_back(latent);
}

// One new token with a cache of fp8, by Assay's decoding kernel, and with one of bfloat16.
void add_own_decodes(std::vector<AttentionSpec>& to) {
  std::vector<AttentionSpec> decodes;
  for (const std::int64_t keys : {2, 7, 1000, 32768}) {
    decodes.push_back(decoding(grouped(), 1, keys));
    decodes.push_back(paged(decoding(grouped(), 4, keys)));
  }
  decodes.push_back(paged(decoding(grouped(), 4, 1)));
  for (const std::int64_t head_dim : {64, 192, 256}) {
    decodes.push_back(paged(decoding(with_heads(16, 4, head_dim), 4, 1000)));
    decodes.push_back(paged(decoding(with_heads(16, 4, head_dim), 64, 4096)));
    decodes.push_back(decoding(with_heads(8, 8, head_dim), 3, 333));
  }
  for (const std::int64_t kv_heads : {1, 2, 4, 8, 16})
    decodes.push_back(paged(decoding(with_heads(16, kv_heads, 128), 64, 4096), 16));
  for (const std::int64_t heads : {3, 12, 24, 64}) {
    for (const std::int64_t head_dim : {64, 128, 192})
      decodes.push_back(paged(decoding(with_heads(heads, 1, head_dim), 2, 1000), 16));
  }
  decodes.push_back(paged(decoding(with_heads(128, 4, 128), 64, 4096)));
  decodes.push_back(paged(decoding(with_heads(8, 1, 128), 1, 131072)));
  for (const std::int64_t window : {1, 17, 128}) {
    decodes.push_back(paged(decoding(windowed(with_heads(8, 2, 64), window), 4, 1000)));
    decodes.push_back(decoding(windowed(grouped(), window), 64, 1024));
  }
  for (const AttentionSpec& spec : decodes) {
    to.push_back(spec);
    to.push_back(with_fp8_cache(spec));
  }
}

// One new token over latents, with and without parts to join, and with heads that fill no block.
void add_latent_decodes(std::vector<AttentionSpec>& to) {
  std::vector<AttentionSpec> decodes;
  for (const std::int64_t heads : {1, 2, 4, 8, 12, 16, 32, 64, 96, 128}) {
    decodes.push_back(decoding(mla_decode(heads), 8, 4096));
    decodes.push_back(decoding(mla_decode(heads), 3, 1001));
  }
  for (const std::int64_t keys : {1, 63, 65, 131072})
    decodes.push_back(decoding(mla_decode(16), 1, keys));
  decodes.push_back(decoding(mla_decode(32), 200, 500));
  decodes.push_back(paged(decoding(mla_decode(8), 4, 1000)));
  decodes.push_back(paged(decoding(mla_decode(64), 3, 4000), 128));
  for (const AttentionSpec& spec : decodes) {
    to.push_back(spec);
    to.push_back(with_fp8_cache(spec));
  }
}

// Few new tokens of many requests.
void add_short(std::vector<AttentionSpec>& to) {
  for (const std::int64_t length : {1, 5, 16}) {
    for (const std::int64_t head_dim : {64, 128, 192, 256})
      to.push_back(new_tokens(with_heads(16, 4, head_dim), 64, length));
  }
  to.push_back(new_tokens(with_heads(12, 1, 128), 3, 7));
  to.push_back(new_tokens(windowed(grouped(), 3), 8, 16));
  to.push_back(new_tokens(mla_context(128), 16, 16));
  to.push_back(new_tokens(grouped(), 256, 16));
  to.push_back(with_fp8_cache(new_tokens(grouped(), 64, 16)));
}

AttentionSpec encoder(std::int64_t heads, std::int64_t head_dim) {
  AttentionSpec spec = with_heads(heads, heads, head_dim);
  spec.causal = false;
  return spec;
}

void add_encoders(std::vector<AttentionSpec>& to) {
  for (const std::int64_t head_dim : {64, 72, 80}) {
    for (const std::int64_t length : {1, 13, 576, 1500})
      to.push_back(new_tokens(encoder(16, head_dim), 4, length));
  }
  to.push_back(new_tokens(encoder(5, 80), 1, 16384));
}

// New tokens in fp8: few and many tiles of queries, keys that fill no tile, and masks of all kinds.
void add_fp8_contexts(std::vector<AttentionSpec>& to) {
  std::vector<AttentionSpec> contexts;
  for (const std::int64_t head_dim : {64, 128, 256}) {
    contexts.push_back(new_tokens(with_heads(12, 2, head_dim), 4, 1536));
    contexts.push_back(new_tokens(with_heads(11, 1, head_dim), 1, 1536));
    contexts.push_back(new_tokens(with_heads(64, 8, head_dim), 8, 129));
    contexts.push_back(new_tokens(with_heads(8, 8, head_dim), 1, 8192));
    contexts.push_back(new_tokens(with_heads(8, 2, head_dim), 3, 1));
    contexts.push_back(new_tokens(windowed(with_heads(8, 2, head_dim), 128), 1, 2048));
    contexts.push_back(new_tokens(windowed(with_heads(8, 2, head_dim), 17), 2, 333));
    AttentionSpec chunk = new_tokens(with_heads(8, 2, head_dim), 2, 700);
    chunk.kv_length = 705;
    contexts.push_back(chunk);
    contexts.push_back(windowed(chunk, 200));
    contexts.push_back(new_tokens(encoder(8, head_dim), 2, 1000));
  }
  contexts.push_back(new_tokens(mla_context(16), 2, 1000));
  for (const AttentionSpec& spec : contexts)
    to.push_back(of_type(spec, DataType::kFp8));
}

}  // namespace

std::vector<AttentionSpec> attention_examples() {
  std::vector<AttentionSpec> examples;
  add_contexts(examples);
  add_decodes(examples);
  add_latent(examples);
  add_fp8(examples);
  add_filled_caches(examples);
  add_own_decodes(examples);
  add_latent_decodes(examples);
  add_short(examples);
  add_encoders(examples);
  add_fp8_contexts(examples);
  return examples;
}

}  // namespace assay::collect
