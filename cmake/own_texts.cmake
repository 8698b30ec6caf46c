# What the program says of itself, for an installation: pages of man(1) and completions of shells. The
# build writes them, so that whoever installs needs to write nowhere else and to run nothing.
set(own_texts ${CMAKE_BINARY_DIR}/own_texts)
set(manual_pages ${own_texts}/man1)
set(written ${manual_pages}/assay.1)
add_custom_command(
  OUTPUT ${manual_pages}/assay.1
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual_pages}
  COMMAND assay help --format man -o ${manual_pages}
  DEPENDS assay VERBATIM)
install(DIRECTORY ${manual_pages}/ DESTINATION share/man/man1 FILES_MATCHING PATTERN "*.1")

foreach(completion bash:bash-completion/completions/assay zsh:zsh/site-functions/_assay
                   fish:fish/vendor_completions.d/assay.fish)
  string(REGEX MATCH "^[a-z]+" shell ${completion})
  string(REGEX REPLACE "^[a-z]+:" "" file ${completion})
  set(script ${own_texts}/${shell})
  add_custom_command(
    OUTPUT ${script}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${own_texts}
    COMMAND assay completion ${shell} > ${script}
    DEPENDS assay VERBATIM)
  list(APPEND written ${script})
  cmake_path(GET file PARENT_PATH folder)
  cmake_path(GET file FILENAME file)
  install(FILES ${script} DESTINATION share/${folder} RENAME ${file})
endforeach()
add_custom_target(own_texts DEPENDS ${written})
add_dependencies(programs own_texts)
