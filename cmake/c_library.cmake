# install_c_library(TARGET NAME INTERFACE DESCRIPTION HEADER...): installs libassay_NAME (of the name
# assay: libassay) with its header and other ones, a pkg-config file assay_NAME.pc and the CMake target assay::NAME. An interface may change until
# version 1.0: INTERFACE, the number in the library's SONAME, then goes up. All of it is the component
# "development": `cmake --install BUILD --component development` leaves the programs out.
function(install_c_library target name interface description)
  set(library assay_${name})
  if(name STREQUAL assay)
    set(library assay)
  endif()
  set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${interface}
                                             EXPORT_NAME ${name})
  install(TARGETS ${target} EXPORT assay LIBRARY DESTINATION lib COMPONENT development
          NAMELINK_COMPONENT development)
  foreach(header ${name} ${ARGN})
    install(FILES ${CMAKE_SOURCE_DIR}/include/assay/${header}.h DESTINATION include/assay
            COMPONENT development)
  endforeach()
  configure_file(${CMAKE_SOURCE_DIR}/cmake/c_library.pc.in
                 ${CMAKE_CURRENT_BINARY_DIR}/${library}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${library}.pc DESTINATION lib/pkgconfig
          COMPONENT development)
endfunction()
