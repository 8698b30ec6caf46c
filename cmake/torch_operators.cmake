# libassay_allreduce_torch.so, the kernels of torch.ops.assay for python/assay_allreduce. It finds
# PyTorch's functions and those of libassay_allreduce at run time, so that it builds everywhere.
add_library(assay_allreduce_torch SHARED allreduce/torch/operators.cc allreduce/torch/shim.cc)
target_include_directories(assay_allreduce_torch PRIVATE ${CMAKE_SOURCE_DIR}/src
                                                         ${CMAKE_SOURCE_DIR}/include)
target_compile_features(assay_allreduce_torch PRIVATE cxx_std_20)
# Python opens it, which has no sanitizer. Its exceptions are PyTorch's to catch: they need the
# libstdc++ that PyTorch shares.
target_compile_options(assay_allreduce_torch PRIVATE -Wall -Wextra -Wshadow -fno-sanitize=all)
set(torch_exports ${CMAKE_CURRENT_SOURCE_DIR}/allreduce/torch/exports.map)
target_link_options(assay_allreduce_torch PRIVATE -fno-sanitize=all -Wl,--no-undefined
                    -Wl,--version-script=${torch_exports})
target_link_libraries(assay_allreduce_torch PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(
  assay_allreduce_torch PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                                   LINK_DEPENDS ${torch_exports})
assay_units(assay_allreduce_torch)
add_dependencies(programs assay_allreduce_torch)
