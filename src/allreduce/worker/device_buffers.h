// A cell's device memory, kept from one cell to the next and only ever grown.
#pragma once

#include <assay/allreduce.h>

#include <array>
#include <cstddef>

#include "allreduce/worker/reference.h"
#include "core/result.h"

namespace assay::allreduce {

enum class Memory { kPlain, kSymmetric };

class DeviceBuffers {
 public:
  explicit DeviceBuffers(Memory memory) : memory_(memory) {}

  DeviceBuffers(const DeviceBuffers&) = delete;
  DeviceBuffers& operator=(const DeviceBuffers&) = delete;
  ~DeviceBuffers();

  // Makes room for the cell. Collective with kSymmetric.
  core::Result<Buffers> for_cell(const Cell& cell,
                                 const Variant& variant,
                                 assay_allreduce_comm* comm);

  // Returns the bytes that a cell needs without the library's workspaces.
  [[nodiscard]] static std::size_t bytes_for(const Cell& cell, const Variant& variant);

 private:
  struct Block {
    void* memory = nullptr;
    std::size_t bytes = 0;
  };

  core::Result<void*> at_least(Block& block, std::size_t bytes, assay_allreduce_comm* comm);

  Memory memory_;
  std::array<Block, 8> blocks_;
};

}  // namespace assay::allreduce
