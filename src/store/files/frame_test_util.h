// Frames for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "store/files/csv_frame.h"

namespace assay::store {

inline Frame frame_of(const std::string& csv) {
  model::Warnings warnings;
  auto frame = read_csv_frame(
      csv, warnings,
      {.text_columns = {"framework", "version", "device", "op_name", "kernel_source"}});
  EXPECT_TRUE(frame.ok()) << (frame.ok() ? "" : frame.error().message);
  return frame.ok() ? std::move(frame).value() : Frame{};
}

}  // namespace assay::store
