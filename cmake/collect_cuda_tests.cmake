# Tests of those parts of assay-worker that need the headers of CUDA and cuDNN, but no GPU.
if(NOT TARGET assay_worker OR NOT ASSAY_HAVE_CUDNN)
  return()
endif()

set(collect ${CMAKE_SOURCE_DIR}/src/collect)
file(GLOB cudnn_sources CONFIGURE_DEPENDS ${collect}/cuda/cudnn_*.cc)
add_executable(
  collect_cuda_tests
  ${cudnn_sources} ${collect}/cuda/attention_ahead.cc ${collect}/cuda/attention_examples.cc
  ${collect}/cuda/attention_graph.cc ${collect}/cuda/attention_mask.cc
  ${collect}/cuda/attention_graph_test.cc ${collect}/cuda/attention_decode_tile_test.cc
  ${collect}/cuda/library_search.cc ${collect}/cuda/moe_buffers.cc
  ${collect}/cuda/moe_buffers_test.cc ${collect}/kernels/attention_layout.cc
  ${collect}/kernels/moe_routing.cc ${CMAKE_SOURCE_DIR}/src/core/check.cc
  ${CMAKE_SOURCE_DIR}/src/core/shared_library.cc ${CMAKE_SOURCE_DIR}/src/model/data_type.cc)
target_link_libraries(collect_cuda_tests PRIVATE assay_cuda_settings fmt::fmt-header-only
                                                 GTest::gtest_main)
gtest_discover_tests(collect_cuda_tests DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES)
