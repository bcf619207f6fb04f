/**
 * Nodes and parts that this process has seen kept, so that it does not send them again. Whether they are still there, only the
 * store knows.
 */
export interface KnownDigests {
  has(digest: string): boolean;
  add(digests: Iterable<string>): void;
  clear(): void;
}

/** Some 100 bytes each. */
const MAX_KNOWN = 50_000;

/** Forgets the older half when it is full. */
export function createKnownDigests(maxKnown = MAX_KNOWN): KnownDigests {
  let recent = new Set<string>();
  let older = new Set<string>();
  return {
    has: (digest) => recent.has(digest) || older.has(digest),
    add: (digests) => {
      for (const digest of digests) {
        if (recent.size >= maxKnown / 2) {
          older = recent;
          recent = new Set();
        }
        recent.add(digest);
      }
    },
    clear: () => {
      recent = new Set();
      older = new Set();
    },
  };
}
