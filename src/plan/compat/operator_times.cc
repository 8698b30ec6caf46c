#include "plan/compat/operator_times.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace assay::plan::compat {
namespace {

core::Error no_rows(const std::string& what) {
  return core::Error{fmt::format("no row of the public tables answers for {}", what)};
}

// The share of the whole prompt's work that is left after a prefix.
double share_after(double full, double prefix) {
  return full > 0 ? (full * full - prefix * prefix) / (full * full) : 0;
}

// Scaling is measured for a range of sizes; `follows`: beyond it the time grows as the roofline.
double scaling_ms(
    const Grid& grid, const SystemFacts& facts, double m, double k, double bytes, bool follows) {
  const auto least = [&](const Place& place) {
    return bytes * place[0] * place[1] / facts.peaks.memory_bytes_per_s * 1000;
  };
  const Place asked = {m, k};
  const Place held = {std::clamp(m, grid.low(0), grid.high(0)),
                      std::clamp(k, grid.low(1), grid.high(1))};
  const double ms = grid.at(held, least);
  return follows ? ms * least(asked) / least(held) : ms;
}

// Times of messages are proportional to their size beyond the measured ones.
double message_ms(const Grid& grid, double numbers) {
  return grid.at({numbers}, [](const Place& place) { return place[0]; });
}

// What `gpus` take more than the `measured` of a node.
double beyond_node(const SystemFacts& facts, std::int64_t gpus, std::int64_t measured) {
  if (gpus <= measured) return 1;
  const auto all = static_cast<double>(gpus);
  const auto few = static_cast<double>(measured);
  return (all - 1) / all * few / std::max(few - 1, 1.0) * facts.link_bytes_per_s(measured) /
         facts.link_bytes_per_s(gpus);
}

}  // namespace

Time memory_time(const Measured& measured, double bytes_per_token) {
  return [facts = measured.shared_facts(), bytes_per_token](const Asked& asked) {
    return memory_ms(*facts, bytes_per_token * asked.tokens);
  };
}

core::Result<Time> product_time(Measured& measured, const Product& product) {
  const auto sites = ASSAY_TRY(measured.products(product.weights));
  if (sites == nullptr)
    return no_rows(fmt::format("products with weights in {}", name_of(product.weights)));
  const auto n = static_cast<double>(product.n);
  const auto k = static_cast<double>(product.k);
  const auto facts = measured.shared_facts();
  const auto least = [facts, weights = product.weights](const Place& place) {
    return product_least_ms(*facts, weights, place[0], place[1], place[2]);
  };
  if (product.weights != Quantization::kFp8)
    return Time([=](const Asked& asked) { return sites->at({asked.tokens, n, k}, least); });
  // Checkpoints in fp8 bring the scale of an input, which the measured products compute first.
  const auto computing = ASSAY_TRY(measured.scaling("computescale_perf"));
  const auto applying = ASSAY_TRY(measured.scaling("scale_matrix_perf"));
  if (computing == nullptr || applying == nullptr) return no_rows("scaling the input of a product");
  const bool has_scaled_input = product.has_scaled_input;
  return Time([=](const Asked& asked) {
    const Place place = {asked.tokens, n, k};
    double ms = sites->at(place, least) - scaling_ms(*computing, *facts, asked.tokens, k, 2, false);
    if (has_scaled_input) ms -= scaling_ms(*applying, *facts, asked.tokens, k, 3, true);
    return std::max(ms, least(place));
  });
}

core::Result<Time> prompt_attention_time(Measured& measured,
                                         const HeadGroup& group,
                                         std::int64_t heads,
                                         std::int64_t kv_heads,
                                         bool normalises_heads) {
  const auto grid = ASSAY_TRY(measured.prompt_attention(group));
  if (grid == nullptr) {
    return no_rows(fmt::format("attention to prompts of {} heads of keys and values of {}, in {}",
                               kv_heads, group.head_dim, name_of(group.products)));
  }
  const auto facts = measured.shared_facts();
  const auto own = static_cast<double>(heads);
  const auto queries = static_cast<double>(heads * group.head_dim);
  const auto keys = static_cast<double>(kv_heads * group.head_dim);
  // The public planner counts what goes with attention for one token, whatever the prompt.
  double beside = 2 * memory_ms(*facts, 2 * queries + 2 * keys) +
                  2 * memory_ms(*facts, keys * bytes_of(group.products));
  if (normalises_heads)
    beside += 4 * memory_ms(*facts, 2 * queries) + 4 * memory_ms(*facts, 2 * keys);
  constexpr double kMore = 1.1;
  return Time([=](const Asked& asked) {
    const double full = asked.length + asked.prefix;
    const double ms = grid->at({own, full, asked.requests}, [&](const Place& place) {
      return prompt_attention_least_ms(*facts, group, place[0], place[1], place[2]);
    });
    return ms * share_after(full, asked.prefix) + kMore * beside;
  });
}

core::Result<Time> decode_attention_time(Measured& measured,
                                         const HeadGroup& group,
                                         std::int64_t heads) {
  const auto grid = ASSAY_TRY(measured.decode_attention(group));
  if (grid == nullptr) {
    return no_rows(fmt::format("decoding with {} of {} heads of keys and values of {}, in {}",
                               heads, group.kv_heads, group.head_dim, name_of(group.cache)));
  }
  const auto facts = measured.shared_facts();
  const auto own = static_cast<double>(heads);
  return Time([=](const Asked& asked) {
    // The mean over lengths from 90 to 110 %, in whole tokens.
    constexpr int kSamples = 5;
    const double first = std::max(1.0, std::floor(asked.length * 0.9));
    const double last = std::max(first, std::floor(asked.length * 1.1));
    double sum = 0;
    for (int i = 0; i < kSamples; ++i) {
      const double length = first + std::floor((last - first) * i / (kSamples - 1));
      sum += grid->at({own, asked.requests, length}, [&](const Place& place) {
        return decode_attention_least_ms(*facts, group, place[0], place[1], place[2]);
      });
    }
    return sum / kSamples;
  });
}

core::Result<Time> latent_prompt_time(Measured& measured,
                                      const serving::Precision& precision,
                                      std::int64_t heads,
                                      bool is_module) {
  const auto grid = ASSAY_TRY(measured.latent_prompt(precision, is_module));
  if (grid == nullptr) return Time();
  const auto facts = measured.shared_facts();
  const auto own = static_cast<double>(heads);
  return Time([=](const Asked& asked) {
    const double full = asked.length + asked.prefix;
    const double ms = grid->at({own, full, asked.requests}, [&](const Place& place) {
      return latent_prompt_least_ms(*facts, precision, place[0], place[1], place[2]);
    });
    return ms * share_after(full, asked.prefix);
  });
}

core::Result<Time> latent_decode_time(Measured& measured,
                                      const serving::Precision& precision,
                                      std::int64_t heads,
                                      bool is_module) {
  const auto grid = ASSAY_TRY(measured.latent_decode(precision, is_module));
  if (grid == nullptr) return Time();
  const auto facts = measured.shared_facts();
  const auto own = static_cast<double>(heads);
  return Time([=](const Asked& asked) {
    return grid->at({own, asked.requests, asked.length}, [&](const Place& place) {
      return is_module ? latent_module_least_ms(*facts, precision, place[0], place[1], place[2])
                       : latent_decode_least_ms(*facts, precision, place[0], place[1], place[2]);
    });
  });
}

core::Result<Time> absorbing_time(Measured& measured,
                                  Quantization quantization,
                                  std::int64_t heads,
                                  bool is_first) {
  auto grid = ASSAY_TRY(measured.absorbing(quantization, heads, is_first));
  if (grid == nullptr)
    grid = ASSAY_TRY(measured.absorbing(Quantization::kBfloat16, heads, is_first));
  if (grid == nullptr) return no_rows(fmt::format("absorbing the latent of {} heads", heads));
  const auto facts = measured.shared_facts();
  const auto own = static_cast<double>(heads);
  return Time([=](const Asked& asked) {
    return grid->at({asked.tokens}, [&](const Place& place) {
      return absorbing_least_ms(*facts, quantization, own, place[0]);
    });
  });
}

core::Result<Time> experts_time(Measured& measured,
                                Quantization quantization,
                                const ExpertShape& shape,
                                const std::string& distribution,
                                std::int64_t groups) {
  const bool is_known = ASSAY_TRY(measured.has_distribution(quantization, distribution));
  const auto grid =
      ASSAY_TRY(measured.experts(quantization, shape, is_known ? distribution : "uniform"));
  if (grid == nullptr) {
    return no_rows(fmt::format("{} experts of {} in {}, {} of which share one and {} have own ones",
                               shape.count, shape.intermediate, name_of(quantization), shape.moe_tp,
                               shape.moe_ep));
  }
  const auto facts = measured.shared_facts();
  const auto all = static_cast<double>(groups);
  return Time([=](const Asked& asked) {
    return grid->at({asked.tokens * all}, [&](const Place& place) {
      return experts_least_ms(*facts, quantization, shape, place[0]);
    });
  });
}

core::Result<Time> all_reduce_time(Measured& measured, std::int64_t numbers, std::int64_t gpus) {
  if (gpus <= 1) return Time([](const Asked& /*asked*/) { return 0.0; });
  const auto facts = measured.shared_facts();
  const std::int64_t within = std::min(gpus, facts->gpus_per_node);
  const auto grid = ASSAY_TRY(measured.all_reduce(within));
  if (grid == nullptr) return no_rows(fmt::format("all-reduces of {} GPUs", within));
  const double more = beyond_node(*facts, gpus, within);
  return Time([=, each = static_cast<double>(numbers)](const Asked& asked) {
    return more * message_ms(*grid, asked.tokens * each);
  });
}

core::Result<Time> collective_time(Measured& measured,
                                   const std::string& operation,
                                   std::int64_t numbers,
                                   std::int64_t gpus,
                                   std::int64_t groups) {
  if (gpus <= 1) return Time([](const Asked& /*asked*/) { return 0.0; });
  const std::int64_t within = std::min(gpus, ASSAY_TRY(measured.most_gpus(operation)));
  const auto grid = ASSAY_TRY(measured.collective(operation, within));
  if (grid == nullptr) return no_rows(fmt::format("{} of {} GPUs", operation, gpus));
  const double more = beyond_node(measured.facts(), gpus, within);
  return Time([=, each = static_cast<double>(numbers * groups)](const Asked& asked) {
    return more * message_ms(*grid, asked.tokens * each);
  });
}

}  // namespace assay::plan::compat
