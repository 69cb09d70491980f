# Enables CUDA where there is a toolkit. Sets LADDER_CUDA, and CMAKE_CUDA_ARCHITECTURES unless given.
set(LADDER_CUDA_VERSION 12.5)
set(LADDER_CUDA OFF)
if(LADDER_SANITIZE)
  return()
elseif(NOT LADDER_GPU)
  message(STATUS "LADDER_GPU is off: the GPU targets are left out")
  return()
endif()

if(CMAKE_CUDA_COMPILER)
  set(nvcc ${CMAKE_CUDA_COMPILER})
elseif(DEFINED ENV{CUDACXX})
  set(nvcc $ENV{CUDACXX})
else()
  find_program(LADDER_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  execute_process(COMMAND ${LADDER_NVCC} --version OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE status)
  if(NOT status EQUAL 0) # a broken installation counts as none
    message(STATUS "No CUDA toolkit: the GPU targets are left out. They need CUDA "
                   "${LADDER_CUDA_VERSION} or newer (https://developer.nvidia.com/cuda-downloads)")
    return()
  endif()
  set(nvcc ${LADDER_NVCC})
  set(CMAKE_CUDA_COMPILER ${nvcc})
endif()

# Registers of a kernel that go to local memory are a warning (and with -Werror, in CI, an error).
set(LADDER_RESOURCE_WARNINGS -Xptxas --warn-on-spills,--warn-on-local-memory-usage)

# The architectures that this toolkit knows, as numbers.
execute_process(COMMAND ${nvcc} --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
string(REGEX MATCHALL "[0-9]+" LADDER_KNOWN_ARCHITECTURES "${known}")

# What this machine's GPUs need; where there are none, Ampere and Hopper.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES OR CMAKE_CUDA_ARCHITECTURES STREQUAL native)
  execute_process(
    COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE capabilities
    ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0 AND capabilities MATCHES "[0-9]+\\.[0-9]")
    string(REGEX MATCHALL "[0-9]+\\.[0-9]" architectures "${capabilities}")
    string(REPLACE "." "" architectures "${architectures}")
    list(REMOVE_DUPLICATES architectures)
    list(TRANSFORM architectures REPLACE "^90$" "90a") # for all stages, and not for those alone that need it
  else()
    set(architectures 80 90a)
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${architectures} CACHE STRING "GPU architectures" FORCE)
elseif(CMAKE_CUDA_ARCHITECTURES MATCHES "^all(-major)?$") # CMake's own lists end with the toolkits it knows
  set(CMAKE_CUDA_ARCHITECTURES ${LADDER_KNOWN_ARCHITECTURES})
  if(CMAKE_MATCH_1)
    list(FILTER CMAKE_CUDA_ARCHITECTURES INCLUDE REGEX "0$")
  endif()
  list(TRANSFORM CMAKE_CUDA_ARCHITECTURES APPEND "-real")
endif()
foreach(architecture IN LISTS CMAKE_CUDA_ARCHITECTURES)
  if(NOT architecture MATCHES "^[0-9]+[af]?(-real|-virtual)?$")
    message(FATAL_ERROR " CMAKE_CUDA_ARCHITECTURES: '${architecture}' is no architecture like 80 or 90a")
  endif()
  string(REGEX MATCH "^[0-9]+[af]?" name ${architecture})
  execute_process(COMMAND ${nvcc} -arch sm_${name} --dryrun -x cu /dev/null OUTPUT_QUIET ERROR_VARIABLE said)
  if(said MATCHES "fatal.*architecture")
    list(APPEND unknown ${architecture})
  endif()
endforeach()
if(unknown)
  list(REMOVE_ITEM CMAKE_CUDA_ARCHITECTURES ${unknown})
  list(JOIN unknown ", sm_" names)
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    message(STATUS "This CUDA toolkit does not know sm_${names}: the GPU targets are left out")
    return()
  endif()
  message(STATUS "This CUDA toolkit does not know sm_${names}: left out for it")
endif()

enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS LADDER_CUDA_VERSION)
  message(STATUS "CUDA ${CMAKE_CUDA_COMPILER_VERSION} is too old: the GPU targets are left out. "
                 "They need ${LADDER_CUDA_VERSION} or newer")
else()
  set(LADDER_CUDA ON)
  message(STATUS "GPU architectures: ${CMAKE_CUDA_ARCHITECTURES}")
endif()
