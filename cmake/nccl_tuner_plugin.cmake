# libassay_nccl_tuner.so, which NCCL loads into other people's programs: it brings its own C++ library
# and shows nothing but NCCL's symbols and those of `bench --nccl-sweep`.
add_library(assay_nccl_tuner MODULE allreduce/tuner/plugin.cc allreduce/tuner/tuner_file.cc)
target_link_libraries(assay_nccl_tuner PRIVATE assay_settings Threads::Threads ${CMAKE_DL_LIBS})
# Programs without a sanitizer load it, too.
target_compile_options(assay_nccl_tuner PRIVATE -fno-sanitize=all)
set(nccl_tuner_exports ${CMAKE_CURRENT_SOURCE_DIR}/allreduce/tuner/exports.map)
target_link_options(
  assay_nccl_tuner PRIVATE -fno-sanitize=all -static-libstdc++ -static-libgcc -Wl,-z,nodelete
  -Wl,--no-undefined -Wl,--gc-sections -Wl,--version-script=${nccl_tuner_exports})
set_target_properties(
  assay_nccl_tuner
  PROPERTIES OUTPUT_NAME assay_nccl_tuner CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
             POSITION_INDEPENDENT_CODE ON LINK_DEPENDS ${nccl_tuner_exports})
assay_units(assay_nccl_tuner)
add_dependencies(programs assay_nccl_tuner)
install(TARGETS assay_nccl_tuner LIBRARY DESTINATION lib)
