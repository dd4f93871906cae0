# The files of the CUDA room, for the kernels' library and for the emulation of the machine:
#   cuda_host_sources           plain C++, always built: work lists, the sentences of errors
#   cuda_device_sources_FOLDER  what needs the CUDA headers, or calls what does
set(cuda_folders segment windowed dense)
set(cuda ${CMAKE_SOURCE_DIR}/kernels/cuda)
file(GLOB cuda_host_sources CONFIGURE_DEPENDS ${cuda}/failures.cpp ${cuda}/operands.cpp ${cuda}/work/*.cpp)
list(APPEND cuda_host_sources ${cuda}/windowed/lists.cpp)
foreach(folder IN LISTS cuda_folders)
  file(GLOB cuda_device_sources_${folder} CONFIGURE_DEPENDS ${cuda}/${folder}/*.cpp ${cuda}/${folder}/*.cu)
  list(REMOVE_ITEM cuda_device_sources_${folder} ${cuda_host_sources})
endforeach()

# attnscope_cuda_instantiations(VARIABLE FOLDER DIMS...): a folder's kernels that are compiled for a type
# and one of these head dimensions, a file each so that they compile side by side, from its
# instantiation.cu.in. segment's, the walks, are for 16-bit types and head dimensions 32 and 64.
function(attnscope_cuda_instantiations variable folder)
  set(types float32 float16 bfloat16)
  set(dims ${ARGN})
  if(folder STREQUAL segment)
    list(REMOVE_ITEM types float32)
    list(REMOVE_ITEM dims 16 128 256)
  endif()
  foreach(type IN LISTS types)
    foreach(columns IN LISTS dims)
      set(file ${CMAKE_BINARY_DIR}/generated/kernels/cuda/${folder}/${type}_${columns}.cu)
      configure_file(${cuda}/${folder}/instantiation.cu.in ${file} @ONLY)
      list(APPEND files ${file})
    endforeach()
  endforeach()
  set(${variable} ${files} PARENT_SCOPE)
endfunction()
