//===- Locations.cpp - Source locations that may be kept ------------------===//
//
// See Locations.h.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/Locations.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"
#include "llvm/Support/Path.h"

#include <optional>

using namespace mlir;

static constexpr StringLiteral kStatement = "tl.statement";

/// The part of `folder` that `other` begins with, in whole names.
static StringRef getCommonPart(StringRef folder, StringRef other) {
  auto name = llvm::sys::path::begin(folder);
  auto otherName = llvm::sys::path::begin(other);
  auto end = llvm::sys::path::end(folder);
  auto otherEnd = llvm::sys::path::end(other);
  size_t length = 0;
  for (; name != end && otherName != otherEnd && *name == *otherName;
       ++name, ++otherName)
    length = name->end() - folder.begin();
  return folder.take_front(length);
}

/// True for what front ends give as the file of text that is in none.
static bool isNoFile(StringRef name) {
  return name == "-" || (name.starts_with("<") && name.ends_with(">"));
}

std::string tl::findCommonFolder(Operation *root) {
  std::optional<StringRef> common;
  auto visit = [&](Location location) {
    location->walk([&](Location part) {
      auto range = dyn_cast<FileLineColRange>(part);
      if (!range || isNoFile(range.getFilename()))
        return WalkResult::advance();
      StringRef folder = llvm::sys::path::parent_path(range.getFilename());
      common = common ? getCommonPart(*common, folder) : folder;
      return WalkResult::advance();
    });
  };
  root->walk([&](Operation *op) {
    visit(op->getLoc());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          visit(argument.getLoc());
  });
  return common.value_or("").str();
}

/// The same place in another file.
static FileLineColRange inFile(FileLineColRange range, StringAttr file) {
  if (auto point = dyn_cast<FileLineColLoc>(range))
    return FileLineColLoc::get(file, point.getLine(), point.getColumn());
  return FileLineColRange::get(file, range.getStartLine(),
                               range.getStartColumn(), range.getEndColumn(),
                               range.getEndLine());
}

void tl::makePathsRelative(Operation *root, StringRef folder) {
  if (folder.empty())
    return;
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](FileLineColRange range) -> Attribute {
    StringRef file = range.getFilename();
    if (!file.consume_front(folder))
      return range;
    if (llvm::sys::path::is_separator(folder.back()))
      return inFile(range, StringAttr::get(range.getContext(), file));
    if (file.empty() || !llvm::sys::path::is_separator(file.front()))
      return range;
    return inFile(range,
                  StringAttr::get(range.getContext(), file.drop_front()));
  });
  replacer.recursivelyReplaceElementsIn(root, /*replaceAttrs=*/false,
                                        /*replaceLocs=*/true);
}

StringAttr tl::getGivenName(Location location) {
  auto named = dyn_cast<NameLoc>(location);
  return named ? named.getName() : StringAttr();
}

Location tl::withNameOf(Location named, Location place) {
  StringAttr name = getGivenName(named);
  return name ? Location(NameLoc::get(name, place)) : place;
}

StringAttr tl::getStatement(Location location) {
  StringAttr found;
  location->walk([&](Location part) {
    auto fused = dyn_cast<FusedLoc>(part);
    auto metadata = fused
                        ? dyn_cast_or_null<DictionaryAttr>(fused.getMetadata())
                        : DictionaryAttr();
    if (metadata)
      found = metadata.getAs<StringAttr>(kStatement);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

Location tl::withStatement(Location location, StringAttr statement) {
  Builder builder(location.getContext());
  NamedAttribute named = builder.getNamedAttr(kStatement, statement);
  return FusedLoc::get(location.getContext(), {location},
                       builder.getDictionaryAttr(named));
}
