# The measured systems that ship inside the program: every systems/NAME.yaml with its NAME.db.zst.
set(systems_folder ${CMAKE_SOURCE_DIR}/systems)
file(GLOB system_files CONFIGURE_DEPENDS ${systems_folder}/*.yaml)
set(shipped_symbols "")
set(shipped_bytes "")
set(shipped_rows "")
set(shipped_files "")
foreach(yaml IN LISTS system_files)
  cmake_path(GET yaml STEM name)
  set(database ${systems_folder}/${name}.db.zst)
  if(NOT EXISTS ${database})
    message(FATAL_ERROR "${yaml} has no ${database} beside it: see systems/README.md")
  endif()
  list(APPEND shipped_files ${yaml} ${database})
  string(APPEND shipped_symbols
         "extern const char assay_${name}_database, assay_${name}_yaml, assay_${name}_end;\n")
  string(APPEND shipped_bytes "    \"assay_${name}_database: .incbin \\\"${database}\\\"\\n\"\n"
         "    \"assay_${name}_yaml: .incbin \\\"${yaml}\\\"\\n\"\n"
         "    \"assay_${name}_end: .byte 0\\n\"\n")
  string(APPEND shipped_rows "    {\"${name}\", bytes(&assay_${name}_database, &assay_${name}_yaml),\n"
         "     bytes(&assay_${name}_yaml, &assay_${name}_end)},\n")
endforeach()
list(LENGTH system_files shipped_count)
set(shipped_source ${CMAKE_CURRENT_BINARY_DIR}/shipped_data.cc)
configure_file(${CMAKE_CURRENT_SOURCE_DIR}/store/systems/shipped_data.cc.in ${shipped_source} @ONLY)
set_source_files_properties(${shipped_source} PROPERTIES OBJECT_DEPENDS "${shipped_files}")
target_sources(assay_store PRIVATE ${shipped_source})
install(FILES ${system_files} DESTINATION share/assay/systems)
