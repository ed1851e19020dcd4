// The directory of a zip archive, read from mapped bytes.
//
// Written here rather than taken from a library because an array can only be used in place if the
// offset of its data is known, which libzip does not tell; minizip 1.1 tells it but does not read
// zip64 directories or archives without members. Inflating is zlib's (zip_member.h).
// Format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
#ifndef QKV_SRC_IO_ZIP_DIRECTORY_H_
#define QKV_SRC_IO_ZIP_DIRECTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "io/mapped_file.h"
#include "qkv/status.h"

namespace qkv::io {

inline constexpr std::uint64_t kZipStored = 0;
inline constexpr std::uint64_t kZipDeflated = 8;

// A member as the directory describes it; nothing of it is checked but the name.
struct ZipEntry {
  std::string name;  // UTF-8 without NUL
  std::uint64_t method = 0;
  bool encrypted = false;
  std::uint32_t crc = 0;
  std::uint64_t compressed_size = 0;
  std::uint64_t size = 0;
  std::uint64_t header_offset = 0;  // of the local header
};

// All members, in the directory's order. kFileError if the archive has no whole directory.
Status read_zip_directory(const MappedFile& file, std::vector<ZipEntry>& entries);

// Where the member's compressed_size bytes begin; they lie inside the file. kFileError if its local
// header is not there or names another member.
Status find_zip_data(const MappedFile& file, const ZipEntry& entry, std::uint64_t& offset);

}  // namespace qkv::io

#endif  // QKV_SRC_IO_ZIP_DIRECTORY_H_
