import type MiniSearchLibrary from 'minisearch';

declare global {
  /** From `minisearch.js`. */
  const MiniSearch: typeof MiniSearchLibrary;
  /** From `search-data.js`: path, title of the page, heading of the part, and its text. */
  const searchData: readonly (readonly [string, string, string, string])[];
  /** From `versions.js`: each version's site, from the root of this one. */
  const versions: readonly { readonly name: string; readonly href: string }[];
}
