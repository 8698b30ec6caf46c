// Threads that each simulate a part of a job and meet from time to time.
#pragma once

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <thread>
#include <vector>

#include "core/interrupt.h"
#include "core/locale.h"
#include "simulate/network.h"

namespace assay::simulate {

class Crew {
 public:
  explicit Crew(unsigned size) : members_(size), barrier_(static_cast<std::ptrdiff_t>(size)) {}

  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(members_.size()); }

  // Calls body(number) on one thread for each member, of which the caller is number 0. Throws what
  // guard() caught.
  template <class Body>
  void run(const Body& body) {
    std::vector<std::jthread> threads;
    const locale_t locale = ::uselocale(nullptr);
    for (unsigned number = 1; number < size(); ++number)
      threads.emplace_back([&body, number, locale] {
        const core::InLocale same(locale);
        body(number);
      });
    body(0U);
    threads.clear();
    for (const Member& member : members_) {
      if (member.failure) std::rethrow_exception(member.failure);
    }
  }

  // If memory runs out, a thread goes on to meet the others until all see that they must stop.
  template <class Body>
  void guard(unsigned number, const Body& body) {
    Member& self = members_[number];
    try {
      if (!self.failure) body();
    } catch (...) {
      self.failure = std::current_exception();
    }
  }

  // Waits until all are here.
  void wait() { barrier_.arrive_and_wait(); }

  // Once all are here, asks each for the time of its next event and returns the least; nothing when
  // there is none before kForeverNs, or a reason to stop.
  template <class Next>
  std::optional<std::int64_t> meet(unsigned number, const Next& next_ns) {
    wait();
    Member& self = members_[number];
    guard(number, [&] { self.next_ns = next_ns(); });
    self.stops = self.failure || (number == 0 && core::interrupted());
    wait();
    std::int64_t least_ns = kForeverNs;
    for (const Member& member : members_) {
      if (member.stops) return std::nullopt;
      least_ns = std::min(least_ns, member.next_ns);
    }
    return least_ns < kForeverNs ? std::optional(least_ns) : std::nullopt;
  }

 private:
  struct Member {
    std::int64_t next_ns = 0;
    bool stops = false;
    std::exception_ptr failure;
  };

  std::vector<Member> members_;
  std::barrier<> barrier_;
};

}  // namespace assay::simulate
