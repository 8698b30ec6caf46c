// Built as libnccl.so.2: a library that contains its version in the same form as NCCL, among other
// strings of NCCL that mention a version, and the names of some of its variables.
extern "C" const char* ncclFakeText(int which) {
  static constexpr const char* kTexts[] = {
      "Mismatched NCCL version detected : rank %d version %d",
      "NCCL version 2.28.3 compiled with CUDA 13.0",
      "NCCL version 2.28.3+cuda13.0",
      "NCCL version mismatch with remote peer %s",
      "NCCL_ALGO",
      "NCCL_BUFFSIZE",
      "NCCL_MAX_CTAS set by environment to %lld.",
      "NCCL_MIN_CTAS",
  };
  return kTexts[which & 7];
}
