# How everything is compiled: one place, so that all files agree (Asio's macros must).
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
# Assertions stay on in release: what must never happen should be loud where it matters most.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1 -fno-omit-frame-pointer")

option(HEARTH_FUZZ "Build the libFuzzer targets" OFF)
set(HEARTH_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=")

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wimplicit-fallthrough -Werror)
add_link_options(-fuse-ld=lld-19)
if(HEARTH_SANITIZE)
  add_compile_options(-fsanitize=${HEARTH_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${HEARTH_SANITIZE})
endif()
if(HEARTH_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
