// The serving engines whose schedulers, limits and files assay plan knows.
//
// To add one, add it to the enumeration, to kEngines and to name_of(), and write two files:
// schedule/<engine>.cc registers its scheduler (schedule/policy.h has the recipe), and
// files/<engine>.cc its options (files/engine_files.h). The compiler names what else must know it;
// it names neither engine_refusal() nor steady_load_of(), which ask for single engines, nor
// compat/, whose public planner has these three alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/serving/model.h"
#include "model/serving/uses.h"

namespace assay::plan {

enum class Engine : std::uint8_t { kTrtllm, kVllm, kSglang };

// All of them, in the order of help texts.
inline constexpr std::array kEngines = {Engine::kTrtllm, Engine::kVllm, Engine::kSglang};

// Returns "trtllm", "vllm" or "sglang", as performance tables and measured deployments spell them.
std::string_view name_of(Engine engine);
std::optional<Engine> engine_named(std::string_view name);

// Returns "trtllm, vllm".
std::string names_of(std::span<const Engine> engines);

// Returns how the engine serves a checkpoint with these weights unless it is told otherwise.
// TensorRT-LLM keeps the cache of weights in fp8 in fp8 and computes attention to prompts in it;
// vLLM and SGLang keep the cache in the type of activations.
serving::Precision served_precision(Engine engine, serving::Precision checkpoint);

// Returns how a version of the engine makes norms over the heads of all GPUs; "": the version that
// files are for.
serving::HeadNorm head_norm_of(Engine engine, const std::string& version);

// Names the type that the cache of keys and values is kept in: as the engine does by itself, in the
// type that the checkpoint says, or in fp8.
enum class CacheType : std::uint8_t { kEngine, kCheckpoint, kFp8 };

// Returns the same for a model's checkpoint, whose cache has the type of activations where its
// attention does, unless another is asked for.
serving::Precision served_precision(Engine engine,
                                    const serving::Model& model,
                                    CacheType cache = CacheType::kEngine);
// Returns the precision with a cache of this type: kBfloat16 or kFp8.
serving::Precision with_cache(serving::Precision precision, serving::Quantization cache);

struct EngineCache {
  Engine engine = Engine::kTrtllm;
  serving::Quantization cache = serving::Quantization::kBfloat16;
};

// Says what engines keep the cache in; "" where all keep it as the checkpoint says.
std::string cache_types_in_words(const serving::Model& model, std::span<const EngineCache> caches);

// Returns whether a version is `first` or a later one; not "" nor one that has no place among them.
bool is_from(const std::string& version, std::string_view first);

// Tells what layers that attend to a window, or to a chunk, keep of the cache, and what is found in
// it again.
struct KeptCache {
  // Tells whether they keep no more of it than that.
  bool frees_windows = true;
  bool frees_chunks = true;
  // Tells whether these layers have memory apart from the others', whose size is fixed at the
  // start. It must have room for the whole of what begins, and for what the others may still write.
  bool is_apart = false;
  // Tells whether all that holds only of a single batch in which no prefix is found again.
  bool is_of_one_batch = false;
  // Tells whether a prompt takes what an earlier one with the same begin left in the cache.
  bool finds_prefixes = true;
};

// Keeps all tokens in all layers.
inline constexpr KeptCache kKeptWhole = {.frees_windows = false, .frees_chunks = false};

// kStay: as `assay plan files` deploys it; kSent: the same, and caches go from instances that
// compute prompts to others; kUnset: no setting says anything of windows.
enum class Caches : std::uint8_t { kStay, kSent, kUnset };

// Returns what a version of the engine keeps of a model of this family; "": the version that files
// are for. docs/plan.md, "Windows in the cache", has what it rests on.
KeptCache kept_cache(Engine engine,
                     const std::string& version,
                     Caches caches,
                     const std::string& family);

// Says that no prefix is found again of a model of this family, and why; "" where it is.
std::string unfound_prefixes_in_words(const std::string& family);

}  // namespace assay::plan
