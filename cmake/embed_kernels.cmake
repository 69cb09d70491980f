# Writes OUTPUT, C++ with the headers that NVRTC reads: `cmake -D OUTPUT=... -D KERNELS=... -P embed_kernels.cmake`.
# NVRTC finds a header that is in memory by exactly what stands in the #include: by the path from KERNELS, then.
# The headers are those of the stages that compile.cpp names, and all parts.
file(READ ${KERNELS}/library/jit/compile.cpp text)
string(REGEX MATCHALL "\"[0-9][0-9][a-z]?_[a-z0-9_]+\"" stages "${text}")
list(TRANSFORM stages REPLACE "\"(.*)\"" "${KERNELS}/\\1.cuh")
file(GLOB headers RELATIVE ${KERNELS} ${stages} ${KERNELS}/product.h ${KERNELS}/extensions.h ${KERNELS}/epilogue.h
     ${KERNELS}/launch.cuh ${KERNELS}/types.cuh ${KERNELS}/parts/*.cuh ${KERNELS}/ptx/*.cuh)
set(entries)
foreach(header IN LISTS headers)
  file(READ ${KERNELS}/${header} text)
  get_filename_component(folder ${header} DIRECTORY)
  if(folder)
    string(REGEX REPLACE "#include \"([^/\"]+)\"" "#include \"${folder}/\\1\"" text "${text}")
    string(REPLACE "#include \"../" "#include \"" text "${text}")
  endif()
  string(APPEND entries "{\"${header}\", R\"ladder(${text})ladder\"},\n")
endforeach()
foreach(header prelude.cuh finish.cuh)
  file(READ ${KERNELS}/library/jit/${header} text)
  string(APPEND entries "{\"${header}\", R\"ladder(${text})ladder\"},\n")
endforeach()
# What prelude.cuh stands for.
foreach(header algorithm array cmath cstddef cstdint cuda.h cudaTypedefs.h cuda_runtime.h cuda/ptx map mutex stdexcept string
               type_traits utility)
  string(APPEND entries "{\"${header}\", \"\"},\n")
endforeach()
string(SHA256 hash "${entries}")
file(WRITE ${OUTPUT} "#include \"headers.h\"

namespace ladder::jit {

const Header HEADERS[] = {
${entries}};
const size_t HEADER_COUNT = sizeof HEADERS / sizeof *HEADERS;
const char* const HEADERS_HASH = \"${hash}\";

}  // namespace ladder::jit
")
