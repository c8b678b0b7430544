// wire/file_codec.h: the messages of wire/file_messages.h as JSON.
#pragma once

#include "wire/file_messages.h"
#include "wire/member_reader.h"

#include <optional>
#include <string>
#include <string_view>

namespace hearth::wire {

StreamId take_stream(MemberReader& members, std::string_view key = "stream");

// An entry as an object: of a listing, an answer, or a tree.
void append_entry(std::string& out, const FileEntry& entry);
FileEntry decode_entry(std::string_view text);

// All members but `type`.
void append_members(std::string& out, const FileRequest& request);
void append_members(std::string& out, const FileAnswer& answer);

// Nothing if the type is no file request's, or no answer's. Leaves `finish` to the caller.
std::optional<FileRequest> decode_file_request(std::string_view type, MemberReader& members);
std::optional<FileAnswer> decode_file_answer(std::string_view type, MemberReader& members);

}  // namespace hearth::wire
