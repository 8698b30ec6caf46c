// Numbers for strings, given out once each.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace assay::recorder {

class Texts {
 public:
  // `write` puts a new string into the recording.
  explicit Texts(std::function<void(std::uint16_t id, std::string_view text)> write)
      : write_(std::move(write)) {}

  // Of a string that stays where it is as long as the process runs. Takes no lock but the first
  // time. 0 for null, and when there are too many.
  std::uint16_t number_of_constant(const char* text);

  // Of any string.
  std::uint16_t number_of(std::string_view text);

 private:
  struct Slot {
    std::atomic<const char*> text{nullptr};
    std::atomic<std::uint16_t> number{0};
  };

  std::function<void(std::uint16_t, std::string_view)> write_;
  std::array<Slot, 256> slots_;  // by address
  std::mutex adding_;
  std::vector<std::string> texts_;
};

}  // namespace assay::recorder
