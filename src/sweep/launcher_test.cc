#include "sweep/launcher.h"

#include <gtest/gtest.h>

namespace assay::sweep {
namespace {

const Variables kVariables{{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", ""}, {"NCCL_NTHREADS", "256"}};

TEST(Launcher, OpenMpiIsToldWhatToForward) {
  const Forwarding plain = forwarding({"/usr/bin/mpirun", "-n", "8", "train"}, kVariables, "");
  ASSERT_TRUE(plain.variable.has_value());
  EXPECT_EQ(plain.variable->second, "NCCL_ALGO;NCCL_NTHREADS");
  EXPECT_EQ(plain.warning, "");
  EXPECT_EQ(forwarding({"mpiexec", "train"}, kVariables, "PATH").variable->second,
            "PATH;NCCL_ALGO;NCCL_NTHREADS");
}

TEST(Launcher, ItsTwoWaysAreNotMixed) {
  const Forwarding some =
      forwarding({"mpirun", "-x", "NCCL_ALGO", "-x", "PATH", "train"}, kVariables, "");
  EXPECT_FALSE(some.variable.has_value());
  EXPECT_EQ(some.warning,
            "ranks on other hosts will not see NCCL_NTHREADS: add '-x NCCL_NTHREADS' to mpirun");
  EXPECT_EQ(
      forwarding({"mpirun", "-x", "NCCL_ALGO", "-x", "NCCL_NTHREADS=256", "t"}, kVariables, "")
          .warning,
      "");
}

TEST(Launcher, OthersPassEverythingOn) {
  EXPECT_FALSE(forwarding({"torchrun", "train.py"}, kVariables, "").variable.has_value());
  EXPECT_FALSE(forwarding({"srun", "train"}, kVariables, "").variable.has_value());
}

}  // namespace
}  // namespace assay::sweep
