//===- ShowText.cpp - Text of strangers on a terminal ---------------------===//
//
// Works on the code points that a terminal sees: U+009B in UTF-8 is two bytes
// without a control character among them, and begins an escape sequence.
//
//===----------------------------------------------------------------------===//

#include "tl/Support/ShowText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ConvertUTF.h"

using namespace llvm;

namespace {
struct Range {
  UTF32 first, last;
};
} // namespace

/// What a terminal obeys instead of showing it (Unicode: general categories Cc,
/// Zl and Zp, and of Cf those that reorder, hide or tag).
static constexpr Range obeyed[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},      {0x61c, 0x61c},
    {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f},
    {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};

/// Takes a character from the front of `text`, and returns what to show for it.
static std::string takeCharacter(StringRef &text) {
  auto *begin = reinterpret_cast<const UTF8 *>(text.begin());
  auto *end = reinterpret_cast<const UTF8 *>(text.end());
  const UTF8 *next = begin;
  UTF32 point;
  if (convertUTF8Sequence(&next, end, &point, strictConversion) !=
      conversionOK) {
    text = text.drop_front();
    return "?";
  }
  StringRef bytes = text.take_front(next - begin);
  text = text.drop_front(bytes.size());
  bool isObeyed = any_of(obeyed, [&](const Range &range) {
    return range.first <= point && point <= range.last;
  });
  return isObeyed ? "?" : bytes.str();
}

std::string tl::showText(StringRef text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty())
    // Nearly all text is plain.
    if (text.front() >= 0x20 && text.front() < 0x7f) {
      shown += text.front();
      text = text.drop_front();
    } else {
      shown += takeCharacter(text);
    }
  return shown;
}

std::string tl::showLines(StringRef text) {
  std::string shown;
  bool isFirst = true;
  do {
    auto [line, rest] = text.split('\n');
    std::string spaced;
    for (char c : line.rtrim('\r'))
      spaced += c == '\t' ? ' ' : c;
    shown += isFirst ? "" : "\n    ";
    shown += showText(spaced);
    isFirst = false;
    text = rest;
  } while (!text.empty());
  return shown;
}
