# Enables CUDA where there is a toolkit. Sets LADDER_CUDA, and CMAKE_CUDA_ARCHITECTURES unless given.
set(LADDER_CUDA_VERSION 12.5)
set(LADDER_CUDA OFF)
if(LADDER_SANITIZE)
  return()
endif()

if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(LADDER_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  execute_process(COMMAND ${LADDER_NVCC} --version OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0) # a broken installation counts as none
    set(CMAKE_CUDA_COMPILER ${LADDER_NVCC})
  endif()
endif()

# Registers of a kernel that go to local memory are a warning (and with -Werror, in CI, an error).
set(LADDER_RESOURCE_WARNINGS -Xptxas --warn-on-spills,--warn-on-local-memory-usage)

# What this machine's GPUs need; where there are none, Ampere and Hopper.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  execute_process(
    COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE capabilities
    ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0 AND capabilities MATCHES "[0-9]+\\.[0-9]")
    string(REGEX MATCHALL "[0-9]+\\.[0-9]" architectures "${capabilities}")
    string(REPLACE "." "" architectures "${architectures}")
    list(REMOVE_DUPLICATES architectures)
    # wgmma and setmaxnreg exist in sm_90a only.
    list(TRANSFORM architectures REPLACE "^90$" "90a")
  else()
    set(architectures 80 90a)
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${architectures} CACHE STRING "GPU architectures")
endif()

if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  message(STATUS "No CUDA toolkit: the GPU targets are left out. They need CUDA "
                 "${LADDER_CUDA_VERSION} or newer (https://developer.nvidia.com/cuda-downloads)")
else()
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS LADDER_CUDA_VERSION)
    message(STATUS "CUDA ${CMAKE_CUDA_COMPILER_VERSION} is too old: the GPU targets are left out. "
                   "They need ${LADDER_CUDA_VERSION} or newer")
  else()
    set(LADDER_CUDA ON)
    message(STATUS "GPU architectures: ${CMAKE_CUDA_ARCHITECTURES}")
  endif()
endif()
