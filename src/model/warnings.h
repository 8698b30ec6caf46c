// The problems of an input and how often each occurred: bad records are counted by reason and
// shown, never dropped silently.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::model {

struct Warning {
  std::string reason;   // "negative duration"
  std::string effect;   // the consequence: "counted as 0"
  std::string example;  // the first place where it was seen
  std::int64_t count = 0;
  double gpu_ms = 0;  // the GPU time of all that it counts; 0 where that means nothing

  // The effect with the GPU time.
  [[nodiscard]] std::string whole_effect() const;

  // All of it: "negative duration, 2 times: counted as 0 (first: ncclDevKernel_AllReduce)". The
  // figures are of all places, so that the first one must not look like the only one.
  [[nodiscard]] std::string sentence() const;
};

class Warnings {
 public:
  void add(std::string_view reason,
           std::string_view effect,
           std::string_view example,
           std::int64_t count = 1,
           double gpu_ms = 0);

  void merge(const Warnings& other);

  // The same of what was seen in this file, which examples name.
  void merge(const Warnings& other, std::string_view file);

  [[nodiscard]] const std::vector<Warning>& all() const { return warnings_; }

  [[nodiscard]] bool empty() const { return warnings_.empty(); }

 private:
  std::vector<Warning> warnings_;
};

}  // namespace assay::model
