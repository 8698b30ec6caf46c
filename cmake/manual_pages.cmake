# The pages of man(1) are written at installation, by the program itself.
set(manual_pages ${CMAKE_BINARY_DIR}/man1)
install(CODE "file(REMOVE_RECURSE ${manual_pages})
              execute_process(COMMAND $<TARGET_FILE:assay> help --format man -o ${manual_pages}
                              COMMAND_ERROR_IS_FATAL ANY)")
install(DIRECTORY ${manual_pages}/ DESTINATION share/man/man1)
