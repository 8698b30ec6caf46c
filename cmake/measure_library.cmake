# libassay_measure.so: assay/measure.h, for Python modules that `assay collect` runs. It opens
# CUDA's driver when it is needed, so it builds everywhere.
add_library(
  assay_measure SHARED
  collect/library/engine.cc collect/library/engine_device.cc collect/worker/conditions.cc
  collect/worker/measure.cc core/check.cc core/shared_library.cc core/statistics.cc
  gpu/nvidia_state.cc gpu/nvml.cc)
target_include_directories(
  assay_measure
  PRIVATE ${CMAKE_SOURCE_DIR}/src
  PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_compile_features(assay_measure PRIVATE cxx_std_20)
# A sanitizer would have to be in the program that opens it as well.
target_compile_options(assay_measure PRIVATE -Wall -Wextra -fno-sanitize=all)
target_link_options(assay_measure PRIVATE -fno-sanitize=all -static-libstdc++ -static-libgcc
                                          -Wl,--no-undefined)
target_link_libraries(assay_measure PRIVATE fmt::fmt-header-only ${CMAKE_DL_LIBS})
set_target_properties(assay_measure PROPERTIES CXX_VISIBILITY_PRESET hidden
                                               VISIBILITY_INLINES_HIDDEN ON)
assay_units(assay_measure)
add_dependencies(programs assay_measure)
install_c_library(assay_measure measure 0 "How assay times a piece of work")
install(DIRECTORY ${CMAKE_SOURCE_DIR}/python/ DESTINATION share/assay/python
        FILES_MATCHING PATTERN "*.py" PATTERN assay_allreduce EXCLUDE
        PATTERN assay EXCLUDE)
# Where the program looks for it in the build tree as in an installation.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/assay)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/python ${CMAKE_BINARY_DIR}/share/assay/python SYMBOLIC)
