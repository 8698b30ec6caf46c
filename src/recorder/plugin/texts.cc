#include <algorithm>

#include "recorder/plugin/recorder.h"

namespace assay::recorder {
namespace {

constexpr std::size_t kMaxTexts = 4096;
constexpr std::size_t kMaxLength = 1024;

}  // namespace

std::uint16_t Texts::number_of_constant(const char* text) {
  if (text == nullptr) return 0;
  const std::size_t hash = reinterpret_cast<std::uintptr_t>(text) * 0x9E3779B97F4A7C15U >> 40U;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[(hash + i) % slots_.size()];
    const char* known = slot.text.load(std::memory_order_acquire);
    if (known == text) {
      // The number is 0 while another thread is adding the same string.
      const std::uint16_t number = slot.number.load(std::memory_order_acquire);
      return number != 0 ? number : number_of(text);
    }
    if (known == nullptr && slot.text.compare_exchange_strong(known, text)) {
      const std::uint16_t number = number_of(text);
      slot.number.store(number, std::memory_order_release);
      return number;
    }
    if (known == text) return number_of(text);
  }
  return number_of(text);
}

std::uint16_t Texts::number_of(std::string_view text) {
  if (thread_state(Recorder::current()) == nullptr) return 0;  // it could not throw
  const std::string_view kept = text.substr(0, kMaxLength);
  const std::lock_guard<std::mutex> lock(adding_);
  const auto found = std::find(texts_.begin(), texts_.end(), kept);
  if (found != texts_.end()) return static_cast<std::uint16_t>(found - texts_.begin() + 1);
  if (texts_.size() == kMaxTexts) return 0;
  texts_.emplace_back(kept);
  const auto number = static_cast<std::uint16_t>(texts_.size());
  write_(number, kept);
  return number;
}

}  // namespace assay::recorder
