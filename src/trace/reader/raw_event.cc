#include "trace/reader/raw_event.h"

#include <array>
#include <cstdint>
#include <utility>

namespace assay::trace {
namespace {

using Entry = std::pair<std::string_view, RawField>;

constexpr std::array kEventFields{
    Entry{"ph", &RawEvent::phase},  Entry{"cat", &RawEvent::category},
    Entry{"name", &RawEvent::name}, Entry{"pid", &RawEvent::pid},
    Entry{"tid", &RawEvent::tid},   Entry{"ts", &RawEvent::ts},
    Entry{"dur", &RawEvent::dur},
};

constexpr std::array kArgsFields{
    Entry{"External id", &RawEvent::external_id},
    Entry{"correlation", &RawEvent::correlation},
    Entry{"Sequence number", &RawEvent::sequence},
    Entry{"device", &RawEvent::device},
    Entry{"stream", &RawEvent::stream},
    Entry{"grid", &RawEvent::grid},
    Entry{"block", &RawEvent::block},
    Entry{"Input Dims", &RawEvent::input_dims},
    Entry{"Input type", &RawEvent::input_types},
    Entry{"Input Strides", &RawEvent::input_strides},
    Entry{"Concrete Inputs", &RawEvent::concrete_inputs},
    Entry{"Collective name", &RawEvent::collective_name},
    Entry{"dtype", &RawEvent::dtype},
    Entry{"Process Group Name", &RawEvent::group_name},
    Entry{"Process Group Description", &RawEvent::group_description},
    Entry{"Process Group Ranks", &RawEvent::group_ranks},
    Entry{"Group size", &RawEvent::group_size},
    Entry{"In msg nelems", &RawEvent::in_elements},
    Entry{"Out msg nelems", &RawEvent::out_elements},
    Entry{"In split size", &RawEvent::in_split},
    Entry{"Out split size", &RawEvent::out_split},
    Entry{"Rank", &RawEvent::rank},
    Entry{"name", &RawEvent::args_name},
    Entry{"labels", &RawEvent::args_labels},
};

constexpr std::size_t kSlots = 64;

// Length and a few characters tell all keys of both tables apart; checked at compile time below.
constexpr std::size_t slot_of(std::string_view key) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(key[i % key.size()]); };
  return (key.size() * 5 + at(0) + at(1) * 5U + at(key.size() - 1) + at(6)) % kSlots;
}

template <std::size_t N>
constexpr std::array<std::uint8_t, kSlots> slots_for(const std::array<Entry, N>& entries) {
  std::array<std::uint8_t, kSlots> slots{};
  for (std::size_t i = 0; i < N; ++i) {
    slots[slot_of(entries[i].first)] = static_cast<std::uint8_t>(i + 1);
  }
  return slots;
}

template <std::size_t N>
constexpr bool all_apart(const std::array<Entry, N>& entries) {
  const auto slots = slots_for(entries);
  for (std::size_t i = 0; i < N; ++i) {
    if (slots[slot_of(entries[i].first)] != i + 1) return false;
  }
  return true;
}

constexpr auto kEventSlots = slots_for(kEventFields);
constexpr auto kArgsSlots = slots_for(kArgsFields);
static_assert(all_apart(kEventFields) && all_apart(kArgsFields), "change slot_of");

template <std::size_t N>
RawField look_up(const std::array<Entry, N>& entries,
                 const std::array<std::uint8_t, kSlots>& slots,
                 std::string_view key) {
  if (key.empty()) return nullptr;
  const std::uint8_t slot = slots[slot_of(key)];
  if (slot == 0 || entries[slot - 1U].first != key) return nullptr;
  return entries[slot - 1U].second;
}

}  // namespace

RawField event_field(std::string_view key) {
  return look_up(kEventFields, kEventSlots, key);
}

RawField args_field(std::string_view key) {
  return look_up(kArgsFields, kArgsSlots, key);
}

}  // namespace assay::trace
