// Reading .npz: a zip archive of .npy files, stored or deflated.
#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "io/array_file.h"
#include "io/npy.h"
#include "io/text.h"
#include "io/zip_directory.h"
#include "io/zip_member.h"

namespace qkv::io {
namespace {

constexpr std::string_view kSuffix = ".npy";

// As numpy.load: the array "x" is the member "x.npy", or a member "x" whose content is .npy.
std::string array_name(const std::string& member) {
  return member.ends_with(kSuffix) ? member.substr(0, member.size() - kSuffix.size()) : member;
}

struct Member {
  ZipEntry entry;
  Layout layout;
  std::uint64_t offset = 0;       // of the (maybe compressed) content in the archive
  std::uint64_t header_size = 0;  // of the .npy header
};

class NpzFile : public ArrayFile {
 public:
  explicit NpzFile(const MappedFile& file) : ArrayFile(file) {}

  Status parse() {
    std::vector<ZipEntry> entries;
    if (Status status = read_zip_directory(file_, entries); !status.ok()) return status;
    std::set<std::string> names;
    for (ZipEntry& entry : entries) {
      const std::string name = array_name(entry.name);
      if (!names.insert(name).second) {
        return file_error(file_.label() + ": holds two members for the name " + in_quotes(name) +
                          "; write it again with different names");
      }
      if (Status status = add(std::move(entry)); !status.ok()) return status;
    }
    return {};
  }

 protected:
  Status read_index(std::size_t index, Tensor& tensor) const override;
  bool is_alias(std::size_t index, std::string_view name) const override {
    return members_[index].entry.name == name;
  }

 private:
  Status add(ZipEntry entry);
  Status check_sizes(const ZipEntry& entry, const std::string& label) const;
  bool begins_as_npy(const Member& member) const;
  Status read_header(const std::string& label, Member& member, NpyHeader& header) const;
  Status extract(const Member& member, const std::string& label, Tensor& tensor) const;
  std::span<const std::byte> content(const Member& member) const {
    return file_.bytes().subspan(member.offset, member.entry.compressed_size);
  }

  std::vector<Member> members_;  // as arrays_
};

// Members that are not arrays (no ".npy", no .npy content) are passed over, as numpy.load does.
Status NpzFile::add(ZipEntry entry) {
  const bool must_be_array = entry.name.ends_with(kSuffix);
  const std::string label = where(array_name(entry.name));
  if (entry.encrypted || (entry.method != kZipStored && entry.method != kZipDeflated)) {
    if (!must_be_array) return {};
    return unsupported(label + ": is " +
                       (entry.encrypted
                            ? std::string("encrypted")
                            : "compressed by the zip method " + std::to_string(entry.method)) +
                       "; write the archive with numpy.savez or numpy.savez_compressed");
  }
  Member member;
  member.entry = std::move(entry);
  Status status = find_zip_data(file_, member.entry, member.offset);
  if (status.ok()) status = check_sizes(member.entry, label);
  if (!status.ok()) return status;
  if (!must_be_array && !begins_as_npy(member)) return {};
  NpyHeader header;
  if (status = read_header(label, member, header); !status.ok()) return status;
  const std::uint64_t data_bytes = member.entry.size - member.header_size;
  status = npy_layout(header, data_bytes, label, member.layout);
  if (!status.ok()) return status;
  arrays_.push_back(
      {array_name(member.entry.name), std::move(header.descr), std::move(header.shape)});
  members_.push_back(std::move(member));
  return {};
}

// A member's size is only a claim. Checked here against the bytes there are, before anything is
// allocated: deflate can't expand more than 1032 times (258 bytes for 2 bits).
Status NpzFile::check_sizes(const ZipEntry& entry, const std::string& label) const {
  constexpr std::uint64_t kMaxExpansion = 1032;
  const bool stored = entry.method == kZipStored;
  const bool possible = stored ? entry.size == entry.compressed_size
                               : entry.size / kMaxExpansion <= entry.compressed_size;
  if (possible) return {};
  return file_error(label + ": claims " + bytes_text(entry.size) + " from " +
                    std::to_string(entry.compressed_size) + (stored ? " stored" : " deflated") +
                    " ones, which can't be; the archive is damaged, so write it again");
}

bool NpzFile::begins_as_npy(const Member& member) const {
  std::array<char, kNpyMagic.size()> magic{};
  ZipMember zip(member.entry, content(member), file_.label());
  return zip.read(magic.data(), magic.size()).ok() &&
         std::string_view(magic.data(), magic.size()) == kNpyMagic;
}

Status NpzFile::read_header(const std::string& label, Member& member, NpyHeader& header) const {
  const std::uint64_t size = member.entry.size;
  ZipMember zip(member.entry, content(member), label);
  std::vector<std::byte> bytes(std::min<std::uint64_t>(size, kNpyPreamble));
  if (Status status = zip.read(bytes.data(), bytes.size()); !status.ok()) return status;
  Status status = npy_header_size(bytes, label, member.header_size);
  if (!status.ok()) return status;
  if (member.header_size > size) {
    return file_error(label + ": has " + bytes_text(size) + " but its .npy header alone takes " +
                      bytes_text(member.header_size) + "; it is damaged, so write it again");
  }
  const std::size_t preamble = bytes.size();
  // A version 1 header of 0 or 1 bytes is shorter than the preamble that was read.
  bytes.resize(std::max<std::size_t>(preamble, member.header_size));
  status = zip.read(bytes.data() + preamble, bytes.size() - preamble);
  if (!status.ok()) return status;
  return parse_npy_header(std::span(bytes).first(member.header_size), label, header);
}

Status NpzFile::read_index(std::size_t index, Tensor& tensor) const {
  const Member& member = members_[index];
  const std::string label = where(arrays_[index].name);
  if (Status status = check_readable(member.layout, label); !status.ok()) return status;
  const std::uint64_t data = member.offset + member.header_size;
  if (member.entry.method == kZipStored && fits_in_place(member.layout, file_, data)) {
    return tensor_at(member.layout, file_, data, label, tensor);
  }
  return extract(member, label, tensor);
}

// Deflated, misaligned or byte-swapped: a copy, whose checksum is computed on the way.
Status NpzFile::extract(const Member& member, const std::string& label, Tensor& tensor) const {
  ZipMember zip(member.entry, content(member), label);
  std::vector<std::byte> header(member.header_size);
  if (Status status = zip.read(header.data(), header.size()); !status.ok()) return status;
  Tensor copy;
  if (Status status = allocate_for(member.layout, label, copy); !status.ok()) return status;
  Status status = zip.read(copy.view().data, member.entry.size - member.header_size);
  if (status.ok()) status = zip.finish();
  if (!status.ok()) return status;
  swap_bytes_if_needed(member.layout, copy);
  tensor = std::move(copy);
  return {};
}

}  // namespace

Status open_npz(const MappedFile& file, std::unique_ptr<ArrayFile>& result) {
  auto npz = std::make_unique<NpzFile>(file);
  if (Status status = npz->parse(); !status.ok()) return status;
  result = std::move(npz);
  return {};
}

}  // namespace qkv::io
