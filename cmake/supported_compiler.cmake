# Says why this compiler will not do, for Hearth itself and for what is built with its headers.
set(Hearth_COMPILER_PROBLEM "")
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
  string(CONCAT Hearth_COMPILER_PROBLEM
    "Hearth is built with clang 19: g++ 12 silently destroys a temporary twice when an expression "
    "with co_await also holds a braced aggregate or a capturing lambda.")
endif()
