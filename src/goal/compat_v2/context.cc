#include "goal/compat_v2/context.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <unordered_map>

namespace assay::goal::compat_v2 {
namespace {

using model::NcclFunction;

constexpr std::uint32_t kOther = 0;
constexpr std::uint32_t kPipeline = 1;
constexpr std::uint32_t kData = 2;
constexpr std::uint64_t kHalf = 1ULL << 63U;

// Where the generator has no letter it stops; any other one serves.
char letter(NcclFunction function) {
  switch (function) {
    case NcclFunction::kAllGather:
      return 'A';
    case NcclFunction::kAllReduce:
      return 'B';
    case NcclFunction::kBroadcast:
      return 'C';
    case NcclFunction::kReduceScatter:
      return 'D';
    case NcclFunction::kRecv:
      return 'E';
    case NcclFunction::kSend:
      return 'F';
    default:
      return '-';
  }
}

std::uint64_t operation_number(NcclFunction function) {
  switch (function) {
    case NcclFunction::kAllReduce:
      return 0;
    case NcclFunction::kAllGather:
      return 1;
    case NcclFunction::kReduceScatter:
      return 2;
    case NcclFunction::kBroadcast:
      return 3;
    case NcclFunction::kReduce:
      return 4;
    default:
      return 6;  // sends and receives; sends were 5 before they had to agree
  }
}

bool all(std::string_view text, char letter) {
  return text.find_first_not_of(letter) == std::string_view::npos;
}

// n times A, n times D, and so on; it may end after the As, but not within a run.
bool is_sharded(std::string_view letters) {
  const std::size_t n = std::min(letters.find_first_not_of('A'), letters.size());
  if (n == 0) return false;
  for (std::size_t i = 0; i < letters.size(); i += 2 * n) {
    const std::string_view gathers = letters.substr(i, n);
    if (gathers.size() < n || !all(gathers, 'A')) return false;
    if (i + n >= letters.size()) continue;
    const std::string_view scatters = letters.substr(i + n, n);
    if (scatters.size() < n || !all(scatters, 'D')) return false;
  }
  return true;
}

std::vector<std::uint32_t> parallelism_of_streams(const model::JobGpu& gpu,
                                                  std::span<const std::uint32_t> order) {
  std::vector<std::string> letters(gpu.streams.size());
  for (const std::uint32_t i : order) {
    const model::Operation& operation = gpu.operations[i];
    letters[operation.stream] += letter(operation.function);
  }
  std::vector<std::uint32_t> digits;
  for (const std::string& text : letters)
    digits.push_back(parallelism_digit(text));
  return digits;
}

}  // namespace

std::uint64_t tuple_hash(std::span<const std::uint64_t> items) {
  constexpr std::uint64_t kPrime1 = 11400714785074694791ULL;
  constexpr std::uint64_t kPrime2 = 14029467366897019727ULL;
  constexpr std::uint64_t kPrime5 = 2870177450012600261ULL;
  std::uint64_t sum = kPrime5;
  for (const std::uint64_t item : items) {
    sum += item * kPrime2;
    sum = std::rotl(sum, 31) * kPrime1;
  }
  sum += items.size() ^ (kPrime5 ^ 3527539ULL);
  return sum == ~std::uint64_t{0} ? 1546275796ULL : sum;
}

std::vector<std::uint32_t> hash_digits(std::span<const std::uint64_t> hashes) {
  constexpr std::uint64_t kModulus = 1000;
  const auto high =
      std::count_if(hashes.begin(), hashes.end(), [](std::uint64_t hash) { return hash >= kHalf; });
  const bool mixed = high > 0 && static_cast<std::size_t>(high) < hashes.size();
  std::vector<std::uint32_t> digits;
  digits.reserve(hashes.size());
  for (const std::uint64_t hash : hashes) {
    digits.push_back(static_cast<std::uint32_t>(
        mixed ? static_cast<std::uint64_t>(std::fmod(static_cast<double>(hash), 1000.0))
              : hash % kModulus));
  }
  return digits;
}

std::uint32_t parallelism_digit(std::string_view letters) {
  if (is_sharded(letters)) return kData;
  const auto exchanges = std::count_if(letters.begin(), letters.end(),
                                       [](char letter) { return letter == 'E' || letter == 'F'; });
  return exchanges >= 2 ? kPipeline : kOther;
}

std::vector<std::uint32_t> contexts(const model::JobGpu& gpu,
                                    std::span<const std::uint32_t> order) {
  const std::vector<std::uint32_t> parallelism = parallelism_of_streams(gpu, order);
  std::unordered_map<std::uint64_t, std::uint64_t> sequences;  // by communicator and operation
  std::vector<std::uint64_t> hashes;
  hashes.reserve(order.size());
  for (const std::uint32_t i : order) {
    const model::Operation& operation = gpu.operations[i];
    const std::uint64_t number = operation_number(operation.function);
    const std::uint64_t sequence =
        sequences[std::uint64_t{operation.communicator} << 8U | number]++;
    const std::array<std::uint64_t, 3> items = {
        operation.communicator, number,
        model::is_point_to_point(operation.function) ? 0 : sequence};
    hashes.push_back(tuple_hash(items));
  }
  const std::vector<std::uint32_t> digits = hash_digits(hashes);
  std::vector<std::uint32_t> contexts(gpu.operations.size());
  for (std::size_t n = 0; n < order.size(); ++n) {
    const std::uint32_t stream = gpu.operations[order[n]].stream;
    contexts[order[n]] = parallelism[stream] + 100 * digits[n];
  }
  return contexts;
}

}  // namespace assay::goal::compat_v2
