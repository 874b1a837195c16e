// What stands under a report's name, seen by a read-back.

import type { Found } from "./folder.js";

/** A save says that it made its file before it writes into it, so only an empty file may be one it did not say so of. */
export function isForeign(found: Found): boolean {
  switch (found.kind) {
    case "file":
      return found.bytes.length > 0;
    case "too_large":
    case "link":
    case "not_regular":
    case "several_names":
      return true;
    case "absent":
    case "unreadable":
      return false;
  }
}

export function described(found: Found): string {
  switch (found.kind) {
    case "file":
      return `a file of ${found.bytes.length} bytes stands there`;
    case "too_large":
      return `a file of ${found.size} bytes stands there`;
    case "link":
      return "a link stands there";
    case "not_regular":
      return "no regular file stands there";
    case "several_names":
      return "a file with several names stands there";
    case "unreadable":
      return `it cannot be read (${found.code})`;
    case "absent":
      return "nothing stands there";
  }
}
