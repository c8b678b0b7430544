// session/tree.h: the words of trees, as sessions use them.
#pragma once

#include "channel/tree.h"
#include "files/tree.h"
#include "wire/file_messages.h"

namespace hearth::session {

using files::TreeSink;
using files::TreeSource;
using hearth::TreeReader;
using TreeEntry = wire::FileEntry;
using TreeKind = wire::FileKind;

}  // namespace hearth::session
