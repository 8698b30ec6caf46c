#include "recorder/plugin/kernel_name.h"

#include <gtest/gtest.h>

namespace assay::recorder {
namespace {

TEST(KernelName, OfBothSpellings) {
  EXPECT_EQ(kernel_name("_Z22ncclDevKernel_SendRecv24ncclDevKernelArgsStorageILm4096EE"),
            "ncclDevKernel_SendRecv");
  EXPECT_EQ(kernel_name("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"),
            "ncclDevKernel_SendRecv");
  EXPECT_EQ(kernel_name("ncclDevKernel_SendRecv"), "ncclDevKernel_SendRecv");
  EXPECT_EQ(kernel_name("_ZN2at6nativeE"), "_ZN2at6nativeE");
  EXPECT_EQ(kernel_name("_Z999x"), "x");
  EXPECT_EQ(kernel_name(nullptr), "");
}

}  // namespace
}  // namespace assay::recorder
