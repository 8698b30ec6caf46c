#include "collect/cpu/host_tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>

namespace assay::collect {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr int kBfloat16Shift = 16;

// splitmix64 (G. Steele, D. Lea, C. Flood, 2014), by position instead of by state.
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t x = seed + (index + 1) * 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

float uniform(std::uint64_t bits) {
  return static_cast<float>(static_cast<std::int32_t>(bits >> 40U) - (1 << 23)) /
         static_cast<float>(1 << 23);
}

std::uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = bits + 0x7FFFU + ((bits >> kBfloat16Shift) & 1U);
  return static_cast<std::uint16_t>(rounded >> kBfloat16Shift);
}

float from_bfloat16(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << kBfloat16Shift);
}

template <class T>
T load(const void* memory, std::int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const T*>(memory) + index, sizeof(T));
  return value;
}

}  // namespace

void HostTensor::Free::operator()(void* memory) const {
  std::free(memory);
}

HostTensor::HostTensor(DataType type, std::int64_t elements) : type_(type), elements_(elements) {
  const auto bytes = static_cast<std::size_t>(size_bytes());
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  bytes_.reset(std::aligned_alloc(kAlignment, std::max(rounded, kAlignment)));
  if (bytes_ == nullptr) throw std::bad_alloc();
}

void HostTensor::fill(std::uint64_t seed, float scale) {
  for (std::int64_t i = 0; i < elements_; ++i) {
    const std::uint64_t bits = random_bits(seed, static_cast<std::uint64_t>(i));
    if (type_ == DataType::kFloat32) {
      static_cast<float*>(data())[i] = scale * uniform(bits);
    } else if (type_ == DataType::kBfloat16) {
      static_cast<std::uint16_t*>(data())[i] = to_bfloat16(scale * uniform(bits));
    } else {
      static_cast<std::int8_t*>(data())[i] =
          static_cast<std::int8_t>(static_cast<int>(bits % 255) - 127);
    }
  }
}

double HostTensor::at(std::int64_t index) const {
  switch (type_) {
    case DataType::kFloat32:
      return load<float>(bytes_.get(), index);
    case DataType::kBfloat16:
      return from_bfloat16(load<std::uint16_t>(bytes_.get(), index));
    default:
      return load<std::int8_t>(bytes_.get(), index);
  }
}

double rounding(DataType type, double value) {
  const int digits = type == DataType::kBfloat16 ? 8 : 24;
  constexpr double kSmallest = 1e-37;
  return std::max(std::fabs(value), kSmallest) * std::ldexp(1.0, -digits);
}

std::vector<std::int64_t> sample_places(std::int64_t elements, std::int64_t count) {
  std::vector<std::int64_t> places;
  if (elements <= count) {
    for (std::int64_t i = 0; i < elements; ++i)
      places.push_back(i);
    return places;
  }
  std::mt19937_64 random(1);
  for (std::int64_t i = 0; i < count; ++i)
    places.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(elements)));
  return places;
}

}  // namespace assay::collect
